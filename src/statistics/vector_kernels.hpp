#pragma once
/// The vectorised kernels, in terms of what each instruction set supplies before it includes this file, once
/// per translation unit and with the compiler set to that instruction set:
///
///     OPDUMP_VECTOR_BYTES    16, 32 or 64
///     struct Isa             smaller, larger (of two Floats, Doubles, Shorts, Chars; a NaN gives `other`),
///                            widen_floats (the floats at an address as Doubles), widen_float16 and
///                            widen_bfloat16 (16 halves at an address to floats; or kFloat16 and kBfloat16,
///                            kernels of another set), sum_bytes, square_bytes, multiply_pairs (of Shorts,
///                            each two products added up), multiply_low (the low halves of two ULongs),
///                            rounded (a product of Doubles that no addition takes in)
///
/// All names are local to the translation unit, so that no other one can end up with code for a processor
/// that it did not ask for; for the same reason nothing is included here.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

/// Calls `step` with 0 to kCount - 1 as constants. GCC keeps arrays in registers only where a loop is gone
/// before it looks.
template <std::size_t kCount>
inline void each(auto&& step) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (step(std::integral_constant<std::size_t, i>{}), ...);
  }
  (std::make_index_sequence<kCount>{});
}

template <class Vector>
inline Vector load(const std::byte* from) {
  Vector vector;
  __builtin_memcpy(&vector, from, sizeof vector);
  return vector;
}

/// A vector's elements in memory of their own: GCC keeps out of the registers what is looked at one by one.
template <class Element, class Vector>
struct Elements {
  static constexpr std::size_t kCount = sizeof(Vector) / sizeof(Element);
  Element all[kCount];

  explicit Elements(const Vector& vector) { __builtin_memcpy(all, &vector, sizeof all); }
};

/// The sum of the vector's elements, as `Sum`.
template <class Sum, class Element, class Vector>
inline Sum across(const Vector& vector) {
  Sum sum = 0;
  const Elements<Element, Vector> elements(vector);
  for (const Element element : elements.all) sum += static_cast<Sum>(element);
  return sum;
}

template <class Element, class Vector>
inline Element least(const Vector& vector) {
  const Elements<Element, Vector> elements(vector);
  Element least = elements.all[0];
  for (const Element element : elements.all) least = element < least ? element : least;
  return least;
}

template <class Element, class Vector>
inline Element greatest(const Vector& vector) {
  const Elements<Element, Vector> elements(vector);
  Element greatest = elements.all[0];
  for (const Element element : elements.all) greatest = element > greatest ? element : greatest;
  return greatest;
}

inline constexpr std::size_t kVectorBytes = OPDUMP_VECTOR_BYTES;
/// Elements are taken in steps of a cache line.
inline constexpr std::size_t kStepBytes = 64;
inline constexpr std::size_t kPrefetchBytes = 512;

/// The lanes of a block, in registers while a kernel runs.
struct Sums {
  static constexpr std::size_t kVectors = kStatisticsLanes * sizeof(double) / kVectorBytes;
  Doubles sums[kVectors];
  Doubles squares[kVectors];

  explicit Sums(const FloatLanes& lanes) {
    __builtin_memcpy(sums, lanes.sums, sizeof sums);
    __builtin_memcpy(squares, lanes.squares, sizeof squares);
  }

  void add(std::size_t i, Doubles values) {
    sums[i] += values;
    squares[i] += values * values;
  }

  void store(FloatLanes& lanes) const {
    __builtin_memcpy(lanes.sums, sums, sizeof sums);
    __builtin_memcpy(lanes.squares, squares, sizeof squares);
  }
};

/// -1 for the negative zero, and else ascends with the value. `bits` are a half's, with its sign.
inline std::int16_t order_of_half(int bits) {
  return static_cast<std::int16_t>(bits < 0 ? bits ^ 0x7fff : bits);
}

/// What is taken from the bits of halves.
struct HalfBits {
  static constexpr std::int16_t kSign = std::numeric_limits<std::int16_t>::min();
  Shorts least = ~(Shorts{} + kSign);     ///< of the bits
  Shorts most = Shorts{} + kSign;         ///< of the bits
  Shorts most_turned = Shorts{} + kSign;  ///< with the sign bit turned: those of negative numbers are above 0
  Shorts negative{};
  Shorts positive{};

  void add(Shorts bits) {
    const Shorts turned = bits ^ kSign;
    least = Isa::smaller(bits, least);
    most = Isa::larger(bits, most);
    most_turned = Isa::larger(turned, most_turned);
    negative -= turned > 0;
    positive -= bits > 0;
  }
};

/// Rows that are widened to floats in memory before any is added up: read back at once, a row would not have
/// arrived yet.
inline constexpr std::size_t kPartRows = 32;

/// float16 and bfloat16. False, with nothing changed, where the block holds a NaN or an infinity.
template <class Format>
bool finite_halves(const std::byte* data, std::size_t rows, FloatLanes& lanes, FloatRun& run) {
  constexpr std::size_t kVectors = kStepBytes / kVectorBytes;
  constexpr std::size_t kRows = kStepBytes / (2 * kStatisticsLanes);
  constexpr std::size_t kFloatRow = kStatisticsLanes * sizeof(float);
  Sums sums(lanes);
  HalfBits all;
  alignas(kStepBytes) std::byte floats[kPartRows * kFloatRow];
  for (std::size_t row = 0; row < rows;) {
    const std::size_t part = rows - row < kPartRows ? rows - row : kPartRows;
    for (std::size_t i = 0; i < part; i += kRows) {
      const std::byte* const from = data + (row + i) * kStatisticsLanes * 2;
      __builtin_prefetch(from + kPrefetchBytes);
      each<kVectors>([&](auto k) { all.add(load<Shorts>(from + k * kVectorBytes)); });
      each<kRows>(
          [&](auto k) { Format::widen(from + k * kStatisticsLanes * 2, floats + (i + k) * kFloatRow); });
    }
    for (std::size_t i = 0; i < part; ++i) {
      each<Sums::kVectors>(
          [&](auto k) { sums.add(k, Isa::widen_floats(floats + i * kFloatRow + k * kVectorBytes / 2)); });
    }
    row += part;
  }

  const std::int16_t lowest = least<std::int16_t>(all.least), highest = greatest<std::int16_t>(all.most);
  const std::int16_t below_zero = greatest<std::int16_t>(all.most_turned);
  if (highest >= Format::kInfinity || below_zero >= Format::kInfinity) return false;
  sums.store(lanes);
  if (rows == 0) return true;
  run.min = Format::from_order(order_of_half(below_zero >= 0 ? below_zero ^ HalfBits::kSign : lowest));
  run.max = Format::from_order(order_of_half(highest >= 0 ? highest : lowest));
  run.negative = across<std::uint32_t, std::uint16_t>(all.negative);
  run.positive = across<std::uint32_t, std::uint16_t>(all.positive);
  return true;
}

/// The same for any elements. `order` ascends with the value, as `order_of_half`.
template <class Format>
void any_halves(const std::byte* data, std::size_t rows, FloatLanes& lanes, FloatRun& run) {
  constexpr std::size_t kVectors = kStepBytes / kVectorBytes;
  constexpr std::size_t kRows = kStepBytes / (2 * kStatisticsLanes);
  constexpr std::int16_t kInfinity = Format::kInfinity;
  const Shorts one = Shorts{} + std::int16_t{1};
  const Shorts infinity = Shorts{} + kInfinity;
  const Shorts lowest = Shorts{} + std::int16_t{-32768};

  Sums sums(lanes);
  Shorts min = ~lowest, max = lowest, negative{}, positive{}, nan{}, negative_inf{}, positive_inf{};
  for (std::size_t row = 0; row < rows; row += kRows) {
    const std::byte* const from = data + row * kStatisticsLanes * 2;
    __builtin_prefetch(from + kPrefetchBytes);
    alignas(kVectorBytes) std::byte finite[kStepBytes];
    each<kVectors>([&](auto i) {
      const Shorts bits = load<Shorts>(from + i * kVectorBytes);
      Shorts order = bits ^ ((bits >> 15) & ~lowest);
      const Shorts magnitude = bits & ~lowest;
      const Shorts is_nan = magnitude > infinity;
      const Shorts is_infinite = magnitude == infinity;
      nan -= is_nan;
      negative_inf -= is_infinite & (bits < 0);
      positive_inf -= is_infinite & (bits > 0);
      const Shorts kept = bits & (magnitude < infinity);
      __builtin_memcpy(finite + i * kVectorBytes, &kept, sizeof kept);
      const Shorts low = (order & ~is_nan) | (~lowest & is_nan);
      min = Isa::smaller(low, min);
      order = order & ~is_nan;
      const Shorts high = order | (lowest & is_nan);
      max = Isa::larger(high, max);
      negative -= order < -one;
      positive -= order > 0;
    });
    alignas(kVectorBytes) std::byte floats[2 * kStepBytes];
    each<kRows>([&](auto i) {
      Format::widen(finite + i * kStatisticsLanes * 2, floats);
      each<Sums::kVectors>([&](auto k) { sums.add(k, Isa::widen_floats(floats + k * kVectorBytes / 2)); });
    });
  }

  const std::int16_t lowest_order = least<std::int16_t>(min), highest_order = greatest<std::int16_t>(max);
  sums.store(lanes);
  if (lowest_order <= highest_order) {
    run.min = Format::from_order(lowest_order);
    run.max = Format::from_order(highest_order);
  }
  run.negative = across<std::uint32_t, std::uint16_t>(negative);
  run.positive = across<std::uint32_t, std::uint16_t>(positive);
  run.nan = across<std::uint32_t, std::uint16_t>(nan);
  run.negative_inf = across<std::uint32_t, std::uint16_t>(negative_inf);
  run.positive_inf = across<std::uint32_t, std::uint16_t>(positive_inf);
}

template <class Format>
std::size_t halves(const std::byte* data, std::size_t elements, FloatLanes& lanes, FloatRun& run) {
  const std::size_t taken = elements / (kStepBytes / 2) * (kStepBytes / 2);
  const std::size_t rows = taken / kStatisticsLanes;
  if (!finite_halves<Format>(data, rows, lanes, run)) any_halves<Format>(data, rows, lanes, run);
  return taken;
}

/// A half's number, by way of float64's bits.
template <int kFractionBits>
inline double half_from_order(std::int16_t order) {
  constexpr int kBias = (1 << (14 - kFractionBits)) - 1;
  const std::uint64_t size = static_cast<std::uint64_t>(order < 0 ? ~order : order);
  const std::uint64_t exponent = size >> kFractionBits;
  double value;
  if (exponent == 0) {
    value = static_cast<double>(static_cast<int>(size));
    const std::uint64_t unit = std::uint64_t{1024 - kBias - kFractionBits} << 52;
    double scale;
    __builtin_memcpy(&scale, &unit, sizeof scale);
    value *= scale;
  } else {
    const std::uint64_t top = (std::uint64_t{1} << (15 - kFractionBits)) - 1;
    const std::uint64_t bits =
        (size << (52 - kFractionBits)) +
        (std::uint64_t{exponent == top ? 2047 - top : 1023 - std::uint64_t{kBias}} << 52);
    __builtin_memcpy(&value, &bits, sizeof value);
  }
  return order < 0 ? -value : value;
}

template <class Set>
struct Float16 {
  static constexpr std::int16_t kInfinity = 0x7c00;
  static void widen(const std::byte* from, std::byte* to) { Set::widen_float16(from, to); }
  static double from_order(std::int16_t order) { return half_from_order<10>(order); }
};

template <class Set>
struct Bfloat16 {
  static constexpr std::int16_t kInfinity = 0x7f80;
  static void widen(const std::byte* from, std::byte* to) { Set::widen_bfloat16(from, to); }
  static double from_order(std::int16_t order) { return half_from_order<7>(order); }
};

/// float32. A NaN or an infinity shows in the squares, which cannot overflow otherwise.
template <bool kAny>
inline bool floats(const std::byte* data, std::size_t rows, FloatLanes& lanes, FloatRun& run) {
  constexpr std::size_t kVectors = kStatisticsLanes * sizeof(float) / kVectorBytes;
  const Ints exponent = Ints{} + 0x7f800000;
  const Floats infinity = reinterpret_cast<Floats>(exponent);
  Sums sums(lanes);
  Floats min = infinity, max = -infinity;
  Ints negative{}, positive{}, nan{}, negative_inf{}, positive_inf{};
  for (std::size_t row = 0; row < rows; ++row) {
    const std::byte* const from = data + row * kStatisticsLanes * sizeof(float);
    __builtin_prefetch(from + kPrefetchBytes);
    alignas(kVectorBytes) std::byte finite[kStepBytes];
    each<kVectors>([&](auto i) {
      const Floats x = load<Floats>(from + i * kVectorBytes);
      negative -= x < 0;
      positive -= x > 0;
      min = Isa::smaller(x, min);
      max = Isa::larger(x, max);
      if constexpr (kAny) {
        const Ints bits = reinterpret_cast<Ints>(x);
        nan -= x != x;
        negative_inf -= x == -infinity;
        positive_inf -= x == infinity;
        const Ints kept = bits & ((bits & exponent) != exponent);
        __builtin_memcpy(finite + i * kVectorBytes, &kept, sizeof kept);
      }
    });
    each<Sums::kVectors>(
        [&](auto i) { sums.add(i, Isa::widen_floats((kAny ? finite : from) + i * kVectorBytes / 2)); });
  }

  if constexpr (!kAny) {
    Longs all{};
    for (const Doubles& squares : sums.squares) {
      const Longs magnitude = reinterpret_cast<Longs>(squares) & std::numeric_limits<std::int64_t>::max();
      all |= magnitude >= (Longs{} + (std::int64_t{0x7ff} << 52));
    }
    if (across<std::int64_t, std::int64_t>(all) != 0) return false;
  }
  sums.store(lanes);
  run.min = static_cast<double>(least<float>(min));
  run.max = static_cast<double>(greatest<float>(max));
  run.negative = across<std::uint32_t, std::uint32_t>(negative);
  run.positive = across<std::uint32_t, std::uint32_t>(positive);
  run.nan = across<std::uint32_t, std::uint32_t>(nan);
  run.negative_inf = across<std::uint32_t, std::uint32_t>(negative_inf);
  run.positive_inf = across<std::uint32_t, std::uint32_t>(positive_inf);
  return true;
}

std::size_t float32(const std::byte* data, std::size_t elements, FloatLanes& lanes, FloatRun& run) {
  const std::size_t rows = elements / kStatisticsLanes;
  if (!floats<false>(data, rows, lanes, run)) floats<true>(data, rows, lanes, run);
  return rows * kStatisticsLanes;
}

/// int8 and uint8. Unsigned numbers are less 128 up to the end.
template <bool kSigned>
std::size_t bytes(const std::byte* data, std::size_t elements, IntegerRun& run) {
  constexpr std::size_t kVectors = kStepBytes / kVectorBytes;
  constexpr std::size_t kMostVectors = 255 / kVectors * kVectors;  // until a byte that counts is full
  constexpr std::int64_t kOffset = kSigned ? 0 : 128;
  const std::size_t vectors = elements / kStepBytes * kVectors;
  const Chars offset = Chars{} + static_cast<signed char>(-128);
  Chars min = ~offset, max = offset;
  Longs sum{};
  Ints squares{};
  std::uint32_t below = 0, above = 0;
  for (std::size_t done = 0; done < vectors;) {
    const std::size_t end = vectors - done < kMostVectors ? vectors : done + kMostVectors;
    CharCounts negative{}, positive{};
    for (; done < end; done += kVectors) {
      const std::byte* const from = data + done * kVectorBytes;
      __builtin_prefetch(from + kPrefetchBytes);
      each<kVectors>([&](auto i) {
        const Chars bits = load<Chars>(from + i * kVectorBytes);
        const Chars x = kSigned ? bits : bits ^ offset;
        min = Isa::smaller(x, min);
        max = Isa::larger(x, max);
        if constexpr (kSigned) negative -= reinterpret_cast<CharCounts>(x < 0);
        positive -= reinterpret_cast<CharCounts>(kSigned ? x > 0 : bits != 0);
        sum += Isa::sum_bytes(x ^ offset);
        squares += Isa::square_bytes(x);
      });
    }
    below += across<std::uint32_t, std::uint8_t>(negative);
    above += across<std::uint32_t, std::uint8_t>(positive);
  }
  const std::int64_t count = static_cast<std::int64_t>(vectors * kVectorBytes);
  const std::int64_t shifted = across<std::int64_t, std::int64_t>(sum) - 128 * count;
  run.negative += below;
  run.positive += above;
  if (count == 0) return 0;
  run.min = least<signed char>(min) + kOffset;
  run.max = greatest<signed char>(max) + kOffset;
  run.sum = shifted + kOffset * count;
  run.squares_low = static_cast<std::uint64_t>(across<std::int64_t, std::uint32_t>(squares) +
                                               2 * kOffset * shifted + kOffset * kOffset * count);
  return static_cast<std::size_t>(count);
}

/// Bytes of which those that are not zero count as 1.
std::size_t booleans(const std::byte* data, std::size_t elements, IntegerRun& run) {
  constexpr std::size_t kVectors = kStepBytes / kVectorBytes;
  constexpr std::size_t kMostVectors = 255 * kVectors;  // until a byte that counts is full
  const std::size_t vectors = elements / kStepBytes * kVectors;
  if (vectors == 0) return 0;
  std::uint32_t ones = 0;
  for (std::size_t done = 0; done < vectors;) {
    const std::size_t end = vectors - done < kMostVectors ? vectors : done + kMostVectors;
    CharCounts counts[kVectors]{};
    for (; done < end; done += kVectors) {
      const std::byte* const from = data + done * kVectorBytes;
      __builtin_prefetch(from + kPrefetchBytes);
      each<kVectors>([&](auto i) {
        counts[i] -= reinterpret_cast<CharCounts>(load<Chars>(from + i * kVectorBytes) != 0);
      });
    }
    for (const CharCounts& count : counts) ones += across<std::uint32_t, std::uint8_t>(count);
  }
  const std::size_t count = vectors * kVectorBytes;
  run.min = ones == count;
  run.max = ones != 0;
  run.sum = ones;
  run.squares_low = ones;
  run.positive = ones;
  return count;
}

/// int16 and uint16. Unsigned numbers are less 2^15 up to the end.
template <bool kSigned>
std::size_t shorts(const std::byte* data, std::size_t elements, IntegerRun& run) {
  constexpr std::size_t kVectors = kStepBytes / kVectorBytes;
  constexpr std::int64_t kOffset = kSigned ? 0 : 32768;
  const std::size_t vectors = elements * 2 / kStepBytes * kVectors;
  if (vectors == 0) return 0;
  const Shorts one = Shorts{} + std::int16_t{1};
  const Shorts lowest = Shorts{} + std::int16_t{-32768};
  const ULongs low_half = ULongs{} + 0xffffffffu;
  Shorts min = ~lowest, max = lowest, negative{}, positive{};
  Ints sum{};
  ULongs squares{};
  for (std::size_t done = 0; done < vectors; done += kVectors) {
    const std::byte* const from = data + done * kVectorBytes;
    __builtin_prefetch(from + kPrefetchBytes);
    each<kVectors>([&](auto i) {
      const Shorts bits = load<Shorts>(from + i * kVectorBytes);
      const Shorts x = kSigned ? bits : bits ^ lowest;
      min = Isa::smaller(x, min);
      max = Isa::larger(x, max);
      if constexpr (kSigned) negative -= x < 0;
      positive -= kSigned ? x > 0 : bits != 0;
      sum += Isa::multiply_pairs(x, one);
      // Two squares fill 32 bits, the highest too.
      const ULongs pairs = reinterpret_cast<ULongs>(Isa::multiply_pairs(x, x));
      squares += (pairs & low_half) + (pairs >> 32);
    });
  }
  const std::int64_t count = static_cast<std::int64_t>(vectors * kVectorBytes / 2);
  const std::int64_t shifted = across<std::int64_t, std::int32_t>(sum);
  run.min = least<std::int16_t>(min) + kOffset;
  run.max = greatest<std::int16_t>(max) + kOffset;
  run.negative = across<std::uint32_t, std::uint16_t>(negative);
  run.positive = across<std::uint32_t, std::uint16_t>(positive);
  run.sum = shifted + kOffset * count;
  run.squares_low = across<std::uint64_t, std::uint64_t>(squares) +
                    static_cast<std::uint64_t>(2 * kOffset * shifted + kOffset * kOffset * count);
  return static_cast<std::size_t>(count);
}

/// int32 and uint32. Sums and squares are of the elements as unsigned numbers, for the sum with 2^31 added
/// where they have a sign.
template <bool kSigned>
std::size_t words(const std::byte* data, std::size_t elements, IntegerRun& run) {
  constexpr std::size_t kVectors = kStepBytes / kVectorBytes;
  constexpr std::int64_t kOffset = std::int64_t{1} << 31;
  const std::size_t vectors = elements * 4 / kStepBytes * kVectors;
  if (vectors == 0) return 0;
  const Ints lowest = Ints{} + std::numeric_limits<std::int32_t>::min();
  const ULongs low_half = ULongs{} + 0xffffffffu;
  Ints min = ~lowest, max = lowest, negative{}, positive{};
  ULongs sum{}, squares_low{}, squares_high{};
  for (std::size_t done = 0; done < vectors; done += kVectors) {
    const std::byte* const from = data + done * kVectorBytes;
    __builtin_prefetch(from + kPrefetchBytes);
    each<kVectors>([&](auto i) {
      const Ints bits = load<Ints>(from + i * kVectorBytes);
      const Ints flipped = bits ^ lowest;
      const Ints x = kSigned ? bits : flipped;  // in the order of signed numbers
      const Ints is_less = x < min;
      const Ints is_more = x > max;
      min = (x & is_less) | (min & ~is_less);
      max = (x & is_more) | (max & ~is_more);
      const Ints sign = bits >> 31;
      if constexpr (kSigned) negative -= sign;
      positive -= kSigned ? bits > 0 : bits != 0;
      const ULongs natural = reinterpret_cast<ULongs>(kSigned ? flipped : bits);
      sum += (natural & low_half) + (natural >> 32);
      const ULongs size = reinterpret_cast<ULongs>(kSigned ? reinterpret_cast<UnsignedInts>(bits ^ sign) -
                                                                 reinterpret_cast<UnsignedInts>(sign)
                                                           : reinterpret_cast<UnsignedInts>(bits));
      const ULongs even = Isa::multiply_low(size, size);
      const ULongs odd = Isa::multiply_low(size >> 32, size >> 32);
      squares_low += (even & low_half) + (odd & low_half);
      squares_high += (even >> 32) + (odd >> 32);
    });
  }
  const std::int64_t count = static_cast<std::int64_t>(vectors * kVectorBytes / 4);
  run.min = least<std::int32_t>(min) + (kSigned ? 0 : kOffset);
  run.max = greatest<std::int32_t>(max) + (kSigned ? 0 : kOffset);
  run.negative = across<std::uint32_t, std::uint32_t>(negative);
  run.positive = across<std::uint32_t, std::uint32_t>(positive);
  run.sum = across<std::int64_t, std::int64_t>(sum) - (kSigned ? kOffset * count : 0);
  run.squares_low = across<std::uint64_t, std::uint64_t>(squares_low);
  run.squares_high = across<std::uint64_t, std::uint64_t>(squares_high);
  return static_cast<std::size_t>(count);
}

/// int64 and uint64. A number goes to double by way of its halves, each on top of a power of two that makes
/// room for it in the fraction; only the last addition rounds.
template <bool kSigned>
std::size_t longs(const std::byte* data, std::size_t elements, FloatLanes& lanes, WideRun& run) {
  constexpr std::size_t kVectors = kStepBytes / kVectorBytes;
  constexpr std::size_t kSteps = kStatisticsLanes * sizeof(std::int64_t) / kStepBytes;
  const std::size_t rows = elements / kStatisticsLanes;
  if (rows == 0) return 0;
  const Longs lowest = Longs{} + std::numeric_limits<std::int64_t>::min();
  const ULongs low_half = ULongs{} + 0xffffffffu;
  const ULongs low_power = reinterpret_cast<ULongs>(Doubles{} + 0x1p52);
  const ULongs high_power = reinterpret_cast<ULongs>(Doubles{} + (kSigned ? 0x1p84 + 0x1p63 : 0x1p84));
  const Doubles powers = Doubles{} + (kSigned ? 0x1p84 + 0x1p63 + 0x1p52 : 0x1p84 + 0x1p52);
  Sums sums(lanes);
  Longs min = ~lowest, max = lowest, positive{};
  ULongs negative{}, sum_low{}, sum_high{};
  for (std::size_t row = 0; row < rows; ++row) {
    const std::byte* const at_row = data + row * kStatisticsLanes * sizeof(std::int64_t);
    each<kSteps>([&](auto step) { __builtin_prefetch(at_row + step * kStepBytes + kPrefetchBytes); });
    each<kSteps * kVectors>([&](auto i) {
      const ULongs bits = load<ULongs>(at_row + i * kVectorBytes);
      const Longs x = reinterpret_cast<Longs>(kSigned ? bits : bits ^ reinterpret_cast<ULongs>(lowest));
      min = x < min ? x : min;
      max = x > max ? x : max;
      const ULongs low = bits & low_half;
      const ULongs high = bits >> 32;
      sum_low += low;
      sum_high += high;
      if constexpr (kSigned) negative += bits >> 63;
      positive -= kSigned ? x > 0 : x != lowest;
      const Doubles value = (reinterpret_cast<Doubles>(high ^ high_power) - powers) +
                            reinterpret_cast<Doubles>(low | low_power);
      sums.squares[i] += Isa::rounded(value * value);
    });
  }
  sums.store(lanes);
  run.min = least<std::int64_t>(min);
  run.max = greatest<std::int64_t>(max);
  run.negative = across<std::uint32_t, std::uint64_t>(negative);
  run.positive = across<std::uint32_t, std::uint64_t>(positive);
  run.sum_low = across<std::uint64_t, std::uint64_t>(sum_low);
  run.sum_high = across<std::int64_t, std::uint64_t>(sum_high) - (std::int64_t{run.negative} << 32);
  return rows * kStatisticsLanes;
}

/// float64, where all numbers are zero or have squares that a double holds well; else none.
std::size_t float64(const std::byte* data, std::size_t elements, FloatLanes& lanes, FloatRun& run) {
  constexpr std::size_t kVectors = kStepBytes / kVectorBytes;
  constexpr std::size_t kSteps = kStatisticsLanes * sizeof(double) / kStepBytes;
  const std::size_t rows = elements / kStatisticsLanes;
  if (rows == 0) return 0;
  const Doubles infinity = Doubles{} + std::numeric_limits<double>::infinity();
  const Longs magnitude = Longs{} + std::numeric_limits<std::int64_t>::max();
  const Doubles large = Doubles{} + kLargeDouble;
  const Doubles small = Doubles{} + kSmallDouble;
  Sums sums(lanes);
  Doubles min = infinity, max = -infinity;
  Longs negative{}, positive{}, fit = ~Longs{};
  for (std::size_t row = 0; row < rows; ++row) {
    const std::byte* const at_row = data + row * kStatisticsLanes * sizeof(double);
    each<kSteps>([&](auto step) { __builtin_prefetch(at_row + step * kStepBytes + kPrefetchBytes); });
    each<kSteps * kVectors>([&](auto i) {
      const Doubles x = load<Doubles>(at_row + i * kVectorBytes);
      const Doubles size = reinterpret_cast<Doubles>(reinterpret_cast<Longs>(x) & magnitude);
      fit &= (size <= large) & ((size >= small) | (size == Doubles{}));
      min = Isa::smaller(x, min);
      max = Isa::larger(x, max);
      negative -= x < 0;
      positive -= x > 0;
      sums.sums[i] += x;
      sums.squares[i] += Isa::rounded(x * x);
    });
  }
  if (across<std::int64_t, std::int64_t>(fit) !=
      -static_cast<std::int64_t>(sizeof fit / sizeof(std::int64_t)))
    return 0;
  sums.store(lanes);
  run.min = least<double>(min);
  run.max = greatest<double>(max);
  run.negative = across<std::uint32_t, std::uint64_t>(negative);
  run.positive = across<std::uint32_t, std::uint64_t>(positive);
  return rows * kStatisticsLanes;
}

template <class Set>
constexpr FloatKernel float16_kernel() {
  if constexpr (requires { Set::kFloat16; }) {
    return Set::kFloat16;
  } else {
    return halves<Float16<Set>>;
  }
}

template <class Set>
constexpr FloatKernel bfloat16_kernel() {
  if constexpr (requires { Set::kBfloat16; }) {
    return Set::kBfloat16;
  } else {
    return halves<Bfloat16<Set>>;
  }
}

inline constexpr StatisticsKernels kKernels{
    .float32 = float32,
    .float16 = float16_kernel<Isa>(),
    .bfloat16 = bfloat16_kernel<Isa>(),
    .float64 = float64,
    .int8 = bytes<true>,
    .uint8 = bytes<false>,
    .int16 = shorts<true>,
    .uint16 = shorts<false>,
    .int32 = words<true>,
    .uint32 = words<false>,
    .int64 = longs<true>,
    .uint64 = longs<false>,
    .boolean = booleans,
};

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
