#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "opdump/base/bytes.hpp"
#include "platform/posix/impl/make_directories.hpp"
#include "platform/posix/impl/unique_fd.hpp"

namespace opdump::tool {

/// A file that appears under its name only when it is complete, with mode 0600, in place of what had that
/// name. Until then it is aside in the same directory, under a random name that ends in ".part" and that nothing
/// had before, and it is removed
/// again when this object ends without `commit`.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Each is false on failure, and `error()` then says why.

  bool create(const std::string& directory, const std::string& name);
  bool write(std::span<const Bytes> parts);
  bool commit();

  const std::string& error() const { return error_; }

 private:
  bool fail(int error);

  posix::UniqueFd file_;
  std::string aside_;
  std::string path_;
  std::string error_;
};

using posix::make_directories;

}  // namespace opdump::tool
