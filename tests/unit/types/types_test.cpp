#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <random>
#include <set>
#include <string>

#include "opdump/base/arena.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/base/divide.hpp"
#include "opdump/base/text.hpp"
#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/format.hpp"
#include "opdump/types/tensor.hpp"

using namespace opdump;

TEST_CASE("dtype: both CANN numberings give out each code once and read back") {
  std::set<int> ge, proto;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    CAPTURE(info(dtype).name);
    if (info(dtype).ge_code >= 0) {
      CHECK(ge.insert(info(dtype).ge_code).second);
      CHECK(dtype_from_ge_code(info(dtype).ge_code).value() == dtype);
    }
    if (info(dtype).proto_code >= 0) {
      CHECK(proto.insert(info(dtype).proto_code).second);
      CHECK(dtype_from_proto_code(info(dtype).proto_code).value() == dtype);
    }
    CHECK(dtype_from_name(info(dtype).name).value() == dtype);
    CHECK(dtype_from_name("DT_" + std::string(info(dtype).cann_name)).value() == dtype);
  }
  CHECK(proto.size() == 43);  // 0 to 42, all of them
  CHECK_FALSE(dtype_from_ge_code(5).ok());
  CHECK_FALSE(dtype_from_ge_code(-1).ok());
  CHECK_FALSE(dtype_from_proto_code(43).ok());
  CHECK_FALSE(dtype_from_name("float17").ok());
}

TEST_CASE("dtype: those without a code in any dump keep their size and name") {
  const Dim dims[] = {3, 5};
  struct Row {
    DType dtype;
    std::string_view name;
    std::uint64_t bytes;
  };
  for (const Row& row : {Row{DType::uint4, "uint4", 8}, Row{DType::float8_e4m3fnuz, "float8_e4m3fnuz", 15},
                         Row{DType::float8_e5m2fnuz, "float8_e5m2fnuz", 15}}) {
    CAPTURE(row.name);
    CHECK(info(row.dtype).name == row.name);
    CHECK(info(row.dtype).ge_code == -1);
    CHECK(info(row.dtype).proto_code == -1);
    CHECK(packed_bytes(row.dtype, dims).value() == row.bytes);
  }
}

TEST_CASE("dtype: the table of cann.md 4.1 and 4.2, row by row") {
  struct Row {
    DType dtype;
    int ge, proto, bits;
    const char* descr;
  };
  const Row rows[] = {
      {DType::float32, 0, 1, 32, "<f4"},     {DType::float16, 1, 2, 16, "<f2"},
      {DType::int8, 2, 3, 8, "|i1"},         {DType::int32, 3, 7, 32, "<i4"},
      {DType::uint8, 4, 4, 8, "|u1"},        {DType::int16, 6, 5, 16, "<i2"},
      {DType::uint16, 7, 6, 16, "<u2"},      {DType::uint32, 8, 9, 32, "<u4"},
      {DType::int64, 9, 8, 64, "<i8"},       {DType::uint64, 10, 10, 64, "<u8"},
      {DType::float64, 11, 12, 64, "<f8"},   {DType::boolean, 12, 11, 8, "|b1"},
      {DType::complex64, 16, 16, 64, "<c8"}, {DType::complex128, 17, 17, 128, "<c16"},
      {DType::bfloat16, 27, 27, 16, ""},     {DType::int4, 29, 28, 4, ""},
      {DType::uint1, 30, 29, 1, ""},         {DType::resource, 23, 23, 64, "<i8"},
  };
  for (const Row& row : rows) {
    CHECK(info(row.dtype).ge_code == row.ge);
    CHECK(info(row.dtype).proto_code == row.proto);
    CHECK(info(row.dtype).bits == row.bits);
    CHECK(info(row.dtype).npy_descr == row.descr);
  }
  int readable = 0;
  for (const DTypeInfo& dtype : kDTypes) readable += dtype.nano_readable;
  CHECK(readable == 17);
}

TEST_CASE("format: names read back, unknown codes pass through without a name") {
  for (const FormatName& known : kFormats) CHECK(format_from_name(known.name).value() == known.format);
  CHECK(to_string(Format::fractal_nz) == "FRACTAL_NZ");
  CHECK(static_cast<int>(Format::ndc1hwc0) == 32);
  CHECK(to_string(static_cast<Format>(1000)).empty());
  CHECK_FALSE(format_from_name("nchw").ok());
}

TEST_CASE("shape: element counts and packed bytes, up to overflow") {
  const Dim dims[] = {2, 3, 5};
  CHECK(element_count(dims).value() == 30);
  CHECK(element_count({}).value() == 1);
  const Dim with_zero[] = {std::numeric_limits<Dim>::max(), 9, 0};
  CHECK(element_count(with_zero).value() == 0);
  const Dim huge[] = {std::numeric_limits<Dim>::max(), 2};
  CHECK(element_count(huge).status() == Status::too_large);
  const Dim big[] = {std::numeric_limits<Dim>::max() / 8};
  CHECK(packed_bytes(DType::float64, big).status() == Status::too_large);
  const Dim odd[] = {5};
  CHECK(packed_bytes(DType::int4, odd).value() == 3);
  CHECK(packed_bytes(DType::uint1, odd).value() == 1);
  CHECK(packed_bytes(DType::float6_e3m2, odd).value() == 4);
  CHECK(packed_bytes(DType::string, odd).value() == 0);
}

TEST_CASE("step set: no range is every step, both ends belong") {
  CHECK(StepSet{}.contains(0));
  CHECK(StepSet{}.contains(std::numeric_limits<std::uint64_t>::max()));
  const StepRange ranges[] = {{0, 0}, {3, 5}, {10, std::numeric_limits<std::uint64_t>::max()}};
  const StepSet steps{ranges};
  for (const std::uint64_t in : {0ull, 3ull, 4ull, 5ull, 10ull, ~0ull}) CHECK(steps.contains(in));
  for (const std::uint64_t out : {1ull, 2ull, 6ull, 9ull}) CHECK_FALSE(steps.contains(out));
}

TEST_CASE("bytes: little endian whatever the machine, and reading stops at the end") {
  std::byte bytes[8];
  store_little_endian(bytes, std::uint64_t{0x0102030405060708});
  CHECK(bytes[0] == std::byte{8});
  CHECK(bytes[7] == std::byte{1});
  CHECK(load_little_endian<std::uint32_t>(bytes) == 0x05060708);
  ByteReader reader{Bytes(bytes)};
  CHECK(reader.read<std::uint32_t>() == 0x05060708);
  CHECK(reader.take(5).empty());
  CHECK(reader.truncated());
  CHECK(reader.read<std::uint32_t>() == 0);
  CHECK(reader.position() == 4);
  ByteReader huge{Bytes(bytes)};
  CHECK(huge.take(~std::uint64_t{0}).empty());
  CHECK(huge.truncated());
}

TEST_CASE("arena: aligned, bounded, and exact about what is left") {
  alignas(8) std::byte memory[64];
  Arena arena(memory);
  CHECK(arena.text("abc").value() == "abc");
  const auto numbers = arena.array<std::uint64_t>(3);
  REQUIRE(numbers.ok());
  CHECK(reinterpret_cast<std::uintptr_t>(numbers.value().data()) % 8 == 0);
  CHECK(arena.used() == 32);
  CHECK(arena.array<std::uint64_t>(5).status() == Status::no_memory);
  CHECK(arena.array<std::uint64_t>(std::numeric_limits<std::size_t>::max() / 4).status() ==
        Status::no_memory);
  CHECK(arena.array<std::uint64_t>(4).ok());
  CHECK(arena.text("x").status() == Status::no_memory);
  CHECK(arena.text("").ok());
}

TEST_CASE("text: decimals, sanitising, and saying so when it does not fit") {
  char memory[32];
  TextWriter text(memory);
  text.add_decimal(0).add("/").add_decimal(18446744073709551615u).add("/").add_decimal(7, 3);
  CHECK(text.text() == "0/18446744073709551615/007");
  text.add("123456").add("7");
  CHECK(text.overflowed());
  CHECK(text.text() == "0/18446744073709551615/007123456");

  char name[64];
  TextWriter sanitised(name);
  sanitised.add_sanitised("a b.c/d\\e\tf-g_h:i").add(".").add_sanitised("").add(".").add_sanitised("..");
  CHECK(sanitised.text() == "a_b_c_d_e_f-g_h:i._.__");
}

TEST_CASE("text: decimals of every length and width, in room for no more") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t value = random() >> (random() % 64);
    const std::size_t width = static_cast<std::size_t>(1 + random() % kMaxDecimalBytes);
    std::string expected = std::to_string(value);
    if (expected.size() < width) expected.insert(0, width - expected.size(), '0');
    char digits[kMaxDecimalBytes];
    const std::string got(digits, put_decimal(digits, value, width));
    if (got != expected) FAIL_CHECK(got << " instead of " << expected);
  }
}

TEST_CASE("text: decimals of 32 bits put down at once") {
  const auto check = [](std::uint32_t value) {
    char digits[10];
    const std::string got(digits, put_number(digits, value));
    if (got != std::to_string(value)) FAIL_CHECK(got << " instead of " << value);
  };
  for (std::uint32_t value = 0; value < 20000; ++value) check(value);
  for (std::uint64_t power = 10; power <= UINT32_MAX; power *= 10) {
    for (const std::uint64_t value : {power - 1, power, power + 1}) check(static_cast<std::uint32_t>(value));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) check(static_cast<std::uint32_t>(random() >> (random() % 32)));
  check(UINT32_MAX);
  for (std::uint32_t value = 0; value < 10000; ++value) {
    char digits[4], expected[4];
    put_four_digits(digits, value);
    put_digits(expected, value, 4);
    if (std::string(digits, 4) != std::string(expected, 4)) FAIL_CHECK(value);
  }
}

TEST_CASE("text: a machine of 32 bits divides as one of 64 bits does") {
  std::mt19937_64 random(1);
  const auto agrees = [](std::uint64_t value, std::uint32_t by) {
    std::uint64_t quotient = value;
    const std::uint32_t rest = divide_by_digits(quotient, by);
    std::uint64_t chosen = value;
    return quotient == value / by && rest == value % by && divide(chosen, by) == rest && chosen == quotient;
  };
  const std::uint64_t values[] = {0,         1, 9999, 10000, 65535, 65536, UINT32_MAX, std::uint64_t{1} << 48,
                                  UINT64_MAX};
  for (const std::uint64_t value : values) {
    for (const std::uint32_t by : {1u, 2u, 60u, 1000u, 10000u, 65535u}) CHECK(agrees(value, by));
  }
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t value = random() >> random() % 64;
    REQUIRE(agrees(value, static_cast<std::uint32_t>(random() % 65535 + 1)));
  }
}

TEST_CASE("names: the time in 16 digits, whichever way the clock goes") {
  std::mt19937_64 random(1);
  NameTime time;
  char kept[NameTime::kDigits];
  std::uint64_t unix_us = 0;
  for (int i = 0; i < 100000; ++i) {
    switch (random() % 8) {
      case 0:
        unix_us = random() % NameTime::kLimit;
        break;
      case 2:
        unix_us = unix_us / 10'000 * 10'000 + random() % 3 - 1;
        break;
      case 3:
      case 4:
        unix_us += random() % 6'000;
        break;
      case 1:
        unix_us = unix_us / 100'000'000 * 100'000'000 + random() % 3 - 1;
        break;
      default:
        unix_us += random() % 60'000'000;
    }
    if (unix_us >= NameTime::kLimit) unix_us = 0;
    std::string expected = std::to_string(unix_us);
    expected.insert(0, NameTime::kBytes - expected.size(), '0');
    char digits[kMaxDecimalBytes];
    const std::string got(digits, time.put(digits, unix_us, kept));
    if (got != expected) FAIL_CHECK(got << " instead of " << expected);
  }
#if OPDUMP_SMALL_CODE == 0
  char digits[kMaxDecimalBytes];
  CHECK(std::string(digits, time.put(digits, UINT64_MAX, kept)) == "18446744073709551615");
#endif
}

TEST_CASE("text: local time numbers agree with libc over four centuries") {
  CHECK(local_time_number(0, 0) == 19700101000000);
  CHECK(local_time_number(0, -3600) == 19700101000000);
  std::mt19937_64 random(1);
  // As far as libc's time goes, which may have 32 bits.
  constexpr std::uint64_t kSeconds = std::min<std::uint64_t>(
      86400ull * 366 * 400, std::uint64_t{std::numeric_limits<std::time_t>::max()} - 86400);
  for (int i = 0; i < 200000; ++i) {
    const std::time_t seconds = static_cast<std::time_t>(random() % kSeconds);
    const int offset = static_cast<int>(random() % 86400) - 43200;
    const std::time_t local = seconds + offset < 0 ? 0 : seconds + offset;
    std::tm tm{};
    gmtime_r(&local, &tm);
    char expected[32];
    std::strftime(expected, sizeof expected, "%Y%m%d%H%M%S", &tm);
    if (local_time_number(static_cast<std::uint64_t>(seconds), offset) != std::stoull(expected))
      FAIL_CHECK("at " << seconds << " offset " << offset);
  }
}
