#pragma once
#include "src/kernels/statistics/vector_common.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

inline constexpr std::size_t kGroupBytes = kHalfGroup * 2;
inline constexpr std::size_t kGroupVectors = kGroupBytes / kVectorBytes;
/// Groups until what is counted in bytes goes to wider numbers.
inline constexpr std::size_t kPartGroups = 32;

/// A vector for each 8 or, of 16 bytes, each 4 of the places j.
inline constexpr std::size_t kParts = 32 / kVectorBytes;

/// Sums over the half of a group that lies in a cache line. Line by line there are registers for all.
struct LineSums {
  Floats sums[kParts];
  Floats squares[kParts];

  template <class Format, std::size_t kLine>
  [[gnu::always_inline]] void take(const std::byte* group) {
    each<kParts>([&](auto part) {
      const auto vector = [&](auto k) {
        return Format::template floats<(4 * kLine + k) * kParts + part>(group);
      };
      const Floats a = vector(number<0>), b = vector(number<1>);
      const Floats c = vector(number<2>), d = vector(number<3>);
      sums[part] = (a + b) + (c + d);
      squares[part] = (a * a + b * b) + (c * c + d * d);
    });
  }
};

/// The columns of a group, in registers while a kernel runs.
struct Columns {
  static constexpr std::size_t kVectors = kHalfColumns * sizeof(double) / kVectorBytes;
  Doubles sums[kVectors];
  Doubles squares[kVectors];

  explicit Columns(const HalfLanes& lanes) {
    __builtin_memcpy(sums, lanes.sums, sizeof sums);
    __builtin_memcpy(squares, lanes.squares, sizeof squares);
  }

  void store(HalfLanes& lanes) const {
    __builtin_memcpy(lanes.sums, sums, sizeof sums);
    __builtin_memcpy(lanes.squares, squares, sizeof squares);
  }

  [[gnu::always_inline]] void add(const LineSums& first, const LineSums& second) {
    if constexpr (kParts == 1) {
      Isa::add_columns(sums, first.sums[0] + second.sums[0]);
      Isa::add_columns(squares, first.squares[0] + second.squares[0]);
    } else {
      Isa::add_columns(sums, (first.sums[0] + second.sums[0]) + (first.sums[1] + second.sums[1]));
      Isa::add_columns(squares,
                       (first.squares[0] + second.squares[0]) + (first.squares[1] + second.squares[1]));
    }
  }
};

/// -1 for the negative zero, and else ascends with the value. `bits` are a half's, with its sign.
inline std::int16_t order_of_half(int bits) {
  return static_cast<std::int16_t>(bits < 0 ? bits ^ 0x7fff : bits);
}

inline constexpr std::uint16_t kTurned = 0xfffe;

/// What is taken from the bits of halves.
template <class Format>
struct HalfBits {
  static constexpr std::int16_t kSign = std::numeric_limits<std::int16_t>::min();
  Shorts least = ~(Shorts{} + kSign);
  Shorts most = Shorts{} + kSign;
  UShorts most_unsigned{};  ///< with a sign: of the largest negative number
  UShorts most_turned{};    ///< of -2 times the bits: of the smallest magnitude but zero
  UShorts turn;             ///< kTurned, times
  CharCounts negative{};    ///< with negative zeros
  CharCounts positive{};

  void add(Shorts bits) {
    const UShorts natural = reinterpret_cast<UShorts>(bits);
    least = Isa::smaller(bits, least);
    most = Isa::larger(bits, most);
    most_unsigned = Isa::larger(natural, most_unsigned);
    if constexpr (Format::kSmall > 1)
      most_turned = Isa::larger(static_cast<UShorts>(natural * turn), most_turned);
  }

  void take(Shorts a, Shorts b) {
    add(a);
    add(b);
    const Chars signs = Isa::narrow(a, b);
    negative -= reinterpret_cast<CharCounts>(signs < 0);
    positive -= reinterpret_cast<CharCounts>(signs > 0);
  }
};

/// Those that were counted as negative. Apart, for within the kernel no register is left for the sum.
[[gnu::noinline]] inline std::uint32_t negative_zeros(const std::byte* data, std::size_t groups) {
  Shorts zeros{};
  for (std::size_t group = 0; group < groups; ++group) {
    const std::byte* const from = data + group * kGroupBytes;
    Shorts found{};
    each<kGroupVectors>([&](auto i) {
      found += load<Shorts>(from + i * kVectorBytes) == std::numeric_limits<std::int16_t>::min();
    });
    zeros -= found;
  }
  return across<std::uint32_t, std::uint16_t>(zeros);
}

/// float16 and bfloat16. False, with nothing changed, where not all groups can be added up in float32.
template <class Format>
bool moderate_halves(const std::byte* data, std::size_t groups, HalfLanes& lanes, FloatRun& run) {
  Columns columns(lanes);
  HalfBits<Format> all{.turn = Isa::unfolded(UShorts{} + kTurned)};
  Longs negative{}, positive{};
  std::uint32_t zeros = 0;
  for (std::size_t group = 0; group < groups;) {
    const std::size_t first = group;
    const std::size_t end = groups - group < kPartGroups ? groups : group + kPartGroups;
    const Shorts least_before = all.least;
    all.least = ~(Shorts{} + HalfBits<Format>::kSign);
    for (; group < end; ++group) {
      const std::byte* const from = data + group * kGroupBytes;
      LineSums lines[2];
      each<2>([&](auto line) {
        const std::byte* const at_line = from + line * kStepBytes;
        __builtin_prefetch(at_line + kPrefetchBytes);
        each<kParts>([&](auto k) {
          all.take(load<Shorts>(at_line + 2 * k * kVectorBytes),
                   load<Shorts>(at_line + (2 * k + 1) * kVectorBytes));
        });
        lines[line].template take<Format, line>(from);
      });
      columns.add(lines[0], lines[1]);
    }
    negative += Isa::sum_bytes(reinterpret_cast<Chars>(all.negative));
    positive += Isa::sum_bytes(reinterpret_cast<Chars>(all.positive));
    all.negative = all.positive = CharCounts{};
    const Longs zero_is_least = reinterpret_cast<Longs>(all.least == HalfBits<Format>::kSign);
    if (across<std::int64_t, std::int64_t>(zero_is_least) != 0)
      zeros += negative_zeros(data + first * kGroupBytes, end - first);
    all.least = Isa::smaller(all.least, least_before);
  }

  const std::int16_t lowest = least<std::int16_t>(all.least), highest = greatest<std::int16_t>(all.most);
  const std::uint16_t most_unsigned = greatest<std::uint16_t>(all.most_unsigned);
  const bool below_zero = lowest < 0;
  if (highest >= Format::kLarge || (below_zero && (most_unsigned & 0x7fff) >= Format::kLarge)) return false;
  constexpr auto kMostTurned = static_cast<std::uint16_t>(kTurned * Format::kSmall);
  if (greatest<std::uint16_t>(all.most_turned) > kMostTurned) return false;
  columns.store(lanes);
  run.min = Format::from_order(order_of_half(below_zero ? static_cast<std::int16_t>(most_unsigned) : lowest));
  run.max = Format::from_order(order_of_half(highest >= 0 ? highest : lowest));
  run.negative = across<std::uint32_t, std::uint64_t>(negative) - zeros;
  run.positive = across<std::uint32_t, std::uint64_t>(positive);
  return true;
}

/// The same for any elements. `order` ascends with the value, as `order_of_half`.
template <class Format>
void any_halves(const std::byte* data, std::size_t groups, HalfLanes& lanes, FloatRun& run) {
  const Shorts one = Shorts{} + std::int16_t{1};
  const Shorts infinity = Shorts{} + std::int16_t{Format::kInfinity};
  const Shorts lowest = Shorts{} + std::int16_t{-32768};
  const Shorts large = Shorts{} + std::int16_t{Format::kLarge};
  const Shorts small = Shorts{} + std::int16_t{Format::kSmall};

  Shorts min = ~lowest, max = lowest, negative{}, positive{}, nan{}, negative_inf{}, positive_inf{};
  for (std::size_t group = 0; group < groups; ++group) {
    const std::byte* const from = data + group * kGroupBytes;
    __builtin_prefetch(from + kPrefetchBytes);
    alignas(kVectorBytes) std::byte finite[kGroupBytes];
    Shorts immoderate{};
    each<kGroupVectors>([&](auto i) {
      const Shorts bits = load<Shorts>(from + i * kVectorBytes);
      Shorts order = bits ^ ((bits >> 15) & ~lowest);
      const Shorts magnitude = bits & ~lowest;
      const Shorts is_nan = magnitude > infinity;
      const Shorts is_infinite = magnitude == infinity;
      const Shorts is_finite = magnitude < infinity;
      nan -= is_nan;
      negative_inf -= is_infinite & (bits < 0);
      positive_inf -= is_infinite & (bits > 0);
      immoderate |= is_finite & ((magnitude >= large) | ((magnitude < small) & (magnitude > 0)));
      const Shorts kept = bits & is_finite;
      __builtin_memcpy(finite + i * kVectorBytes, &kept, sizeof kept);
      const Shorts low = (order & ~is_nan) | (~lowest & is_nan);
      min = Isa::smaller(low, min);
      order = order & ~is_nan;
      const Shorts high = order | (lowest & is_nan);
      max = Isa::larger(high, max);
      negative -= order < -one;
      positive -= order > 0;
    });
    if (across<std::int64_t, std::int64_t>(reinterpret_cast<Longs>(immoderate)) == 0) {
      Columns columns(lanes);
      LineSums lines[2];
      each<2>([&](auto line) { lines[line].template take<Format, line>(finite); });
      columns.add(lines[0], lines[1]);
      columns.store(lanes);
    } else {
      Floats x[2 * kGroupVectors];
      each<2 * kGroupVectors>([&](auto k) { x[k] = Format::template floats<k>(finite); });
      float in_place[kHalfGroup];
      __builtin_memcpy(in_place, x, sizeof in_place);
      add_half_group(lanes, false, [&in_place](std::size_t place) -> double { return in_place[place]; });
    }
  }

  const std::int16_t lowest_order = least<std::int16_t>(min), highest_order = greatest<std::int16_t>(max);
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
std::size_t halves(const std::byte* data, std::size_t elements, HalfLanes& lanes, FloatRun& run) {
  const std::size_t groups = elements / kHalfGroup;
  if (groups == 0) return 0;
  if (!moderate_halves<Format>(data, groups, lanes, run)) any_halves<Format>(data, groups, lanes, run);
  return groups * kHalfGroup;
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

struct Float16 {
  static constexpr std::int16_t kInfinity = 0x7c00;
  static constexpr std::int16_t kLarge = kLargeHalf<Float16Format>;
  static constexpr std::int16_t kSmall = kSmallHalf<Float16Format>;
  static double from_order(std::int16_t order) { return half_from_order<10>(order); }

  /// The k-th vector of the group at `from`, in their places.
  template <std::size_t k>
  static Floats floats(const std::byte* from) {
    return Isa::widen_float16(from + k * kVectorBytes / 2);
  }
};

struct Bfloat16 {
  static constexpr std::int16_t kInfinity = 0x7f80;
  static constexpr std::int16_t kLarge = kLargeHalf<Bfloat16Format>;
  static constexpr std::int16_t kSmall = kSmallHalf<Bfloat16Format>;
  static double from_order(std::int16_t order) { return half_from_order<7>(order); }

  template <std::size_t k>
  static Floats floats(const std::byte* from) {
    constexpr std::size_t kHalf = 32 / kVectorBytes;  // vectors of 16 halves
    constexpr std::size_t kVector = k / (2 * kHalf) * kHalf + k % kHalf;
    const UnsignedInts pairs = load<UnsignedInts>(from + kVector * kVectorBytes);
    return reinterpret_cast<Floats>(k / kHalf % 2 == 0 ? pairs << 16 : pairs & 0xffff0000u);
  }
};

inline constexpr HalfKernel kFloat16 = halves<Float16>;
inline constexpr HalfKernel kBfloat16 = halves<Bfloat16>;

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
