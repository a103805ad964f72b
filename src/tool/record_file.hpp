#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "opdump/bytes.hpp"
#include "opdump/nano_reader.hpp"
#include "platform/posix/unique_fd.hpp"

namespace opdump::tool {

/// One dump record that nobody vouches for. It is read in blocks and not mapped, so that a file that is cut
/// short meanwhile is an error and not a signal, and memory stays the same whatever the file's size. One
/// object serves many files, one after the other.
class RecordFile {
 public:
  enum class Opened { ok, not_a_record, failed };

  RecordFile();

  /// Opens `path` and checks its head to the end. Unless `ok`, `error()` says what is wrong.
  Opened open(const std::string& path);

  /// Reads the tensors' descriptions from the first one on; they were checked by `open`.
  NanoReader tensors() const;

  std::uint64_t bytes() const { return bytes_; }
  std::uint32_t version() const { return version_; }

  /// Calls `use(Bytes)` with the `count` bytes of the file from `offset` on, in order, in blocks whose size
  /// is a multiple of 16, but for the last one. Ends early when `use` returns false. False, with `error()`,
  /// when the bytes cannot be read.
  template <class Use>
  bool for_each_block(std::uint64_t offset, std::uint64_t count, Use use) {
    while (count != 0) {
      const Bytes block = read(offset, count < kBlockBytes ? static_cast<std::size_t>(count) : kBlockBytes);
      if (block.empty()) return false;
      if (!use(block)) return true;
      offset += block.size();
      count -= block.size();
    }
    return true;
  }

  /// "FILE: at byte N: reason".
  const std::string& error() const { return error_; }
  std::string error_at(std::uint64_t offset, const std::string& reason) const;

 private:
  static constexpr std::size_t kBlockBytes = 256 * 1024;
  static constexpr std::uint64_t kMaxHeadBytes = 64 * 1024 * 1024;

  Opened fail(Opened what, std::uint64_t offset, const std::string& reason);
  Bytes read(std::uint64_t offset, std::size_t count);
  bool read_at(std::uint64_t offset, MutableBytes to);

  std::string path_;
  std::string error_;
  posix::UniqueFd file_;
  std::uint64_t bytes_ = 0;
  std::uint32_t version_ = 0;
  std::vector<std::byte> start_;  ///< the first bytes of the file, at least its head
  std::size_t start_bytes_ = 0;   ///< of `start_` that are in use
  std::vector<std::byte> block_;
};

}  // namespace opdump::tool
