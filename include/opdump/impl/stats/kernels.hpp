#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include "opdump/base/status.hpp"
#include "opdump/impl/stats/numbers.hpp"

/// The inner loops of `Statistics` that a host may replace by vectorised ones. A kernel gives the same bits
/// as the portable loop: sums of integers are exact, and those of floating numbers follow the order below.
///
/// Element i of a tensor is added to lane i mod 16; float16 and bfloat16 are added as numbers.hpp says. After every
/// 16384th element the lanes are added up in pairs, (0+8)+(4+12)+..., and the result goes to a compensated sum.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::size_t kStatisticsLanes = 16;
inline constexpr std::size_t kStatisticsBlock = 16384;

/// Squares of larger numbers overflow, and squares of smaller ones vanish: they do not go to the lanes.
inline constexpr double kLargeDouble = 0x1p480;
inline constexpr double kSmallDouble = 0x1p-480;

struct FloatLanes {
  double sums[kStatisticsLanes] = {};
  double squares[kStatisticsLanes] = {};
};

/// What is gathered from a run of floating elements besides its sums. Infinities count as negative or
/// positive, and in min and max; NaNs count in neither. Zeros have no sign.
struct FloatRun {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  std::uint32_t nan = 0;
  std::uint32_t negative_inf = 0;
  std::uint32_t positive_inf = 0;
  std::uint32_t negative = 0;
  std::uint32_t positive = 0;
};

struct IntegerRun {
  std::int64_t min = std::numeric_limits<std::int64_t>::max();
  std::int64_t max = std::numeric_limits<std::int64_t>::min();
  std::int64_t sum = 0;
  std::uint64_t squares_low = 0;   ///< sum of the squares' low 32 bits
  std::uint64_t squares_high = 0;  ///< sum of the squares' bits from 32 on
  std::uint32_t negative = 0;
  std::uint32_t positive = 0;
};

/// The same for 64-bit integers; their squares go to the lanes as doubles.
struct WideRun {
  /// int64 as it is; uint64 minus 2^63.
  std::int64_t min = std::numeric_limits<std::int64_t>::max();
  std::int64_t max = std::numeric_limits<std::int64_t>::min();
  std::uint64_t sum_low = 0;  ///< of the elements' low 32 bits
  std::int64_t sum_high = 0;  ///< of the elements' bits from 32 on, with their sign
  std::uint32_t negative = 0;
  std::uint32_t positive = 0;
};

/// Takes in elements from the front of the `elements` at `data`: at most kStatisticsBlock, at any address;
/// the first one belongs to lane 0. Returns how many it took, a multiple of 16; the portable loop takes the
/// rest. If it returns 0, nothing has changed.
using FloatKernel = std::size_t (*)(const std::byte* data, std::size_t elements, FloatLanes& lanes,
                                    FloatRun& run);

/// The same for float16 and bfloat16; the first element begins a group. Returns a multiple of 64.
using HalfKernel = std::size_t (*)(const std::byte* data, std::size_t elements, HalfLanes& lanes,
                                   FloatRun& run);

/// The same for integers, which have no lanes. May return any number of elements.
using IntegerKernel = std::size_t (*)(const std::byte* data, std::size_t elements, IntegerRun& run);

/// The same for 64-bit integers. Returns a multiple of 16.
using WideKernel = std::size_t (*)(const std::byte* data, std::size_t elements, FloatLanes& lanes,
                                   WideRun& run);

/// The kernels of one instruction set; null: there is none for that dtype.
struct StatisticsKernels {
  FloatKernel float32 = nullptr;
  HalfKernel float16 = nullptr;
  HalfKernel bfloat16 = nullptr;
  FloatKernel float64 = nullptr;
  IntegerKernel int8 = nullptr;
  IntegerKernel uint8 = nullptr;
  IntegerKernel int16 = nullptr;
  IntegerKernel uint16 = nullptr;
  IntegerKernel int32 = nullptr;
  IntegerKernel uint32 = nullptr;
  WideKernel int64 = nullptr;
  WideKernel uint64 = nullptr;
  IntegerKernel boolean = nullptr;
};

/// Instruction sets that the library has kernels for.
enum class StatisticsLevel : std::uint8_t { portable, sse2, avx2, neon };

/// The kernels for `level`; null when the processor or the build lacks it. `portable` gives an empty table.
/// Constant memory. In the library, not in this header.
const StatisticsKernels* statistics_kernels(StatisticsLevel level);

/// The fastest kernels for the processor that this runs on. Asks the processor at every call, which takes
/// some nanoseconds.
const StatisticsKernels& statistics_kernels();

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
