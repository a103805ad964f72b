#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "src/tool/cli/output_file.hpp"

namespace opdump::tool {

/// A file that is written in small pieces and appears when it is complete. Each function returns false on
/// failure, and `error()` then says why.
class ExportFile {
 public:
  /// Makes the directory, and the missing ones above it.
  bool create(const std::string& directory, const std::string& name);

  /// The same for a path that the user chose, as `OutputFile::create_at` does.
  bool create_at(const std::string& path);

  bool write(Bytes bytes);
  bool write(std::string_view text) { return write(as_bytes(text)); }
  bool commit();

  const std::string& error() const { return error_.empty() ? file_.error() : error_; }

 private:
  static constexpr std::size_t kBufferBytes = 64 * 1024;

  bool make(const std::string& directory);
  bool flush();

  OutputFile file_;
  std::string error_;
  std::vector<std::byte> pending_;
};

}  // namespace opdump::tool
