#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "platform/posix/impl/make_directories.hpp"
#include "platform/posix/impl/unique_fd.hpp"

namespace opdump::tool {

/// A file with mode 0600 that appears under its name only when it is complete, and then replaces any file of
/// that name. Until then it lies in the same directory under a new random name that ends in ".part". It is
/// removed when this object ends without `commit`.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Each returns false on failure, and `error()` then says why.

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

/// Writes a whole file by an OutputFile. False: `error` says why, "FILE: reason".
bool write_file(const std::string& path, Bytes bytes, std::string& error);

/// The same of what `write` gives to `put`, piece by piece, until that returns false; `write` then does too.
bool write_file(const std::string& path,
                const std::function<bool(const std::function<bool(std::string_view piece)>& put)>& write,
                std::string& error);

using posix::make_directories;

}  // namespace opdump::tool
