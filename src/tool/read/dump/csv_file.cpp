#include "src/tool/read/dump/csv_file.hpp"

#include <algorithm>
#include <string_view>

namespace opdump::tool {

bool CsvFile::fail(const std::string& reason) {
  error_ = path_ + ':' + std::to_string(line_) + ": " + reason;
  return false;
}

bool CsvFile::open(const std::string& path) {
  path_ = path;
  error_.clear();
  at_ = 0;
  line_ = 0;
  if (file_.open(path)) return true;
  error_ = file_.error();
  return false;
}

bool CsvFile::next(std::vector<std::string>& cells) {
  cells.clear();
  const std::string_view rest = as_text(file_.bytes()).substr(at_);
  if (rest.empty()) return false;
  ++line_;
  const std::size_t end = rest.substr(0, std::min(rest.size(), kMostLineBytes)).find('\n');
  if (end == rest.npos)
    return fail(rest.size() < kMostLineBytes ? "the last line is cut short" : "longer than 1 MiB");
  at_ += end + 1;
  std::string_view line = rest.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string cell;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cell += '"';
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.push_back(std::move(cell));
      cell.clear();
    } else {
      cell += line[i];
    }
  }
  cells.push_back(std::move(cell));
  if (quoted) return fail("a quotation mark without an end");
  if (!file_.cut_short()) return true;
  error_ = file_.error();
  return false;
}

}  // namespace opdump::tool
