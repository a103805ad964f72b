#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "src/tool/read/dump/temporary_file.hpp"

namespace opdump::tool {

/// The basis of digests of all elements, in the algorithm that the runs share.
inline constexpr std::uint16_t kOfElements = 0;

/// What one run has at one place, or what several have.
struct RunDigest {
  enum class State : std::uint16_t {
    absent,
    there,
    flaky,    ///< a signature says that it differs from run to run
    unknown,  ///< it is there, and neither its elements nor what tells of them
  };

  State state = State::absent;
  std::uint16_t basis = kOfElements;  ///< of what the bytes are the digest, see `RunTable::basis`
  std::array<std::byte, 16> bytes{};

  bool operator==(const RunDigest&) const = default;
};

/// The digests of runs, a column for each, in a temporary file. Takes some 10 KiB of memory for each column.
class DigestColumns {
 public:
  /// Begins the next column; `push_back` is of this one from then on.
  void begin_column();

  void push_back(const RunDigest& digest);

  /// How many the column that was begun last has.
  std::size_t size() const { return columns_.back().count; }

  /// To be called once after all `push_back`, before any `at`.
  void finish();

  /// An absent one behind the end of the column.
  RunDigest at(std::size_t column, std::size_t row) const;

  /// What is wrong with the temporary file; else empty.
  const std::string& error() const { return file_.error(); }

 private:
  static constexpr std::size_t kKept = 512;            ///< that are read at once
  static constexpr std::size_t kWritten = 64 * kKept;  ///< that are written at once

  struct Column {
    std::uint64_t first = 0;  ///< number of its first one in the file
    std::size_t count = 0;
    std::size_t kept_first = 0;
    std::vector<RunDigest> kept{};
  };

  void write();

  TemporaryFile file_;
  std::vector<RunDigest> unwritten_;
  std::uint64_t count_ = 0;  ///< of all columns
  mutable std::vector<Column> columns_;
};

}  // namespace opdump::tool
