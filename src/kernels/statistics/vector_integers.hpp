#pragma once
#include "src/kernels/statistics/vector_common.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

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
  Longs negatives{}, positives{}, lowests{};
  for (std::size_t done = 0; done < vectors;) {
    const std::size_t end = vectors - done < kMostVectors ? vectors : done + kMostVectors;
    CharCounts negative{}, positive{}, lowest{};
    for (; done < end; done += kVectors) {
      const std::byte* const from = data + done * kVectorBytes;
      __builtin_prefetch(from + kPrefetchBytes);
      each<kVectors>([&](auto i) {
        const Chars bits = load<Chars>(from + i * kVectorBytes);
        const Chars x = kSigned ? bits : bits ^ offset;
        min = Isa::smaller(x, min);
        max = Isa::larger(x, max);
        if constexpr (kSigned) negative -= reinterpret_cast<CharCounts>(x < 0);
        if constexpr (kSigned && Isa::kSubtractsLowestSquare)
          lowest -= reinterpret_cast<CharCounts>(x == offset);
        positive -= reinterpret_cast<CharCounts>(kSigned ? x > 0 : bits != 0);
        sum += Isa::sum_bytes(x ^ offset);
        squares += Isa::square_bytes(x);
      });
    }
    negatives += Isa::sum_bytes(reinterpret_cast<Chars>(negative));
    positives += Isa::sum_bytes(reinterpret_cast<Chars>(positive));
    lowests += Isa::sum_bytes(reinterpret_cast<Chars>(lowest));
  }
  const std::int64_t count = static_cast<std::int64_t>(vectors * kVectorBytes);
  const std::int64_t shifted = across<std::int64_t, std::int64_t>(sum) - 128 * count;
  run.negative = across<std::uint32_t, std::uint64_t>(negatives);
  run.positive = across<std::uint32_t, std::uint64_t>(positives);
  if (count == 0) return 0;
  run.min = least<signed char>(min) + kOffset;
  run.max = greatest<signed char>(max) + kOffset;
  run.sum = shifted + kOffset * count;
  std::int64_t found = across<std::int64_t, std::int32_t>(squares);
  if constexpr (Isa::kSubtractsLowestSquare)
    found += 2 * 128 * 128 * (kSigned ? across<std::int64_t, std::int64_t>(lowests) : count - run.positive);
  run.squares_low = static_cast<std::uint64_t>(found + 2 * kOffset * shifted + kOffset * kOffset * count);
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

/// int64 and uint64, where all numbers are from -2^49 or 0 up to below 2^49; else none, with nothing changed.
/// On top of 2^52 + 2^51 such a number is a double's fraction, and ascends as that double does.
template <bool kSigned>
std::size_t narrow_longs(const std::byte* data, std::size_t elements, FloatLanes& lanes, WideRun& run) {
  constexpr double kMagic = 0x1.8p52;
  const std::size_t rows = elements / kStatisticsLanes;
  const Doubles magic = Doubles{} + kMagic;
  const Doubles lowest = kSigned ? magic - 0x1p49 : magic;
  const auto shifted = [&](const std::byte* from) {
    return reinterpret_cast<Doubles>(load<ULongs>(from) + reinterpret_cast<ULongs>(magic));
  };
  Sums sums(lanes);
  Doubles min = shifted(data), max = min;
  Longs negative{}, positive{};
  ULongs sum{};
  for (std::size_t row = 0; row < rows; row += kPartRows) {
    const std::size_t part = rows - row < kPartRows ? rows - row : kPartRows;
    each_of_part(data + row * kRowBytes, part, sums, [&](Strand& strand, auto i, const std::byte* from) {
      const Doubles on_top = shifted(from);
      const Doubles value = on_top - magic;
      min = Isa::smaller(on_top, min);
      max = Isa::larger(on_top, max);
      if constexpr (kSigned) negative -= value < 0;
      positive -= value > 0;
      sum += load<ULongs>(from);
      strand.squares[i] += Isa::rounded(value * value);
    });
    // A number that looks like a NaN makes its squares one.
    Longs fit = (min >= lowest) & (max < magic + 0x1p49);
    for (const Doubles& squares : sums.squares) fit &= squares == squares;
    if (across<std::int64_t, std::int64_t>(fit) != -static_cast<std::int64_t>(kVectorBytes / 8)) return 0;
  }
  constexpr std::int64_t kOrderOffset = kSigned ? 0 : std::numeric_limits<std::int64_t>::min();
  const std::int64_t total = across<std::int64_t, std::int64_t>(reinterpret_cast<Longs>(sum));
  sums.store(lanes);
  run.min = static_cast<std::int64_t>(least<double>(min) - kMagic) + kOrderOffset;
  run.max = static_cast<std::int64_t>(greatest<double>(max) - kMagic) + kOrderOffset;
  run.negative = across<std::uint32_t, std::uint64_t>(negative);
  run.positive = across<std::uint32_t, std::uint64_t>(positive);
  run.sum_low = static_cast<std::uint32_t>(total);
  run.sum_high = total >> 32;
  return rows * kStatisticsLanes;
}

/// int64 and uint64. A number goes to double by way of its halves, each on top of a power of two that makes
/// room for it in the fraction; only the last addition rounds.
template <bool kSigned>
std::size_t longs(const std::byte* data, std::size_t elements, FloatLanes& lanes, WideRun& run) {
  const std::size_t rows = elements / kStatisticsLanes;
  if (rows == 0) return 0;
  if (const std::size_t taken = narrow_longs<kSigned>(data, elements, lanes, run)) return taken;
  const Longs lowest = Longs{} + std::numeric_limits<std::int64_t>::min();
  const ULongs low_half = ULongs{} + 0xffffffffu;
  const ULongs low_power = reinterpret_cast<ULongs>(Doubles{} + 0x1p52);
  const ULongs high_power = reinterpret_cast<ULongs>(Doubles{} + (kSigned ? 0x1p84 + 0x1p63 : 0x1p84));
  const Doubles powers = Doubles{} + (kSigned ? 0x1p84 + 0x1p63 + 0x1p52 : 0x1p84 + 0x1p52);
  Sums sums(lanes);
  Longs min = ~lowest, max = lowest, positive{};
  ULongs negative{}, sum_low{}, sum_high{};
  for (std::size_t row = 0; row < rows; row += kPartRows) {
    const std::size_t part = rows - row < kPartRows ? rows - row : kPartRows;
    each_of_part(data + row * kRowBytes, part, sums, [&](Strand& strand, auto i, const std::byte* from) {
      const ULongs bits = load<ULongs>(from);
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
      strand.squares[i] += Isa::rounded(value * value);
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

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
