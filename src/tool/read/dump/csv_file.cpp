#include "src/tool/read/dump/csv_file.hpp"

#include <errno.h>
#include <string.h>
#include <cstdio>
#include <memory>
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

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// The next line without its end; false after the last one. What passes the longest row is cut off.
bool read_line(std::FILE* file, std::string& line) {
  constexpr std::size_t kLongestRow = 16384;
  line.clear();
  int c = std::getc(file);
  if (c == EOF) return false;
  for (; c != EOF && c != '\n'; c = std::getc(file)) {
    if (line.size() < kLongestRow) line += static_cast<char>(c);
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

}  // namespace

std::string MappingFile::read(const std::string& path) {
  rows_.clear();
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) return errno == ENOENT ? std::string() : path + ": " + strerror(errno);
  std::string problem;
  std::string line;
  for (std::size_t number = 1; read_line(file.get(), line); ++number) {
    if (number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    if (line.empty()) continue;
    const std::size_t comma = line.find(',');
    const std::string real = comma == std::string::npos ? std::string() : line.substr(comma + 1);
    if (comma == 0 || real.empty() || real.find('/') != std::string::npos ||
        real.find('\0') != std::string::npos) {
      problem = path + ":" + std::to_string(number) + ": passed over, not a row 'file name,real name'";
      continue;
    }
    rows_[line.substr(0, comma)] = real;
  }
  return problem;
}

std::string MappingFile::real_name(const std::string& name) const {
  const auto row = rows_.find(name);
  return row == rows_.end() ? name : row->second;
}

}  // namespace opdump::tool
