#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/tool/read/dump/mapped_file.hpp"
#include "src/tool/read/dump/text_lines.hpp"

namespace opdump::tool {

/// Reads an untrusted CSV file row by row. Cells may be in quotation marks; a row is one line.
class CsvFile {
 public:
  /// On false `error()` says why.
  bool open(const std::string& path);

  /// Gives the next row; false after the last one, or when it cannot be read; `error()` then says why.
  bool next(std::vector<std::string>& cells);

  std::uint64_t line() const { return lines_.number(); }
  const std::string& error() const { return error_; }

 private:
  static constexpr std::size_t kMostLineBytes = 1024 * 1024;

  bool fail(const std::string& reason);

  std::string path_;
  std::string error_;
  MappedFile file_;
  TextLines lines_{{}};
};

}  // namespace opdump::tool
