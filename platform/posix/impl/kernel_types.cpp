#include "platform/posix/impl/kernel_types.hpp"

#include <algorithm>
#include <unordered_map>

#include "opdump/impl/plan/resolve_plan.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

KernelTypes::KernelTypes(std::span<const OpDesc> ops) {
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  for (const OpDesc& op : ops) {
    const std::string_view type = kernel_type(op.name);
    const auto [known, is_new] = numbers.emplace(type, static_cast<std::uint32_t>(numbers.size()));
    type_of_op_.push_back(known->second);
    if (!is_new) continue;
    for (const char c : type) {
      sorted_.push_back(static_cast<std::uint32_t>(text_.size()));
      text_ += c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    }
    type_at_.resize(text_.size(), known->second);
    type_ends_.push_back(static_cast<std::uint32_t>(text_.size()));
  }
  sort_suffixes();
  begins_.resize(sorted_.size() + 1);
}

/// Sorts by the first bytes as a number, which is quick, and by the rest where these are equal.
void KernelTypes::sort_suffixes() {
  struct Suffix {
    std::uint64_t first_bytes;
    std::uint32_t at;
  };
  std::vector<Suffix> suffixes;
  for (const std::uint32_t at : sorted_) {
    const std::string_view text = suffix(at);
    std::uint64_t first_bytes = 0;
    for (std::size_t i = 0; i < sizeof first_bytes; ++i)
      first_bytes = first_bytes << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0u);
    suffixes.push_back({first_bytes, at});
  }
  std::sort(suffixes.begin(), suffixes.end(), [this](const Suffix& a, const Suffix& b) {
    return a.first_bytes != b.first_bytes ? a.first_bytes < b.first_bytes : suffix(a.at) < suffix(b.at);
  });
  for (std::size_t i = 0; i < suffixes.size(); ++i) sorted_[i] = suffixes[i].at;
}

/// The text from `at` to the end of its type.
std::string_view KernelTypes::suffix(std::uint32_t at) const {
  return {text_.data() + at, type_ends_[type_at_[at]] - at};
}

bool KernelTypes::find(std::string_view part) {
  if (part.empty()) {
    all_ = !type_of_op_.empty();
    return all_;
  }
  const auto first = std::lower_bound(sorted_.begin(), sorted_.end(), part,
                                      [this](std::uint32_t at, std::string_view wanted) {
                                        return suffix(at).substr(0, wanted.size()) < wanted;
                                      });
  const auto last =
      std::upper_bound(first, sorted_.end(), part, [this](std::string_view wanted, std::uint32_t at) {
        return wanted < suffix(at).substr(0, wanted.size());
      });
  if (first == last) return false;
  ++begins_[static_cast<std::size_t>(first - sorted_.begin())];
  --begins_[static_cast<std::size_t>(last - sorted_.begin())];
  return true;
}

void KernelTypes::tell(std::span<std::uint8_t> found) const {
  std::vector<bool> types(type_of_op_.size());
  std::int64_t open = 0;
  for (std::size_t i = 0; i < sorted_.size(); ++i) {
    open += begins_[i];
    if (open != 0) types[type_at_[sorted_[i]]] = true;
  }
  for (std::size_t op = 0; op < found.size(); ++op) {
    if (all_ || types[type_of_op_[op]]) found[op] = 1;
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
