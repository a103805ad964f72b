#include "src/tool/read/dump/csv_file.hpp"

#include <string_view>

namespace opdump::tool {

bool CsvFile::fail(const std::string& reason) {
  error_ = path_ + ':' + std::to_string(line()) + ": " + reason;
  return false;
}

bool CsvFile::open(const std::string& path) {
  path_ = path;
  error_.clear();
  const bool good = file_.open(path);
  lines_ = TextLines(good ? as_text(file_.bytes()) : std::string_view());
  if (!good) error_ = file_.error();
  return good;
}

bool CsvFile::next(std::vector<std::string>& cells) {
  cells.clear();
  std::string_view line;
  if (!lines_.next(line)) return false;
  if (line.size() > kMostLineBytes) return fail("longer than 1 MiB");
  if (!lines_.ended()) return fail("the last line is cut short");
  if (!split_row(line, ',', cells)) return fail("a quotation mark without an end");
  if (!file_.cut_short()) return true;
  error_ = file_.error();
  return false;
}

}  // namespace opdump::tool
