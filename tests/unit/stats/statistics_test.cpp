#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "opdump/format/stats_csv.hpp"
#include "opdump/impl/stats/statistics.hpp"
#include "tests/support/effort.hpp"

using namespace opdump;

namespace {

/// The reference needs more digits and exponents than a double. Where there are none (32-bit ARM), the sums
/// are those that other targets have checked: see "the same bits on every target".
constexpr bool kHasReference = std::numeric_limits<long double>::digits >= 64;

constexpr DType kAll[] = {DType::boolean,     DType::int2,          DType::int4,     DType::int8,
                          DType::int16,       DType::int32,         DType::int64,    DType::uint1,
                          DType::uint2,       DType::uint8,         DType::uint16,   DType::uint32,
                          DType::uint64,      DType::float16,       DType::bfloat16, DType::float32,
                          DType::float8_e5m2, DType::float8_e4m3fn, DType::float64};

bool is_float(DType dtype) {
  return info(dtype).name.find("float") != std::string_view::npos;
}

std::uint64_t bits_at(const std::vector<std::byte>& bytes, std::size_t at, std::size_t width) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t bit = at * width + i;
    const std::size_t place = width == 1 ? 7 - bit % 8 : bit % 8;
    bits |= static_cast<std::uint64_t>(std::to_integer<unsigned>(bytes[bit / 8]) >> place & 1) << i;
  }
  return bits;
}

/// By the definition of floating numbers, not by way of another format.
long double floating(std::uint64_t bits, int exponent_bits, int fraction_bits, bool has_infinity = true) {
  const bool negative = bits >> (exponent_bits + fraction_bits) & 1;
  const int exponent = static_cast<int>(bits >> fraction_bits & ((1u << exponent_bits) - 1));
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << fraction_bits) - 1);
  const int top = (1 << exponent_bits) - 1;
  const int bias = top / 2;
  long double size;
  if (exponent == top && (has_infinity || fraction == (1u << fraction_bits) - 1)) {
    const bool infinity = has_infinity && fraction == 0;
    size = infinity ? std::numeric_limits<long double>::infinity()
                    : std::numeric_limits<long double>::quiet_NaN();
  } else if (exponent == 0) {
    size = std::ldexp(static_cast<long double>(fraction), 1 - bias - fraction_bits);
  } else {
    size = std::ldexp(static_cast<long double>(fraction + (std::uint64_t{1} << fraction_bits)),
                      exponent - bias - fraction_bits);
  }
  return negative ? -size : size;
}

long double element(const std::vector<std::byte>& bytes, DType dtype, std::size_t at) {
  const std::size_t width = info(dtype).bits;
  const std::uint64_t bits = bits_at(bytes, at, width);
  switch (dtype) {
    case DType::boolean:
      return bits != 0 ? 1 : 0;
    case DType::float64:
      return floating(bits, 11, 52);
    case DType::float32:
      return floating(bits, 8, 23);
    case DType::float16:
      return floating(bits, 5, 10);
    case DType::bfloat16:
      return floating(bits, 8, 7);
    case DType::float8_e5m2:
      return floating(bits, 5, 2);
    case DType::float8_e4m3fn:
      return floating(bits, 4, 3, false);
    default:
      break;
  }
  const bool is_signed = info(dtype).name.starts_with("int");
  if (is_signed && bits >> (width - 1) & 1)
    return static_cast<long double>(static_cast<std::int64_t>(bits | ~std::uint64_t{0} << (width - 1)));
  return static_cast<long double>(bits);
}

struct Moments {
  std::uint64_t nan = 0, negative_inf = 0, positive_inf = 0, negative = 0, zero = 0, positive = 0;
  long double max = -std::numeric_limits<long double>::infinity();
  long double min = std::numeric_limits<long double>::infinity();
  bool first_is_nan = false;
  long double sum = 0, magnitudes = 0, squares = 0;  ///< of what is finite

  Moments(const std::vector<std::byte>& bytes, DType dtype, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const long double value = element(bytes, dtype, i);
      if (std::isnan(value)) {
        ++nan;
        first_is_nan |= i == 0;
        continue;
      }
      max = std::fmax(max, value);
      min = std::fmin(min, value);
      negative += value < 0;
      zero += value == 0;
      positive += value > 0;
      if (std::isinf(value)) {
        ++(value < 0 ? negative_inf : positive_inf);
        continue;
      }
      sum += value;
      magnitudes += std::fabs(value);
      squares += value * value;
    }
  }
};

struct Sample {
  DType dtype;
  std::vector<std::byte> bytes;
  std::size_t count;
};

StatisticsSummary whole(const Sample& sample, StatisticsDialect dialect,
                        const StatisticsKernels* kernels = nullptr) {
  Statistics statistics(sample.dtype, sample.count, kernels);
  statistics.add(sample.bytes);
  return statistics.summary(dialect);
}

bool same_double(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

bool same(const StatisticsSummary& a, const StatisticsSummary& b) {
  return a.count == b.count && a.nan == b.nan && a.negative_inf == b.negative_inf &&
         a.positive_inf == b.positive_inf && a.negative == b.negative && a.zero == b.zero &&
         a.positive == b.positive && a.max.kind() == b.max.kind() && a.max.integer() == b.max.integer() &&
         a.min.integer() == b.min.integer() && same_double(a.sum, b.sum) &&
         same_double(a.average, b.average) && same_double(a.l2norm, b.l2norm);
}

/// To the last bit: a double or a 64-bit integer fits long double.
bool is_value(const Extreme& extreme, long double expected) {
  switch (extreme.kind()) {
    case Extreme::Kind::none:
      return false;
    case Extreme::Kind::integer:
      return static_cast<long double>(extreme.integer()) == expected;
    case Extreme::Kind::natural:
      return static_cast<long double>(extreme.natural()) == expected;
    case Extreme::Kind::real:
      return std::isnan(expected)
                 ? std::isnan(extreme.real())
                 : extreme.real() == expected && !(expected == 0 && std::signbit(extreme.real()));
  }
  return false;
}

bool near(double got, long double expected, long double tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(static_cast<double>(expected))) return got == static_cast<double>(expected);
  return std::fabs(got - expected) <= tolerance;
}

struct Level {
  std::string name;
  const StatisticsKernels* kernels;
};

/// Those that this processor has.
std::vector<Level> levels() {
  constexpr std::pair<const char*, StatisticsLevel> kLevels[] = {
      {"sse2", StatisticsLevel::sse2},
      {"avx2", StatisticsLevel::avx2},
      {"neon", StatisticsLevel::neon},
      {"portable", StatisticsLevel::portable},
  };
  std::vector<Level> found;
  for (const auto& [name, level] : kLevels) {
    if (const StatisticsKernels* kernels = statistics_kernels(level)) found.push_back({name, kernels});
  }
  return found;
}

void check_levels(const Sample& sample) {
  static const std::vector<Level> kLevels = levels();
  const StatisticsSummary portable = whole(sample, StatisticsDialect::cann);
  for (const Level& level : kLevels) {
    CAPTURE(level.name);
    CAPTURE(info(sample.dtype).name);
    CAPTURE(sample.count);
    CHECK(same(whole(sample, StatisticsDialect::cann, level.kernels), portable));
  }
}

void check_against_reference(const Sample& sample) {
  static std::size_t large = 0;
  if (sample.count > 1000 && large++ % OPDUMP_TEST_SHARE != 0) return;
  check_levels(sample);
  if constexpr (!kHasReference) return;
  const Moments reference(sample.bytes, sample.dtype, sample.count);
  const long double nan = std::numeric_limits<long double>::quiet_NaN();
  const long double inf = std::numeric_limits<long double>::infinity();
  const bool infinite = reference.negative_inf + reference.positive_inf != 0;
  const bool both = reference.negative_inf != 0 && reference.positive_inf != 0;
  const long double infinity = reference.positive_inf != 0 ? inf : -inf;
  const long double count = static_cast<long double>(sample.count);
  CAPTURE(info(sample.dtype).name);
  CAPTURE(sample.count);

  for (const StatisticsDialect dialect : {StatisticsDialect::cann, StatisticsDialect::mindspore}) {
    const StatisticsSummary summary = whole(sample, dialect);
    CHECK(summary.count == sample.count);
    CHECK(summary.nan == reference.nan);
    CHECK(summary.negative_inf == reference.negative_inf);
    CHECK(summary.positive_inf == reference.positive_inf);
    CHECK(summary.negative == reference.negative);
    CHECK(summary.zero == reference.zero);
    CHECK(summary.positive == reference.positive);
    if (sample.count == 0) {
      CHECK(summary.max.kind() == Extreme::Kind::none);
      CHECK(summary.average == 0);
      continue;
    }
    const bool no_extremes = dialect == StatisticsDialect::cann ? reference.first_is_nan : reference.nan != 0;
    CHECK(is_value(summary.max, no_extremes ? nan : reference.max));
    CHECK(is_value(summary.min, no_extremes ? nan : reference.min));

    long double sum = reference.sum;
    if (dialect == StatisticsDialect::mindspore) {
      if (reference.nan != 0 || both) {
        sum = nan;
      } else if (infinite) {
        sum = infinity;
      }
    } else if (infinite && !both) {
      sum = infinity;
    } else if (infinite || reference.nan != 0) {
      sum = nan;
    }
    const long double least = std::numeric_limits<double>::denorm_min();
    // Of float16 and bfloat16 16 elements at a time are added up in float32, in four rounds of 2^-24.
    const bool half = sample.dtype == DType::float16 || sample.dtype == DType::bfloat16;
    const long double error = half ? 2.4e-7L : 2e-13L;
    const long double slack = (is_float(sample.dtype) ? error : 4e-16L) * reference.magnitudes;
    CHECK(near(summary.sum, sum, slack + least));
    // The reference rounds too: equal numbers could have an average beyond them.
    const bool finite = !std::isnan(sum) && !infinite;
    const long double average =
        finite ? std::fmin(std::fmax(sum / count, reference.min), reference.max) : sum;
    CHECK(near(summary.average, average, slack / count + least));

    const long double l2norm = reference.nan != 0 ? nan : infinite ? inf : std::sqrt(reference.squares);
    CHECK(near(summary.l2norm, l2norm, (half ? 1.2e-7L : 2e-13L) * std::sqrt(reference.squares) + least));
  }
}

Sample random_bytes(DType dtype, std::size_t count, std::mt19937_64& random) {
  Sample sample{dtype, std::vector<std::byte>((count * info(dtype).bits + 7) / 8), count};
  for (std::byte& byte : sample.bytes) byte = static_cast<std::byte>(random());
  return sample;
}

template <class Bits>
Sample from_bits(DType dtype, const std::vector<Bits>& bits) {
  Sample sample{dtype, std::vector<std::byte>(bits.size() * sizeof(Bits)), bits.size()};
  for (std::size_t i = 0; i < bits.size(); ++i)
    store_little_endian(sample.bytes.data() + i * sizeof(Bits), bits[i]);
  return sample;
}

Sample from_pattern(DType dtype, const std::vector<std::uint64_t>& pattern, std::size_t count) {
  std::vector<std::uint64_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = pattern[i % pattern.size()];
  switch (info(dtype).bits) {
    case 8:
      return from_bits(dtype, std::vector<std::uint8_t>(all.begin(), all.end()));
    case 16:
      return from_bits(dtype, std::vector<std::uint16_t>(all.begin(), all.end()));
    case 32:
      return from_bits(dtype, std::vector<std::uint32_t>(all.begin(), all.end()));
    default:
      return from_bits(dtype, all);
  }
}

/// Bits of the values where floating formats have their edges.
std::vector<std::uint64_t> edges(DType dtype) {
  const int width = info(dtype).bits;
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  int fraction = 0;
  switch (dtype) {
    case DType::float64:
      fraction = 52;
      break;
    case DType::float32:
      fraction = 23;
      break;
    case DType::float16:
      fraction = 10;
      break;
    case DType::bfloat16:
      fraction = 7;
      break;
    case DType::float8_e5m2:
      fraction = 2;
      break;
    default:
      fraction = 3;
      break;
  }
  const std::uint64_t infinity = (sign - 1) >> fraction << fraction;
  std::vector<std::uint64_t> bits = {0,
                                     1,
                                     2,
                                     (std::uint64_t{1} << fraction) - 1,
                                     std::uint64_t{1} << fraction,
                                     infinity - 2,
                                     infinity - 1,
                                     infinity,
                                     infinity + 1,
                                     sign - 1};
  const std::size_t positive = bits.size();
  for (std::size_t i = 0; i < positive; ++i) bits.push_back(bits[i] | sign);
  return bits;
}

/// Random floating numbers that are finite and of like size, as the values of a network are.
Sample ordinary(DType dtype, std::size_t count, std::mt19937_64& random) {
  Sample sample = random_bytes(dtype, count, random);
  if (!is_float(dtype) || info(dtype).bits == 8) return sample;
  std::normal_distribution<float> normal;
  const std::size_t bytes = info(dtype).bits / 8;
  for (std::size_t i = 0; i < count; ++i) {
    const float value = normal(random);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    std::byte* to = sample.bytes.data() + i * bytes;
    if (dtype == DType::float64) {
      store_little_endian(to, std::bit_cast<std::uint64_t>(static_cast<double>(value)));
    } else if (dtype == DType::float32) {
      store_little_endian(to, bits);
    } else if (dtype == DType::bfloat16) {
      store_little_endian(to, static_cast<std::uint16_t>(bits >> 16));
    } else {
      const std::uint32_t exponent = bits >> 23 & 0xff;
      const std::uint32_t half = exponent < 114 ? 0 : (exponent - 112) << 10 | (bits >> 13 & 0x3ff);
      store_little_endian(to, static_cast<std::uint16_t>(half | (bits >> 31) << 15));
    }
  }
  return sample;
}

constexpr std::size_t kCounts[] = {0,  1,   2,   3,    15,    16,    17,    31,
                                   63, 127, 129, 1000, 16383, 16384, 16385, 40001};

}  // namespace

TEST_CASE("statistics: random bytes of every dtype against a slow reference") {
  std::mt19937_64 random(8);
  for (const DType dtype : kAll) {
    for (const std::size_t count : kCounts) check_against_reference(random_bytes(dtype, count, random));
  }
}

TEST_CASE("statistics: ordinary values of every dtype against a slow reference") {
  std::mt19937_64 random(9);
  for (const DType dtype : kAll) {
    for (const std::size_t count : kCounts) check_against_reference(ordinary(dtype, count, random));
  }
}

TEST_CASE("statistics: every edge of a floating format, alone, together and among ordinary values") {
  std::mt19937_64 random(10);
  for (const DType dtype : kAll) {
    if (!is_float(dtype)) continue;
    const std::vector<std::uint64_t> bits = edges(dtype);
    for (const std::uint64_t one : bits) {
      for (const std::size_t count : {1u, 16u, 100u, 20000u})
        check_against_reference(from_pattern(dtype, {one}, count));
      for (const std::uint64_t other : bits) check_against_reference(from_pattern(dtype, {one, other}, 34));

      Sample among = ordinary(dtype, 18000, random);
      const Sample edge = from_pattern(dtype, {one}, 1);
      for (const std::size_t at : {0u, 15u, 16390u, 17999u}) {
        std::memcpy(among.bytes.data() + at * edge.bytes.size(), edge.bytes.data(), edge.bytes.size());
        check_against_reference(among);
      }
    }
    check_against_reference(from_pattern(dtype, bits, 20000));
  }
}

TEST_CASE("statistics: integers at the ends of their ranges") {
  for (const DType dtype : kAll) {
    if (is_float(dtype) || info(dtype).bits < 8) continue;
    const std::uint64_t sign = std::uint64_t{1} << (info(dtype).bits - 1);
    const std::uint64_t ends[] = {0, 1, sign - 1, sign, sign + 1, 2 * sign - 1};
    for (const std::uint64_t one : ends) {
      for (const std::uint64_t other : ends) {
        for (const std::size_t count : {1u, 33u, 17000u})
          check_against_reference(from_pattern(dtype, {one, other, other}, count));
      }
    }
  }
}

TEST_CASE("statistics: 64-bit integers at the ends of the range that a double's fraction has room for") {
  const std::uint64_t room = std::uint64_t{1} << 49, top = std::uint64_t{0x433} << 52;
  const std::uint64_t ends[] = {
      room - 1,
      room,
      0 - room,
      0 - room - 1,
      4 * room,
      0 - 4 * room,
      4 * room - 1,  // and those that look like an infinity or a NaN on top of 2^52 + 2^51
      (std::uint64_t{0x7ff} << 52) - top - 4 * room,
      (std::uint64_t{0xfff} << 52) - top};
  std::mt19937_64 random(49);
  for (const DType dtype : {DType::int64, DType::uint64}) {
    for (const std::uint64_t end : ends) {
      // Beside small numbers, at the front, further behind and at the end of what a kernel takes at once.
      for (const std::size_t at : {0u, 17u, 300u, 1023u}) {
        std::vector<std::uint64_t> bits(1024);
        for (std::uint64_t& one : bits) one = random() >> 40;
        bits[at] = end;
        check_against_reference(from_bits(dtype, bits));
      }
      check_levels(from_pattern(dtype, {end}, 20000));
    }
  }
}

TEST_CASE("statistics: the same bits on every target") {
  std::uint64_t digest = 0xcbf29ce484222325;
  const auto take = [&digest](std::uint64_t bits) { digest = (digest ^ bits) * 0x100000001b3; };
  const auto take_real = [&take](double value) {
    take(std::isnan(value) ? 0 : std::bit_cast<std::uint64_t>(value));
  };
  std::mt19937_64 random(12);
  for (const DType dtype : kAll) {
    // A compiler that fuses multiplications into additions may change the last bits of these squares.
    const bool wide = info(dtype).bits == 64;
    for (const bool finite : {false, true}) {
      Sample sample = random_bytes(dtype, 40000, random);
      if (finite && is_float(dtype)) {
        const std::size_t bytes = info(dtype).bits / 8;
        for (std::size_t at = bytes - 1; at < sample.bytes.size(); at += bytes)
          sample.bytes[at] &= std::byte{0xbf};
      }
      const StatisticsSummary summary = whole(sample, StatisticsDialect::cann);
      for (const std::uint64_t count : {summary.count, summary.nan, summary.negative_inf,
                                        summary.positive_inf, summary.negative, summary.zero}) {
        take(count);
      }
      for (const Extreme& extreme : {summary.max, summary.min})
        extreme.kind() == Extreme::Kind::real ? take_real(extreme.real()) : take(extreme.natural());
      take_real(summary.sum);
      take_real(summary.average);
      if (!wide) take_real(summary.l2norm);
    }
  }
  CHECK(digest == 15853699726834911567u);
}

TEST_CASE("statistics: 64-bit extremes keep their last bit") {
  const Sample large =
      from_bits<std::uint64_t>(DType::uint64, {~std::uint64_t{0} - 1, std::uint64_t{1} << 63});
  CHECK(whole(large, StatisticsDialect::cann).max.natural() == ~std::uint64_t{0} - 1);
  CHECK(whole(large, StatisticsDialect::cann).min.natural() == std::uint64_t{1} << 63);
  const Sample low =
      from_bits<std::uint64_t>(DType::int64, {std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + 1});
  CHECK(whole(low, StatisticsDialect::cann).min.integer() == std::numeric_limits<std::int64_t>::min());
  CHECK(whole(low, StatisticsDialect::cann).max.integer() == std::numeric_limits<std::int64_t>::min() + 1);
}

TEST_CASE("statistics: float64 norms and averages that a plain sum would lose") {
  const auto of = [](const std::vector<double>& values) {
    std::vector<std::uint64_t> bits;
    for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
    return whole(from_bits(DType::float64, bits), StatisticsDialect::mindspore);
  };
  CHECK(of({3e300, 4e300}).l2norm == doctest::Approx(5e300).epsilon(1e-15));
  CHECK(of({3e-300, -4e-300}).l2norm == doctest::Approx(5e-300).epsilon(1e-15));
  CHECK(of({5e-324, 0}).l2norm == 5e-324);
  CHECK(of({1.7e308, 1.7e308, 1.7e308}).average == doctest::Approx(1.7e308).epsilon(1e-15));
  CHECK(std::isinf(of({1.7e308, 1.7e308, 1.7e308}).sum));
  CHECK(of({1e308, 1, -1e308}).sum == 1);
  CHECK(of({3e300, 1e-300, 4e300, 1}).l2norm == doctest::Approx(5e300).epsilon(1e-15));
}

TEST_CASE("statistics: halves whose range is too wide for float32 are added up in float64") {
  const auto of = [](DType dtype, const std::vector<std::uint16_t>& pattern) {
    std::vector<std::uint16_t> bits;
    for (std::size_t i = 0; i < 128; ++i) bits.push_back(pattern[i % pattern.size()]);
    const Sample sample = from_bits(dtype, bits);
    check_levels(sample);
    return whole(sample, StatisticsDialect::mindspore);
  };
  const StatisticsSummary cancelled =
      of(DType::float16, {0x7bff, 0xfbff, 0x0001, 0x3c00});  // 65504, 2^-24, 1
  CHECK(cancelled.sum == 32 * (1 + 0x1p-24));
  const StatisticsSummary large = of(DType::bfloat16, {0x7f7f, 0xff7f, 0x3f80, 0x0000});
  CHECK(large.sum == 32);
  CHECK(large.l2norm == doctest::Approx(8 * 3.3895313892515355e38).epsilon(1e-15));
  const StatisticsSummary small = of(DType::bfloat16, {0x0001});
  CHECK(small.sum == 128 * 0x1p-133);
  CHECK(small.l2norm == doctest::Approx(std::sqrt(128.0) * 0x1p-133).epsilon(1e-15));
}

TEST_CASE("statistics: the same to the last bit however a tensor is cut and wherever it lies") {
  std::mt19937_64 random(11);
  for (const DType dtype : kAll) {
    for (int round = 0; round < 12; ++round) {
      const std::size_t count = 1 + random() % 40000;
      Sample sample = round % 2 == 0 ? ordinary(dtype, count, random) : random_bytes(dtype, count, random);
      const StatisticsSummary expected = whole(sample, StatisticsDialect::cann);
      std::vector<std::byte> moved(sample.bytes.size() + 64);
      const std::size_t offset = random() % 64;
      std::memcpy(moved.data() + offset, sample.bytes.data(), sample.bytes.size());
      Statistics statistics(dtype, count, round % 3 == 0 ? nullptr : &statistics_kernels());
      Bytes left = Bytes(moved).subspan(offset, sample.bytes.size());
      while (!left.empty()) {
        const std::size_t longest = std::size_t{1} << random() % 12;
        const std::size_t piece = std::min<std::size_t>(left.size(), 16 * (random() % longest));
        statistics.add(left.first(piece));
        left = left.subspan(piece);
      }
      CAPTURE(info(dtype).name);
      CHECK(same(statistics.summary(StatisticsDialect::cann), expected));
    }
  }
}

TEST_CASE("statistics: the processor's kernels are the fastest it has, and x86-64 and aarch64 have some") {
  const std::vector<Level> found = levels();
  CHECK(found.size() >= 1);
#if defined(__x86_64__) || defined(__aarch64__)
  CHECK(found.size() >= 2);
  CHECK((statistics_kernels().float32 != nullptr));
#endif
  std::size_t matching = 0;
  for (const Level& level : found) matching += level.kernels == &statistics_kernels();
  CHECK(matching == 1);
}

TEST_CASE("statistics: padding after the last element is not counted") {
  for (const DType dtype : kAll) {
    std::mt19937_64 random(12);
    Sample sample = random_bytes(dtype, 7, random);
    const StatisticsSummary expected = whole(sample, StatisticsDialect::cann);
    sample.bytes.resize(sample.bytes.size() + 40, std::byte{0x55});
    CAPTURE(info(dtype).name);
    CHECK(same(whole(sample, StatisticsDialect::cann), expected));
    Statistics twice(dtype, 7);
    twice.add(sample.bytes);
    twice.add(sample.bytes);
    CHECK(same(twice.summary(StatisticsDialect::cann), expected));
  }
}

TEST_CASE("statistics: other dtypes are not supported and count nothing") {
  std::size_t supported = 0;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (Statistics::supports(dtype)) {
      ++supported;
      continue;
    }
    Statistics statistics(dtype);
    statistics.add(as_bytes("sixteen bytes..."));
    CHECK(statistics.summary(StatisticsDialect::cann).count == 0);
  }
  CHECK(supported == std::size(kAll));
}

TEST_CASE("stats csv: the lines that CANN's own tests expect") {
  char memory[kMaxStatsLine];
  const auto line = [&memory](const auto& add) {
    TextWriter text(memory);
    add(text);
    REQUIRE_FALSE(text.overflowed());
    return std::string(text.text());
  };
  CHECK(line([](TextWriter& to) { add_stats_header(to); }) ==
        "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
        "Negative Inf Count,Positive Inf Count\n");

  const Dim nhwc[] = {4, 50, 50, 16};
  StatsRow row{true, 0, 640000, DType::float32, Format::nhwc, nhwc, {}};
  row.summary.count = 160000;
  row.summary.max = Extreme(1.99999);
  row.summary.min = Extreme(1.0);
  row.summary.average = 1.50004;
  CHECK(line([&](TextWriter& to) { add_stats_row(to, row); }) ==
        "Output,0,640000,DT_FLOAT,NHWC,4x50x50x16,1.99999,1,1.50004,160000,0,0,0\n");

  const Dim dims[] = {100, 20, 40};
  StatsRow host{false, 0, 268435456, DType::int64, Format::nd, dims, {}};
  host.summary.count = 80000;
  host.summary.max = Extreme(std::int64_t{100});
  host.summary.min = Extreme(std::int64_t{200});
  host.summary.average = 10.1;
  host.summary.nan = 400;
  host.summary.negative_inf = 500;
  host.summary.positive_inf = 600;
  CHECK(line([&](TextWriter& to) { add_stats_row(to, host); }) ==
        "Input,0,268435456,DT_INT64,ND,100x20x40,100,200,10.1,80000,400,500,600\n");

  host.summary.l2norm = 0.5;
  const std::uint32_t some = kStatMax | kStatMin | kStatL2Norm;
  CHECK(line([&](TextWriter& to) { add_stats_header(to, some); }) ==
        "Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,Min Value,l2norm\n");
  CHECK(line([&](TextWriter& to) { add_stats_row(to, host, some); }) ==
        "Input,0,268435456,DT_INT64,ND,100x20x40,80000,100,200,0.5\n");
}

TEST_CASE("stats csv: cells of what is missing, and the longest line") {
  char memory[kMaxStatsLine];
  TextWriter text(memory);
  add_stats_row(text, StatsRow{false, 3, 12, DType::complex64, static_cast<Format>(999), {}, {}});
  CHECK(text.text() == "Input,3,12,DT_COMPLEX64,-,-,,,,,,,\n");

  const std::vector<Dim> dims(kMaxRank, ~Dim{0});
  StatsRow row{true,
               ~std::uint32_t{0},
               ~std::uint64_t{0},
               DType::dual_sub_uint8,
               Format::fractal_z_3d_transpose,
               Shape(dims),
               {}};
  row.summary.count = row.summary.nan = row.summary.negative_inf = row.summary.positive_inf =
      ~std::uint64_t{0};
  row.summary.max = row.summary.min = Extreme(std::numeric_limits<std::int64_t>::min());
  row.summary.average = row.summary.l2norm = -1.23457e-300;
  TextWriter longest(memory);
  add_stats_row(longest, row, kStatsByDefault | kStatL2Norm);
  CHECK_FALSE(longest.overflowed());
  CHECK(
      longest.text().ends_with("-9223372036854775808,-9223372036854775808,-1.23457e-300,18446744073709551615,"
                               "18446744073709551615,18446744073709551615,-1.23457e-300\n"));
}

TEST_CASE("stats csv: an empty selection leaves the count, and undefined dtypes have no name") {
  char memory[kMaxStatsLine];
  TextWriter text(memory);
  StatsRow row;
  row.summary.count = 9;
  add_stats_header(text, 0);
  add_stats_row(text, row, 0);
  CHECK(text.text() == "Input/Output,Index,Data Size,Data Type,Format,Shape,Count\nInput,0,0,-,ND,-,9\n");
}

TEST_CASE("statistics: by the rules of CANN and of MindSpore, written out") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  struct Row {
    std::vector<float> values;
    const char* cann;       // max min avg
    const char* mindspore;  // max min avg l2norm
  };
  const Row rows[] = {{{1, 2, 3, 4, 5, 6}, "6 1 3.5", "6 1 3.5 9.53939"},
                      {{7, 8, 9, 10, 11, 12}, "12 7 9.5", "12 7 9.5 23.6432"},
                      {{1, nan, 3}, "3 1 nan", "nan nan nan nan"},
                      {{nan, 1, 3}, "nan nan nan", "nan nan nan nan"},
                      {{1, inf, 3}, "inf 1 inf", "inf 1 inf inf"},
                      {{1, -inf, 3}, "3 -inf -inf", "3 -inf -inf inf"},
                      {{inf, -inf}, "inf -inf nan", "inf -inf nan inf"},
                      {{1, nan, -inf}, "1 -inf -inf", "nan nan nan nan"},
                      {{-0.0f, 0.0f}, "0 0 0", "0 0 0 0"},
                      {{65504, 1e-7f}, "65504 1e-07 32752", "65504 1e-07 32752 65504"}};
  for (const Row& row : rows) {
    std::vector<std::uint32_t> bits;
    for (const float value : row.values) bits.push_back(std::bit_cast<std::uint32_t>(value));
    const Sample sample = from_bits(DType::float32, bits);
    char memory[80];
    TextWriter cann(memory);
    const StatisticsSummary by_cann = whole(sample, StatisticsDialect::cann);
    add_extreme(add_extreme(cann, by_cann.max).add(" "), by_cann.min).add(" ");
    add_number(cann, by_cann.average);
    CHECK(cann.text() == row.cann);
    TextWriter mindspore(memory);
    const StatisticsSummary by_mindspore = whole(sample, StatisticsDialect::mindspore);
    add_number(mindspore, by_mindspore.max.as_double()).add(" ");
    add_number(mindspore, by_mindspore.min.as_double()).add(" ");
    add_number(mindspore, by_mindspore.average).add(" ");
    add_number(mindspore, by_mindspore.l2norm);
    CHECK(mindspore.text() == row.mindspore);
  }
}
