#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/types/model.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// The kernel types of a model's operators in lower case, sorted so that a part of a type is found in time
/// that grows with the logarithm of their bytes. Uses the heap.
class KernelTypes {
 public:
  explicit KernelTypes(std::span<const OpDesc> ops);

  /// Notes the operators whose types contain `part`, which is in lower case; false when there are none.
  bool find(std::string_view part);

  /// Sets `found` to 1 for each operator that was noted.
  void tell(std::span<std::uint8_t> found) const;

 private:
  void sort_suffixes();
  std::string_view suffix(std::uint32_t at) const;

  std::string text_;                       ///< each type once
  std::vector<std::uint32_t> type_ends_;   ///< where each type ends in `text_`
  std::vector<std::uint32_t> type_of_op_;  ///< the number of its type
  std::vector<std::uint32_t> type_at_;     ///< the type's number, for each byte of `text_`
  std::vector<std::uint32_t> sorted_;      ///< places in `text_`, sorted by what follows there in the type
  std::vector<std::int64_t>
      begins_;        ///< how many ranges of `sorted_` begin at a place, less those that end there
  bool all_ = false;  ///< all operators were noted
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
