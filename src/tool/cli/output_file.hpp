#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "platform/posix/impl/make_directories.hpp"

namespace opdump::tool {

/// A file with mode 0600 that appears under its name only when it is complete, and then replaces a file of
/// that name that the caller may write; anything else that is not a regular file is refused and stays. Until
/// then it lies in the same directory under a new random name that ends in ".part". It is removed when this
/// object ends without `commit`.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Each returns false on failure, and `error()` then says why.

  /// For a name that the tool chose: a symbolic link of that name is replaced, and its target stays.
  bool create(const std::string& directory, const std::string& name);

  /// For a path that the user chose: symbolic links are followed, and what they lead to is replaced. A
  /// character device or a FIFO is written in place, without waiting for `commit`.
  bool create_at(const std::string& path);

  bool write(std::span<const Bytes> parts);
  bool commit();

  const std::string& error() const { return error_; }

 private:
  bool fail(int error);
  bool may_replace(unsigned mode);
  bool create_aside(const std::string& directory);

  posix::UniqueFd file_;
  std::string aside_;
  std::string path_;
  std::string error_;
};

/// Writes a whole file by `OutputFile::create_at`. False: `error` says why, "FILE: reason".
bool write_file(const std::string& path, Bytes bytes, std::string& error);

/// The same of what `write` gives to `put`, piece by piece, until that returns false; `write` then does too.
bool write_file(const std::string& path,
                const std::function<bool(const std::function<bool(std::string_view piece)>& put)>& write,
                std::string& error);

using posix::make_directories;

/// Why no files may be written to `directory`, "DIR: reason"; empty when they may: it is not there, it is empty,
/// or `overwrite` is set. `advice` ends the message about a directory that holds something.
std::string occupied(const std::string& directory, bool overwrite, std::string_view advice);

}  // namespace opdump::tool
