#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/read/dump/spilled_sort.hpp"
#include "src/tool/read/dump/temporary_file.hpp"

namespace opdump::tool {

/// Hashes of any number of names, in bounded memory: says how often one was added.
class HashList {
 public:
  HashList() = default;

  void add(std::uint64_t hash);

  /// To be called once after all `add`, before any `count`.
  void finish();

  std::size_t count(std::uint64_t hash) const;

  /// Why the temporary file did not take all, or could not be read, so that counts are wrong; else empty.
  const std::string& error() const { return error_; }

 private:
  static constexpr std::size_t kBlock = 512;                  ///< hashes that are read at once
  static constexpr std::size_t kMost = std::size_t{1} << 18;  ///< that are kept in memory

  static bool less(std::string_view a, std::string_view b);
  bool spill();
  void store();

  std::vector<std::uint64_t> hashes_;  ///< sorted by `finish`, unless there are more than in memory
  std::vector<std::uint64_t> firsts_;  ///< of each block in `file_`
  SpilledSort sort_{less};
  TemporaryFile file_;
  mutable std::string error_;
};

}  // namespace opdump::tool
