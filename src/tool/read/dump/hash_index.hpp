#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/read/dump/spilled_sort.hpp"
#include "src/tool/read/dump/spilled_table.hpp"

namespace opdump::tool {

/// Finds numbers by the hashes of what they stand for, any number of them in bounded memory. Hashes whose
/// high bits are the same lie together, and are found faster one after another.
class HashIndex {
 public:
  HashIndex() { sort_.emplace(less); }

  void add(std::uint64_t hash, std::uint64_t number);

  /// To be called once after all `add`, before any `find`.
  void finish();

  /// Gives the numbers of that hash to `take`, in the order in which they were added, until it returns false.
  void find(std::uint64_t hash, const std::function<bool(std::uint64_t number)>& take) const;

  /// Why numbers are missing; else empty.
  const std::string& error() const { return error_; }

 private:
  struct Entry {
    std::uint64_t hash;
    std::uint64_t number;
  };

  static constexpr std::size_t kBlock = 64;  ///< entries that are read at once

  static bool less(std::string_view a, std::string_view b);

  std::optional<SpilledSort> sort_;
  SpilledTable blocks_;
  std::vector<std::uint64_t> firsts_;  ///< of each block
  mutable std::string error_;
};

}  // namespace opdump::tool
