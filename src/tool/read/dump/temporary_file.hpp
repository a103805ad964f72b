#pragma once
#include <cstdint>
#include <string>

#include "opdump/base/bytes.hpp"
#include "platform/posix/base/unique_fd.hpp"

namespace opdump::tool {

/// A file in $TMPDIR, or /tmp, without a name, so that nothing is left of it however the process ends. Holds
/// what does not fit into memory.
class TemporaryFile {
 public:
  /// Makes the file when it is first called. False, with `error()`, when the bytes could not be written.
  bool append(Bytes bytes);

  std::uint64_t size() const { return size_; }

  /// False, with `error()`, when the bytes cannot be read.
  bool read(std::uint64_t at, MutableBytes to) const;

  /// "DIRECTORY: reason".
  const std::string& error() const { return error_; }

 private:
  bool open();

  posix::UniqueFd file_;
  std::uint64_t size_ = 0;
  mutable std::string error_;
};

}  // namespace opdump::tool
