#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/tool/read/dump/mapped_file.hpp"

namespace opdump::tool {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// The lines of a text that people write by hand, whatever editor or spreadsheet saved it: without a byte
/// order mark and the '\r' of CRLF. Refers to the text.
class TextLines {
 public:
  explicit TextLines(std::string_view text) : rest_(text) {
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    line = rest_.substr(0, rest_.find('\n'));
    ended_ = line.size() < rest_.size();
    rest_.remove_prefix(line.size() + (ended_ ? 1 : 0));
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number_;
    return true;
  }

  /// Of the line that `next` gave.
  std::size_t number() const { return number_; }
  /// Whether that line had an end.
  bool ended() const { return ended_; }
  /// Bytes behind it.
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
  bool ended_ = false;
};

/// Takes the cells of a row apart. A cell in quotes is what they hold, where "" is a quote. False: quotes are
/// not closed.
inline bool split_row(std::string_view row, char separator, std::vector<std::string>& cells) {
  cells.assign(1, {});
  bool quoted = false;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == '"' && quoted && i + 1 < row.size() && row[i + 1] == '"') {
      cells.back() += row[i++];
    } else if (row[i] == '"') {
      quoted = !quoted;
    } else if (row[i] == separator && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += row[i];
    }
  }
  return !quoted;
}

/// Whether the text is UTF-16, which nothing reads.
inline bool is_utf16(std::string_view text) {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") ||
         text.substr(0, 2).find('\0') != std::string_view::npos;
}

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

inline constexpr std::string_view kMappingFileName = "mapping.csv";

/// The rows `file name,real name` of one `mapping.csv`: files whose real names the file system did not take.
class MappingFile {
 public:
  /// Reads `path`; a missing file has no rows. Returns what is wrong with the file; empty: nothing is. Keeps
  /// all rows that can be read, except real names that would leave their directory.
  std::string read(const std::string& path);

  /// The real name of the file `name`; `name` itself if it has no row.
  std::string real_name(const std::string& name) const;

  /// From file name to real name.
  const std::unordered_map<std::string, std::string>& rows() const { return rows_; }

 private:
  std::unordered_map<std::string, std::string> rows_;
};

}  // namespace opdump::tool
