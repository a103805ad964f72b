#include <doctest/doctest.h>

#include <set>
#include <sstream>

#include "opdump/nano_reader.hpp"
#include "support/dump_of_all.hpp"

using namespace opdump;

DumpFiles dump_of_small_code(bool with_statistics);
DumpFiles dump_of_smallest_code();

std::span<std::byte, 4096> data_of_all() {
  static std::byte data[4096];
  return data;
}

TEST_CASE("small code: a dump has the same files, byte for byte") {
  const DumpFiles files = dump_of_all(DumpData::tensor);
  std::size_t sized = 0;
  for (int code = 0; code < kDTypeCount; ++code)
    sized += codes_of(static_cast<DType>(code)).bits != 0 ? 1 : 0;
  // In three steps, with a single operator each; nothing of what is empty or lies about its size.
  CHECK(sized > 30);
  CHECK(files.size() == 3 * (sized + 7 + 1));
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

/// The line that small code writes instead of `line` of a statistics file: without statistics where it has
/// none of the dtype, of which it may have no name.
std::string small_line(const std::string& line) {
  static const std::set<std::string> with_statistics = {"Data Type", "DT_INT8", "DT_UINT8", "DT_FLOAT16",
                                                        "DT_FLOAT"};
  std::vector<std::string> cells = cells_of(line);
  REQUIRE(cells.size() == 13);
  if (with_statistics.contains(cells[3])) return line;
  const DType dtype = cells[3] == "-" ? DType::undefined : dtype_from_name(cells[3]).value();
  if (dtype == DType::undefined || dtype > DType::boolean)
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
  for (const auto& [name, content] : files) {
    CAPTURE(name);
    REQUIRE(small.contains(name));
    CHECK(small.at(name) == content);
  }
}
