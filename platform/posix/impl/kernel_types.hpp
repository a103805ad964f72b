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

/// The kernel types of a model's operators, in lower case, in an order in which a part of a type is found in
/// time that grows with the logarithm of their bytes. Asks the heap for memory.
class KernelTypes {
 public:
  explicit KernelTypes(std::span<const OpDesc> ops);

  /// Looks for `part`, which is in lower case, and notes the operators of whose types it is a part; false
  /// when there are none.
  bool find(std::string_view part);

  /// Sets `found` to 1 of each operator that was noted.
  void tell(std::span<std::uint8_t> found) const;

 private:
  void sort_suffixes();
  std::string_view suffix(std::uint32_t at) const;

  std::string text_;                       ///< each type once
  std::vector<std::uint32_t> type_ends_;   ///< where each ends in it
  std::vector<std::uint32_t> type_of_op_;  ///< its number
  std::vector<std::uint32_t> type_at_;     ///< of each byte of the text
  std::vector<std::uint32_t> sorted_;      ///< places in the text, by what follows there in the type
  std::vector<std::int64_t>
      begins_;        ///< ranges of `sorted_` that begin at a place, less those that end there
  bool all_ = false;  ///< operators were noted
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
