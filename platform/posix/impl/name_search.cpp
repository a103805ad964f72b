#include "platform/posix/impl/name_search.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

std::span<const std::uint8_t> NameSearch::find() {
  found_.assign(ops_.size(), 0);
  std::size_t parts = 0;
  for (const ModelExtras* extras : extras_) {
    for (const NamePattern& pattern : extras->patterns) patterns_.add(pattern);
    parts += extras->type_parts.size();
  }
  if (parts != 0) {
    KernelTypes types(ops_);
    for (const ModelExtras* extras : extras_) {
      for (const std::string_view part : extras->type_parts) parts_used_.push_back(types.find(part));
    }
    types.tell(found_);
  }
  for (std::size_t op = 0; op < ops_.size() && patterns_.size() != 0; ++op) {
    if (patterns_.match(ops_[op].name)) found_[op] = 1;
  }
  for (const ModelExtras* extras : extras_) {
    for (std::size_t op = 0; op < ops_.size() && extras->marked; ++op) {
      if (ops_[op].marked) found_[op] = 1;
    }
  }
  return found_;
}

bool NameSearch::has_pattern(const ModelExtras& extras, std::size_t number) const {
  for (const ModelExtras* const added : extras_) {
    if (added == &extras) return patterns_.used(number);
    number += added->patterns.size();
  }
  return false;
}

bool NameSearch::has_type_part(const ModelExtras& extras, std::size_t number) const {
  for (const ModelExtras* const added : extras_) {
    if (added == &extras) return parts_used_[number];
    number += added->type_parts.size();
  }
  return false;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
