#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include "opdump/statistics_elements.hpp"

/// How float16 and bfloat16 are added up, a group of 64 at a time, from the tensor's beginning.
///
/// Of bfloat16 each 16 change places first: those at even places come before those at odd ones. NaNs,
/// infinities and what a last group lacks count as 0. The elements at the places j + 8 k, k = 0 to 7, are
/// added up in pairs, ((0+1)+(2+3))+((4+5)+(6+7)), for j = 0 to 7, and then those of j and j + 4 to a column;
/// so are their squares, which are exact. All this is done in float32, where each of an element's four
/// additions rounds by at most 2^-24. Where an element is too large (from 4096 on) or too small
/// (not zero, but below 2^-62) the group is added up in float64 instead: large elements that cancel out do
/// not take the small ones with them, and no square overflows, vanishes or is subnormal. The columns go to
/// four sums in float64.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::size_t kHalfGroup = 64;
inline constexpr std::size_t kHalfColumns = 4;

struct HalfLanes {
  double sums[kHalfColumns] = {};
  double squares[kHalfColumns] = {};
};

/// The bounds, as magnitudes of `Format`.
template <class Format>
inline constexpr std::uint16_t kLargeHalf = (Format::kBias + 12) << Format::kFractionBits;
template <class Format>
inline constexpr std::uint16_t kSmallHalf = Format::kBias > 62 ? (Format::kBias - 62) << Format::kFractionBits
                                                               : 1;

/// Whether elements of this magnitude, of a group that is added up in float32, may be any.
template <class Format>
constexpr bool is_moderate_half(std::uint32_t magnitude) {
  return magnitude < kLargeHalf<Format> && (magnitude >= kSmallHalf<Format> || magnitude == 0);
}

/// To float32 and back, for numbers that are neither subnormal nor too large there. An addition of two such
/// numbers in float64 that is rounded so gives what float32 gives.
[[gnu::always_inline]] inline double round_to_float(double value) {
  return static_cast<double>(static_cast<float>(value));
}

/// Adds up the numbers at the places j + 4 i, to the first.
[[gnu::always_inline]] inline void add_half_column(double (&x)[kHalfGroup / kHalfColumns], bool in_float) {
  const auto add = [&x, in_float](std::size_t i, std::size_t apart) {
    const double sum = x[i] + x[i + apart];
    x[i] = in_float ? round_to_float(sum) : sum;
  };
  for (std::size_t apart = 2; apart != 16; apart *= 2) {
    for (std::size_t i = 0; i != 16; i += 2 * apart) {
      add(i, apart);
      add(i + 1, apart);
    }
  }
  add(0, 1);
}

/// Adds a group to `lanes`; `at(place)` is an element. In every caller's own code: kernels are compiled for
/// processors that others may not have.
[[gnu::always_inline]] inline void add_half_group(HalfLanes& lanes, bool in_float, const auto& at) {
  for (std::size_t column = 0; column < kHalfColumns; ++column) {
    for (const bool squared : {false, true}) {
      double x[kHalfGroup / kHalfColumns];
      for (std::size_t i = 0; i < kHalfGroup / kHalfColumns; ++i) {
        const double value = at(column + kHalfColumns * i);
        x[i] = squared ? value * value : value;
      }
      add_half_column(x, in_float);
      (squared ? lanes.squares : lanes.sums)[column] += x[0];
    }
  }
}

/// The place within a group of the element that comes to `place` when it is added up.
template <class Format>
constexpr std::size_t half_at(std::size_t place) {
  if constexpr (Format::kFractionBits == Bfloat16Format::kFractionBits) {
    return (place & ~std::size_t{15}) | (place & 7) << 1 | (place >> 3 & 1);
  } else {
    return place;
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
