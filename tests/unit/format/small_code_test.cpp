#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "opdump/read/nano_reader.hpp"
#include "tests/support/dump_of_all.hpp"
#include "tests/unit/format/small_code_dump.hpp"

using namespace opdump;

DumpFiles dump_of_small_code(bool with_statistics);
DumpFiles dump_of_smallest_code();
DumpFiles overflows_of_small_code();
std::size_t overflows_listed_in_smallest_code();

std::span<std::byte, 4096> data_of_all() {
  static std::byte data[4096];
  return data;
}

TEST_CASE("small code: a dump has the same files, byte for byte") {
  const DumpFiles files = dump_of_all(DumpData::tensor);
  std::size_t sized = 0;
  for (int code = 0; code <= static_cast<int>(DType::variant); ++code)
    sized += codes_of(static_cast<DType>(code)).bits != 0 ? 1 : 0;
  // In three steps, with a single operator each; nothing of what is empty, has no dtype or lies about its size.
  CHECK(sized > 30);
  CHECK(files.size() == 3 * (sized + 6 + 1));
  for (const auto& file : files) {
    CAPTURE(file.first);
    const std::string& content = file.second;
    NanoReader reader;
    CHECK(reader.open(std::as_bytes(std::span(content)), content.size()) == Status::ok);
  }
  CHECK(dump_of_small_code(false) == files);
  CHECK(dump_of_smallest_code() == files);
}

namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',') cells.emplace_back();
    if (c != ',') cells.back() += c;
  }
  return cells;
}

bool has_few_statistics(const std::string& dtype) {
  static const std::set<std::string> kHave = {"Data Type", "DT_INT8", "DT_UINT8", "DT_FLOAT16", "DT_FLOAT"};
  return kHave.contains(dtype);
}

/// The line that small code writes instead of `line` of a statistics file: without statistics where it has
/// none of the dtype, of which it may have no name.
std::string small_line(const std::string& line) {
  std::vector<std::string> cells = cells_of(line);
  REQUIRE(cells.size() == 13);
  if (has_few_statistics(cells[3])) return line;
  const DType dtype = cells[3] == "-" ? DType::undefined : dtype_from_name(cells[3]).value();
  cells[3] = std::to_string(static_cast<std::uint8_t>(codes_of(dtype).ge_code()));
  std::string small = cells[0];
  for (std::size_t i = 1; i < cells.size(); ++i) small += "," + (i < 6 ? cells[i] : std::string());
  return small;
}

std::string small_csv(const std::string& text) {
  std::string small, line;
  std::istringstream lines(text);
  while (std::getline(lines, line)) small += small_line(line) + "\n";
  return small;
}

}  // namespace

TEST_CASE("small code: statistics beside the tensors are the same where it has them") {
  DumpFiles files = dump_of_all(DumpData::full);
  CHECK(files.size() > dump_of_all(DumpData::tensor).size());
  for (auto& [name, content] : files) {
    if (name.ends_with(".csv")) content = small_csv(content);
  }
  const DumpFiles small = dump_of_small_code(true);
  CHECK(small.size() == files.size());
  for (const auto& file : files) {
    CAPTURE(file.first);
    REQUIRE(small.contains(file.first));
    CHECK(small.at(file.first) == file.second);
  }
}

namespace {

/// Files in the order of their times, which their names end with.
struct TimedFile {
  std::string time, name, content;
  bool operator<(const TimedFile& other) const { return time < other.time; }
};

std::vector<TimedFile> by_time(const DumpFiles& files) {
  std::vector<TimedFile> sorted;
  for (const auto& [path, content] : files) {
    const std::size_t end = path.rfind('.');
    sorted.push_back({path.substr(end), path.substr(0, end), content});
  }
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

bool has_float8(const TimedFile& file) {
  for (const DType dtype : {DType::float8_e5m2, DType::float8_e4m3fn, DType::float8_e8m0}) {
    if (file.name.find(".dtype" + std::to_string(static_cast<int>(dtype)) + ".") != std::string::npos)
      return true;
  }
  return false;
}

bool is_report(const TimedFile& file) {
  return file.name.find("/Opdebug.Node_OpDebug.65535.345") != std::string::npos;
}

}  // namespace

TEST_CASE("small code: without OPDUMP_FAULTS, a listed operator that overflows is captured as any other") {
  CHECK(overflows_listed_in_smallest_code() == 1);
}

TEST_CASE("small code: operators that overflow, each with its report, but for elements of 8 bits") {
  const std::vector<TimedFile> files = by_time(dump_of_all(DumpData::tensor, true));
  const std::vector<TimedFile> small = by_time(overflows_of_small_code());
  std::vector<TimedFile> expected;
  std::size_t reports = 0, singles = 0;
  for (const TimedFile& file : files) {
    // A report follows its operator.
    const bool left_out = has_float8(file) || (is_report(file) && has_float8(*(&file - 1)));
    if (!left_out) expected.push_back(file);
    if (!left_out && is_report(file)) ++reports;
    if (file.name.find("/net/") == std::string::npos) ++singles;
  }
  // Of three steps: six floating dtypes, complex ones included, and what else has float32 as an output.
  CHECK(reports == 3 * (7 + 3));
  CHECK(singles == 3);
  CHECK(expected.size() == 2 * reports + singles);
  REQUIRE(small.size() == expected.size());
  for (std::size_t i = 0; i < small.size(); ++i) {
    CAPTURE(small[i].name);
    CHECK(small[i].name == expected[i].name);
    CHECK(small[i].content == expected[i].content);
  }
}

TEST_CASE("small code: memory for heads, of which it keeps none, is refused") {
  CHECK(static_cast<Status>(status_of_heads_in_small_code(1024)) == Status::invalid_argument);
  CHECK(static_cast<Status>(status_of_heads_in_small_code(1)) == Status::ok);
}

TEST_CASE("small code: a config with patterns or parts of types is not supported, ranges and marks are") {
  for (const Unusual what : {Unusual::patterns, Unusual::type_parts, Unusual::exclusions})
    CHECK(static_cast<Status>(status_of_small_code(what)) == Status::not_supported);
  for (const Unusual what : {Unusual::ranges, Unusual::marked})
    CHECK(static_cast<Status>(status_of_small_code(what)) == Status::ok);
}
