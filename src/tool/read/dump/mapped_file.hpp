#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "opdump/base/bytes.hpp"
#include "platform/posix/base/unique_fd.hpp"

namespace opdump::tool {

/// The bytes of one untrusted regular file, read-only. A small file is copied into memory that the object
/// keeps; a large one is mapped. A file that is cut short meanwhile reads as zeros after its new end,
/// `cut_short` says so, and no signal ends the process. One object serves many files, one after another.
/// Several threads may each use an object of their own.
class MappedFile {
 public:
  /// Files up to this size are copied.
  static constexpr std::size_t kCopiedBytes = 256 * 1024;

  MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// On false `error()` says why, "FILE: reason". Views of the previous file become invalid.
  bool open(const std::string& path);

  /// The whole file, with the length it had when it was opened.
  Bytes bytes() const { return bytes_; }

  /// Gives back the memory that holds these bytes; they may be read again.
  void drop(std::uint64_t offset, std::uint64_t count) const;

  /// Copies bytes without touching the map, for scattered reads of a large file. False when the file ends too early.
  bool read_at(std::uint64_t offset, MutableBytes to);

  /// The same for several threads at once, each with a `reason` of its own in place of `error()`.
  bool read_at(std::uint64_t offset, MutableBytes to, std::string& reason) const;

  /// Whether bytes read since `open` had been cut off; `error()` then says so.
  bool cut_short();

  const std::string& error() const { return error_; }

 private:
  void close();
  bool fail(int error);

  std::string path_;
  std::string error_;
  posix::UniqueFd file_;
  Bytes bytes_;
  std::unique_ptr<std::byte[]> copy_;
  int slot_ = -1;  ///< in the table that the signal handler reads; -1: nothing is mapped
};

}  // namespace opdump::tool
