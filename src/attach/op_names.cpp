#include "src/attach/op_names.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {

std::string OpNames::add(std::string_view name, std::uint32_t op) {
  std::string own(name);
  if (ops_.try_emplace(own, op).second) return own;
  std::uint32_t& copies = copies_.try_emplace(own, 1).first->second;
  do {
    own = std::string(name).append("#").append(std::to_string(++copies));
  } while (!ops_.try_emplace(own, op).second);
  ++repeated_;
  return own;
}

std::uint32_t OpNames::find(const std::string& name) const {
  const auto found = ops_.find(name);
  return found == ops_.end() ? OPDUMP_NO_OP : found->second;
}

std::uint32_t OpNames::see(std::string_view name, std::string_view type, std::uint64_t step) {
  key_.assign(name).append(1, '\0').append(type);
  seen_ = &seen_by_key_[key_];
  if (seen_->step != step) seen_->in_step = 0;
  seen_->step = step;
  const std::size_t number = seen_->in_step++;
  return number < seen_->ops.size() ? seen_->ops[number] : OPDUMP_NO_OP;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
