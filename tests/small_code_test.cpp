#include <doctest/doctest.h>

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

TEST_CASE("small code: statistics beside the tensors are the same too") {
  const DumpFiles files = dump_of_all(DumpData::full);
  CHECK(files.size() > dump_of_all(DumpData::tensor).size());
  CHECK(dump_of_small_code(true) == files);
}
