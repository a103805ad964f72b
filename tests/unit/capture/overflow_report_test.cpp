#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "opdump/format/overflow_json.hpp"
#include "opdump/impl/stats/non_finite.hpp"
#include "opdump/types/overflow.hpp"

using namespace opdump;

namespace {

/// What the formats say, one number at a time.
bool is_non_finite(DType dtype, std::uint32_t code) {
  switch (dtype) {
    case DType::float16:
      return (code & 0x7c00) == 0x7c00;
    case DType::bfloat16:
      return (code & 0x7f80) == 0x7f80;
    case DType::float8_e5m2:
      return (code & 0x7c) == 0x7c;
    case DType::float8_e4m3fn:
      return (code & 0x7f) == 0x7f;
    case DType::float8_e8m0:
      return code == 0xff;
    case DType::hifloat8:
      return code == 0x80 || code == 0x6f || code == 0xef;
    default:
      return false;
  }
}

template <class Code>
void check_codes(DType dtype) {
  for (std::uint32_t code = 0; code <= std::numeric_limits<Code>::max(); ++code) {
    CAPTURE(code);
    const auto narrow = static_cast<Code>(code);
    std::byte bytes[sizeof(Code)];
    std::memcpy(bytes, &narrow, sizeof narrow);
    REQUIRE(holds_non_finite(dtype, bytes, sizeof bytes, nullptr) == is_non_finite(dtype, code));
  }
}

template <class T>
void check_places(DType dtype, T finite, T other, NonFiniteKernel kernel) {
  constexpr std::size_t kMost = 300 / sizeof(T);
  alignas(8) std::byte bytes[kMost * sizeof(T) + 1];
  for (std::size_t count = 0; count <= kMost; count += count < 20 ? 1 : 13) {
    std::byte* const at = bytes + count % 2;  // at any address
    for (std::size_t i = 0; i < count; ++i) std::memcpy(at + i * sizeof(T), &finite, sizeof(T));
    REQUIRE_FALSE(holds_non_finite(dtype, at, count * sizeof(T), kernel));
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(at + i * sizeof(T), &other, sizeof(T));
      REQUIRE(holds_non_finite(dtype, at, count * sizeof(T), kernel));
      std::memcpy(at + i * sizeof(T), &finite, sizeof(T));
    }
  }
}

std::string json(const OverflowReport& report) {
  char memory[1024];
  TextWriter text(memory);
  return std::string(add_overflow_json(text, report).text());
}

std::vector<std::uint64_t> words(const OverflowReport& report, std::size_t from, std::size_t count) {
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(op_debug_word(report, from + i));
  return out;
}

std::size_t words_that_are_not_zero(const OverflowReport& report) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kOpDebugWords; ++i) count += op_debug_word(report, i) != 0;
  return count;
}

OverflowReport full_report() {
  OverflowReport report;
  for (std::size_t i = 0; i < 4; ++i) report.status[i] = std::uint64_t{0x20} << i;
  report.task_type = 1;
  report.context_id = 2;
  report.thread_id = 3;
  report.start = 0x1008005b0000;
  report.arguments = 0x100800297000;
  report.core_id = 4;
  report.block_id = 5;
  report.kernel_code = 0x1008005ae000;
  report.model_id = 514;
  report.stream_id = 563;
  report.task_id = 57;
  return report;
}

}  // namespace

TEST_CASE("overflow: every code of the narrow formats is known for what it is") {
  check_codes<std::uint16_t>(DType::float16);
  check_codes<std::uint16_t>(DType::bfloat16);
  check_codes<std::uint8_t>(DType::float8_e5m2);
  check_codes<std::uint8_t>(DType::float8_e4m3fn);
  check_codes<std::uint8_t>(DType::float8_e8m0);
  check_codes<std::uint8_t>(DType::hifloat8);
}

TEST_CASE("overflow: an infinity or NaN is found at every place, and nothing where there is none") {
  const NonFiniteKernel fast = non_finite_kernel();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const NonFiniteKernel kernel : {NonFiniteKernel{nullptr}, fast}) {
    check_places(DType::float32, std::numeric_limits<float>::max(), kInf, kernel);
    check_places(DType::float32, std::numeric_limits<float>::lowest(), -kInf, kernel);
    check_places(DType::float32, 0.0f, std::numeric_limits<float>::quiet_NaN(), kernel);
    check_places(DType::float64, std::numeric_limits<double>::lowest(), kNan, kernel);
    check_places(DType::float64, -0.0, std::numeric_limits<double>::infinity(), kernel);
    check_places(DType::complex64, 1.0f, -kInf, kernel);
    check_places(DType::complex128, -1.0, kNan, kernel);
    check_places<std::uint16_t>(DType::float16, 0xfbff, 0x7c00, kernel);
    check_places<std::uint16_t>(DType::complex32, 0x7bff, 0xfc01, kernel);
    check_places<std::uint16_t>(DType::bfloat16, 0xff7f, 0x7f80, kernel);
    check_places<std::uint8_t>(DType::float8_e5m2, 0xfb, 0x7c, kernel);
    check_places<std::uint8_t>(DType::float8_e4m3fn, 0xfe, 0x7f, kernel);
    check_places<std::uint8_t>(DType::float8_e8m0, 0x7f, 0xff, kernel);
    check_places<std::uint8_t>(DType::hifloat8, 0x6e, 0xef, kernel);
  }
}

TEST_CASE("overflow: integers, and floats too narrow for it, are never infinite") {
  const std::byte ones[16] = {std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
                              std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
  for (const DType dtype : {DType::int8, DType::uint16, DType::int32, DType::uint64, DType::boolean,
                            DType::float6_e3m2, DType::float4_e2m1, DType::string}) {
    CHECK_FALSE(can_be_non_finite(dtype));
    CHECK_FALSE(holds_non_finite(dtype, ones, sizeof ones, nullptr));
  }
}

TEST_CASE("overflow: the newer layout has the fields of each unit in order, and zeros behind them") {
  OverflowReport report = full_report();
  report.unit = OverflowUnit::aiv;
  CHECK(words(report, 0, 3) == std::vector<std::uint64_t>{0x5a5a5a5a, 0x1'0000'0001, 88ull << 32});
  CHECK(words(report, 3, 12) ==
        std::vector<std::uint64_t>{514, 563, 57, 1, 2, 3, 0x1008005b0000, 0x100800297000, 4, 5, 0x20, 0});
  report.unit = OverflowUnit::aic;
  report.wide = true;
  CHECK(words(report, 0, 3) == std::vector<std::uint64_t>{0x1'5a5a5a5a, 0x0'0000'0001, 112ull << 32});
  CHECK(words(report, 12, 6) == std::vector<std::uint64_t>{5, 0x20, 0x40, 0x80, 0x100, 0});
  report.wide = false;
  report.unit = OverflowUnit::aicpu;
  CHECK(words(report, 1, 2) == std::vector<std::uint64_t>{0x2'0000'0001, 64ull << 32});
  CHECK(words(report, 3, 9) == std::vector<std::uint64_t>{514, 563, 57, 1, 2, 4, 3, 0x20, 0});
  report.unit = OverflowUnit::sdma;
  CHECK(words(report, 1, 2) == std::vector<std::uint64_t>{0x3'0000'0001, 80ull << 32});
  CHECK(words(report, 3, 11) ==
        std::vector<std::uint64_t>{514, 563, 57, 1, 2, 3, 0x1008005b0000, 0x100800297000, 4, 0x20, 0});
}

TEST_CASE("overflow: the older layout has the one unit in its block") {
  OverflowReport report = full_report();
  CHECK(words(report, 32, 7) ==
        std::vector<std::uint64_t>{514, 563, 57, 1, 0x1008005b0000, 0x100800297000, 0});
  CHECK(words(report, 128, 4) == std::vector<std::uint64_t>{0x1008005ae000, 5, 0x20, 0});
  CHECK(words_that_are_not_zero(report) == 9);
  report.unit = OverflowUnit::dha_atomic_add;
  CHECK(words(report, 0, 6) == std::vector<std::uint64_t>{514, 563, 57, 1, 0x1008005b0000, 0x100800297000});
  CHECK(op_debug_word(report, 64) == 0x20);
  CHECK(words_that_are_not_zero(report) == 7);
  report.unit = OverflowUnit::l2_atomic_add;
  CHECK(op_debug_word(report, 16) == 514);
  CHECK(op_debug_word(report, 96) == 0x20);
  CHECK(words_that_are_not_zero(report) == 7);
}

TEST_CASE("overflow: the JSON of MindSpore has three units and no blanks") {
  OverflowReport report = full_report();
  const std::string none =
      R"({"model_id":0,"para_base":"0x0","pc_start":"0x0","status":0,"stream_id":0,"task_id":0,"task_type":0})";
  const std::string core =
      R"({"block_idx":5,"kernel_code":"0x1008005ae000","model_id":514,"para_base":"0x100800297000",)"
      R"("pc_start":"0x1008005b0000","status":32,"stream_id":563,"task_id":57,"task_type":1})";
  CHECK(json(report) ==
        "{\"AI Core\":" + core + ",\"DHA Atomic Add\":" + none + ",\"L2 Atomic Add\":" + none + "}");
  report.unit = OverflowUnit::l2_atomic_add;
  CHECK(json(report).find(R"("L2 Atomic Add":{"model_id":514,)") != std::string::npos);
  CHECK(json(report).find(R"("AI Core":{"block_idx":0,"kernel_code":"0x0","model_id":0)") !=
        std::string::npos);
}
