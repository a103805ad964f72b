#pragma once
#include "src/kernels/statistics/vector_common.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

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

/// float64, where all numbers are zero or have squares that a double holds well; else none. Each number is
/// counted once, as negative, zero or positive; a NaN or one that is too small is missing there.
std::size_t float64(const std::byte* data, std::size_t elements, FloatLanes& lanes, FloatRun& run) {
  const std::size_t rows = elements / kStatisticsLanes;
  if (rows == 0) return 0;
  const Doubles infinity = Doubles{} + std::numeric_limits<double>::infinity();
  const Doubles small = Doubles{} + kSmallDouble;
  Sums sums(lanes);
  Doubles min = infinity, max = -infinity;
  Longs negative{}, zero{}, positive{};
  for (std::size_t row = 0; row < rows; row += kPartRows) {
    const std::size_t part = rows - row < kPartRows ? rows - row : kPartRows;
    each_of_part(data + row * kRowBytes, part, sums, [&](Strand& strand, auto i, const std::byte* from) {
      const Doubles x = load<Doubles>(from);
      min = Isa::smaller(x, min);
      max = Isa::larger(x, max);
      negative -= x <= -small;
      zero -= x == Doubles{};
      positive -= x >= small;
      strand.sums[i] += x;
      strand.squares[i] += Isa::rounded(x * x);
    });
  }
  run.min = least<double>(min);
  run.max = greatest<double>(max);
  run.negative = across<std::uint32_t, std::uint64_t>(negative);
  run.positive = across<std::uint32_t, std::uint64_t>(positive);
  const std::size_t counted = run.negative + across<std::uint32_t, std::uint64_t>(zero) + run.positive;
  if (counted != rows * kStatisticsLanes || run.min < -kLargeDouble || run.max > kLargeDouble) {
    run = {};
    return 0;
  }
  sums.store(lanes);
  return rows * kStatisticsLanes;
}

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
