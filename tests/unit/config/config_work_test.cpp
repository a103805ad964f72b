// That a text is answered in time linear in its length, by counting the basic blocks of the parser that run:
// it is compiled with a call in each of them. What simdjson and the C library do inside is not counted; they
// are linear. Only long lists of layers are sorted, which takes n log n.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "opdump/config/parse.hpp"

namespace {

std::uint64_t blocks = 0;

}  // namespace

extern "C" void __sanitizer_cov_trace_pc() {
  ++blocks;
}

namespace {

using namespace opdump;

struct Shape {
  std::string before;
  std::string piece;
  std::string after;
  ConfigFault fault = ConfigFault::none;
  std::size_t bytes_per_layer = 0;  ///< of a list that is sorted; 0: nothing is
};

/// By how much the work may grow per byte when the text grows from `from` to `to` bytes.
double growth_per_byte(const Shape& shape, std::size_t from, std::size_t to) {
  if (shape.bytes_per_layer == 0) return 1;
  const auto levels = [&](std::size_t bytes) {
    return std::log2(static_cast<double>(bytes / shape.bytes_per_layer));
  };
  return levels(to) / levels(from);
}

std::string text_of(const Shape& shape, std::size_t bytes) {
  std::string text = shape.before;
  while (text.size() + shape.piece.size() + shape.after.size() <= bytes) text += shape.piece;
  return text + shape.after;
}

/// Basic blocks that run to answer a text of about so many bytes.
std::uint64_t work(const Shape& shape, std::size_t bytes, bool with_notes) {
  const std::string text = text_of(shape, bytes);
  std::vector<std::byte> memory(config_memory_bytes(text.size()));
  Arena arena(memory);
  ConfigOutcome outcome;
  const std::uint64_t before = blocks;
  const Status status = parse_config({.text = text, .memory = arena, .wants_notes = with_notes}, outcome);
  const std::uint64_t taken = blocks - before;
  CAPTURE(outcome.error.reason);
  CHECK(outcome.error.fault == shape.fault);
  CHECK((status == Status::ok) == (shape.fault == ConfigFault::none));
  return taken;
}

const std::string kList = R"({"dump":{"dump_path":"x","dump_list":[)";
const std::string kMindSpore = R"({"e2e_dump_settings":{},"common_dump_settings":{"dump_mode":1,"path":"/x",
  "net_name":"n","iteration":"all","input_output":0,)";

std::string deep(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

const Shape kShapes[] = {
    // acl.json
    {kList + "{}", ",{}", "]}}"},
    {kList + "{}", ",{\"x\":1}", "]}}"},
    {kList + R"({"layer":["a")", R"(,"b")", "]}]}}", ConfigFault::none, 4},
    {kList + R"({"model_name":"m","opname_range":[{"begin":"a","end":"b"})", R"(,{"begin":"","end":""})",
     "]}]}}", ConfigFault::conflict},
    {kList + R"({"layer":[""])", R"(,"layer":[""])", "}]}}"},
    {R"({"dump":{"dump_path":"x")", R"(,"dump_path":"y")", "}}"},
    {R"({"dump":{"dump_mode":"a)", "a", "\"}}", ConfigFault::not_in_list},
    {R"({"dump":{"dump_path":"x","dump_step":"1)", "|1", "\"}}", ConfigFault::invalid_value},
    {R"({"dump":{"dump_path":"x","dump_step":"1)", "1", "\"}}"},
    {R"({"dump":{"dump_kernel_data":"all)", ",all", "\",\"dump_path\":\"x\"}}"},
    {R"({"dump":{"dump_path":"x","dump_data":"stats","dump_stats":["Max")", R"(,"Max")", "]}}"},
    {R"({"dump":{"dump_pats":"x")", R"(,"dump_lost":1)", "}}", ConfigFault::missing},
    {R"({"opdump":{"ring_bytes":64)", R"(,"ring_bytes":64)", "}}"},
    // data_dump.json
    {kMindSpore + R"("support_device":[0],"kernels":["a/b")", R"(,"c/d")", "]}}"},
    {kMindSpore + R"("support_device":[0],"kernels":["conv")", R"(,"conv")", "]}}"},
    {kMindSpore + R"x("support_device":[0],"kernels":["name-regex(a)")x",
     R"x(,"name-regex(a.*[bc]{2,3}d|e+)")x", "]}}", ConfigFault::invalid_value},
    {kMindSpore + R"x("support_device":[0],"kernels":["name-regex()x", "ab", R"x()"]}})x",
     ConfigFault::invalid_value},
    {kMindSpore + R"("kernels":[],"support_device":[0)", ",7", "]}}"},
    {R"({"common_dump_settings":{"dump_mode":0)", R"(,"dump_mode":0)", "}}", ConfigFault::missing},
    // torchair
    {R"({"dump_config":{"enable_dump":true,"dump_layer":"a)", " a", "\"}}", ConfigFault::none, 2},
    {R"({"dump_config":{"enable_dump":true,"dump_step":"1)", "1", "x\"}}", ConfigFault::invalid_value},
    {R"({"dump_config":{"enable_dump":true,"dump_step":"1)", "|1-2", "\"}}"},
    {R"({"dump_config":{"dump_step":"")", R"(,"dump_step":"")", "}}"},
    // JSON
    {R"({"unread":1)", "1", "}", ConfigFault::syntax},
    {R"({"unread":0.0)", "0", "}"},
    {R"({"unread":[0)", ",0", "]}"},
    {R"({"unread":[0)", "  , \n\t 0", "]}"},
    {R"({"unread":[0)", "                                                                 ", "]}"},
    {R"({"unread":")", R"(\\)", "\"}"},
    {R"({"unread":")", "\\u00e4", "\"}"},
    {R"({"unread":")", ",", "\"}"},
    {R"({"unread":")", "[{", "\"}", ConfigFault::too_deep},
    {R"({"unread":")", "\u00e4", "\xff\"}", ConfigFault::syntax},
    {R"({"unread":1)", "\n", "", ConfigFault::syntax},
    {"", "[", "", ConfigFault::too_deep},
    {deep(5000), "[", "", ConfigFault::too_deep},
    {"{\"a\":", "[\"]\",", "", ConfigFault::too_deep},
};

}  // namespace

TEST_CASE("config: the work for a text is linear in its length, whatever it is") {
  constexpr std::size_t kBytes = 32 * 1024;
  std::uint64_t most_per_byte = 0;
  for (const bool with_notes : {false, true}) {
    for (const Shape& shape : kShapes) {
      CAPTURE(shape.before);
      CAPTURE(shape.piece);
      CAPTURE(with_notes);
      const std::uint64_t one = work(shape, kBytes, with_notes);
      const std::uint64_t four = work(shape, 4 * kBytes, with_notes);
      CHECK(one > 0);
      const double growth = growth_per_byte(shape, kBytes, 4 * kBytes);
      CHECK(four < 4.5 * growth * static_cast<double>(one) + 1000);  // quadratic: 16 times
      most_per_byte = std::max(most_per_byte, four / (4 * kBytes));
    }
  }
  MESSAGE("at most " << most_per_byte << " basic blocks per byte");
  CHECK(most_per_byte < 200);
}

TEST_CASE("config: 10 MiB and 10 000 levels take work as their length says") {
  const std::uint64_t small = work(kShapes[2], 64 * 1024, false);
  const std::uint64_t large = work(kShapes[2], kMaxConfigBytes, false);
  const double growth = growth_per_byte(kShapes[2], 64 * 1024, kMaxConfigBytes);
  CHECK(large < 160 * 1.1 * growth * static_cast<double>(small));
  const Shape nested = {R"({"unread":)" + deep(10'000), "", "}", ConfigFault::too_deep};
  CHECK(work(nested, 0, false) < 20 * 20'000);
}
