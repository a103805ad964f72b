#pragma once
/// How `Statistics` takes elements in, by the kind of their numbers: a part of class Statistics.
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "opdump/impl/stats/statistics.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

template <class Element>
void Statistics::add_small_integers(Bytes chunk, IntegerKernel StatisticsKernels::*kernel) {
  // A run ends on a byte boundary: the block holds a multiple of 8 elements, and nothing beyond the limit is read.
  std::uint64_t count = count_in(chunk, Element::kBits);
  const std::byte* data = chunk.data();
  const IntegerKernel fast = kernels_ != nullptr && kernel != nullptr ? kernels_->*kernel : nullptr;
  while (count != 0) {
    const std::size_t run_count = static_cast<std::size_t>(std::min<std::uint64_t>(count, kStatisticsBlock));
    IntegerRun run;
    std::size_t done = fast != nullptr ? fast(data, run_count, run) : 0;
    if (done != run_count) {
      run_integers<Element>(data + done * Element::kBits / 8, run_count - done, run);
      done = run_count;
    }
    add_run(done, run);
    count -= done;
    data += done * Element::kBits / 8;
  }
}

template <class Element>
void Statistics::run_integers(const std::byte* data, std::size_t count, IntegerRun& run) {
  using T = decltype(Element::at(data, 0));
  T min = std::numeric_limits<T>::max();
  T max = std::numeric_limits<T>::min();
  for (std::size_t i = 0; i < count; ++i) {
    const T value = Element::at(data, i);
    min = value < min ? value : min;
    max = value > max ? value : max;
    run.negative += value < 0;
    run.positive += value > 0;
    run.sum += value;
    if constexpr (Element::kBits < 32) {
      const std::uint32_t wide = static_cast<std::uint32_t>(value);
      run.squares_low += wide * wide;
    } else {
      const std::int64_t wide = value;
      const std::uint64_t square = static_cast<std::uint64_t>(wide) * static_cast<std::uint64_t>(wide);
      run.squares_low += square & 0xffffffff;
      run.squares_high += square >> 32;
    }
  }
  run.min = std::min<std::int64_t>(run.min, min);
  run.max = std::max<std::int64_t>(run.max, max);
}

template <std::integral T>
void Statistics::add_wide_integers(Bytes chunk, WideKernel StatisticsKernels::*kernel) {
  std::uint64_t count = count_in(chunk, 64);
  const std::byte* data = chunk.data();
  const WideKernel fast = kernels_ != nullptr ? kernels_->*kernel : nullptr;
  while (count != 0) {
    const std::size_t run_count = static_cast<std::size_t>(std::min<std::uint64_t>(count, left_in_block()));
    WideRun run;
    std::size_t done = fast != nullptr && lane() == 0 ? fast(data, run_count, lanes_, run) : 0;
    if (done == 0) {
      done = fast != nullptr && lane() != 0 ? std::min(run_count, kStatisticsLanes - lane()) : run_count;
      run_wide_integers<T>(data, done, run);
    }
    widen(run.min, run.max);
    negative_ += run.negative;
    positive_ += run.positive;
    integer_sum_.add(run.sum_low);
    integer_sum_.add_shifted(run.sum_high);
    advance(done, lanes_);
    count -= done;
    data += done * sizeof(T);
  }
}

template <std::integral T>
void Statistics::run_wide_integers(const std::byte* data, std::size_t count, WideRun& run) {
  constexpr std::uint64_t kOffset = std::is_signed_v<T> ? 0 : std::uint64_t{1} << 63;
  const std::size_t first = lane();
  for (std::size_t i = 0; i < count; ++i) {
    const T value = AnyInteger<T>::at(data, i);
    const std::int64_t order = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) ^ kOffset);
    run.min = std::min(run.min, order);
    run.max = std::max(run.max, order);
    run.negative += value < 0;
    run.positive += value > 0;
    run.sum_low += static_cast<std::uint32_t>(value);
    run.sum_high += static_cast<std::int64_t>(value >> 32);
    lanes_.squares[(first + i) % kStatisticsLanes] += rounded_square(static_cast<double>(value));
  }
}

template <class Format>
void Statistics::add_floats(Bytes chunk, FloatKernel StatisticsKernels::*kernel) {
  constexpr std::size_t kBytes = sizeof(typename Format::Bits);
  std::uint64_t count = count_in(chunk, kBytes * 8);
  const std::byte* data = chunk.data();
  const FloatKernel fast = kernels_ != nullptr && kernel != nullptr ? kernels_->*kernel : nullptr;
  if (count_ == 0 && count != 0) starts_with_nan_ = begins_with_nan<Format>(data);
  while (count != 0) {
    const std::size_t run_count = static_cast<std::size_t>(std::min<std::uint64_t>(count, left_in_block()));
    FloatRun run;
    std::size_t done = 0;
    if (fast != nullptr && lane() == 0) done = fast(data, run_count, lanes_, run);
    if (done == 0) {
      done = fast != nullptr && lane() != 0 ? std::min(run_count, kStatisticsLanes - lane()) : run_count;
      run_floats<Format>(data, done, run);
    }
    add_found(run);
    advance(done, lanes_);
    count -= done;
    data += done * kBytes;
  }
}

template <class Format>
void Statistics::add_halves(Bytes chunk, HalfKernel StatisticsKernels::*kernel) {
  std::uint64_t count = count_in(chunk, 16);
  const std::byte* data = chunk.data();
  const HalfKernel fast = kernels_ != nullptr ? kernels_->*kernel : nullptr;
  if (count_ == 0 && count != 0) starts_with_nan_ = begins_with_nan<Format>(data);
  while (count != 0) {
    const std::size_t run_count = static_cast<std::size_t>(std::min<std::uint64_t>(count, left_in_block()));
    const std::size_t begun = groups_.elements;
    FloatRun run;
    std::size_t done = fast != nullptr && begun == 0 ? fast(data, run_count, groups_.lanes, run) : 0;
    if (done == 0) {
      done = fast != nullptr && begun != 0 ? std::min(run_count, kHalfGroup - begun) : run_count;
      run_floats<Format>(data, done, run);
      begin_groups<Format>(data, done);
    }
    add_found(run);
    advance(done, groups_.lanes);
    count -= done;
    data += done * 2;
  }
}

template <class Format>
void Statistics::begin_groups(const std::byte* data, std::size_t count) {
  while (count != 0) {
    const std::size_t taken = std::min(count, kHalfGroup - groups_.elements);
    std::memcpy(groups_.begun + groups_.elements * 2, data, taken * 2);
    groups_.elements += taken;
    if (groups_.elements == kHalfGroup) {
      add_group<Format>(groups_.begun, kHalfGroup, groups_.lanes);
      groups_.elements = 0;
    }
    data += taken * 2;
    count -= taken;
  }
}

template <class Format>
void Statistics::add_group(const std::byte* group, std::size_t count, HalfLanes& lanes) {
  const auto finite = [group, count](std::size_t i) {
    const std::uint16_t bits = i < count ? load_element<std::uint16_t>(group + 2 * i) : std::uint16_t{0};
    return (bits & Format::kMagnitude) < Format::kInfinity ? bits : std::uint16_t{0};
  };
  const auto value = [&finite](std::size_t place) {
    const std::uint16_t bits = finite(half_at<Format>(place));
    return with_sign(Format::decode(bits & Format::kMagnitude), bits > Format::kMagnitude);
  };
  bool moderate = true;
  for (std::size_t i = 0; i < count; ++i)
    moderate &= is_moderate_half<Format>(finite(i) & Format::kMagnitude);
  double values[kHalfGroup];
  for (std::size_t place = 0; place < kHalfGroup; ++place) values[place] = value(place);
  add_half_group(lanes, moderate, [&values](std::size_t place) { return values[place]; });
}

template <class Format>
void Statistics::run_floats(const std::byte* data, std::size_t count, FloatRun& run) {
  using Bits = typename Format::Bits;
  using Order = std::conditional_t<sizeof(Bits) == 8, std::int64_t, std::int32_t>;
  Order min = std::numeric_limits<Order>::max();
  Order max = std::numeric_limits<Order>::min();
  const std::size_t first = lane();
  for (std::size_t i = 0; i < count; ++i) {
    const Bits bits = load_element<Bits>(data + i * sizeof(Bits));
    const Bits magnitude = bits & Format::kMagnitude;
    if (magnitude > Format::kMaxNumber) {
      ++run.nan;
      continue;
    }
    // Without branches on the sign, which no processor can predict.
    const bool below = bits != magnitude;
    const Order mask = -static_cast<Order>(below);
    const Order order = (static_cast<Order>(magnitude) ^ mask) - mask;
    min = order < min ? order : min;
    max = order > max ? order : max;
    run.negative += order < 0;
    run.positive += order > 0;
    if (magnitude == Format::kInfinity) {
      ++(below ? run.negative_inf : run.positive_inf);
      continue;
    }
    if constexpr (sizeof(Bits) == 2) continue;
    const double size = Format::decode(magnitude);
    const double value = with_sign(size, below);
    if constexpr (sizeof(Bits) == 8) {
      if (size > kLargeDouble || (size < kSmallDouble && magnitude != 0)) {
        add_extreme_double(value);
        continue;
      }
    }
    lanes_.sums[(first + i) % kStatisticsLanes] += value;
    lanes_.squares[(first + i) % kStatisticsLanes] += rounded_square(value);
  }
  if (min > max) return;
  const auto decode = [](Order order) {
    const double size = Format::decode(static_cast<Bits>(order < 0 ? -order : order));
    return order < 0 ? -size : size;
  };
  run.min = decode(min);
  run.max = decode(max);
}

inline void Statistics::add_found(const FloatRun& run) {
  if (run.min <= run.max) widen(order_of(run.min), order_of(run.max));
  nan_ += run.nan;
  negative_inf_ += run.negative_inf;
  positive_inf_ += run.positive_inf;
  negative_ += run.negative;
  positive_ += run.positive;
}

inline void Statistics::add_run(std::uint64_t elements, const FloatRun& run, double sum, double squares) {
  add_found(run);
  sum_.add(sum);
  squares_.add(squares);
  count_ += elements;
}

inline void Statistics::add_run(std::uint64_t elements, const IntegerRun& run) {
  widen(run.min, run.max);
  negative_ += run.negative;
  positive_ += run.positive;
  integer_sum_.add(run.sum);
  integer_squares_.add(run.squares_low);
  integer_squares_.add_shifted(static_cast<std::int64_t>(run.squares_high));
  count_ += elements;
}

inline void Statistics::add_extreme_double(double value) {
  if (value > kLargeDouble || value < -kLargeDouble) {
    const double scaled = value * 0x1p-600;
    large_sum_.add(scaled);
    large_squares_.add(scaled * scaled);
  } else {
    const double scaled = value * 0x1p600;
    sum_.add(value);
    small_squares_.add(scaled * scaled);
  }
}

template <std::size_t kLanes>
double Statistics::total(const double (&lanes)[kLanes]) {
  double sums[kLanes / 2];
  for (std::size_t i = 0; i < kLanes / 2; ++i) sums[i] = lanes[i] + lanes[i + kLanes / 2];
  for (std::size_t width = kLanes / 4; width != 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  return sums[0];
}

template <class Lanes>
void Statistics::add_totals(const Lanes& lanes, CompensatedSum& sum, CompensatedSum& squares) {
  sum.add(total(lanes.sums));
  squares.add(total(lanes.squares));
}

inline void Statistics::add_rest(CompensatedSum& sum, CompensatedSum& squares) const {
  if (is_half()) {
    HalfLanes lanes = groups_.lanes;
    if (const std::size_t rest = groups_.elements; rest != 0) {
      if (dtype_ == DType::float16) add_group<Float16Format>(groups_.begun, rest, lanes);
      if (dtype_ == DType::bfloat16) add_group<Bfloat16Format>(groups_.begun, rest, lanes);
    }
    add_totals(lanes, sum, squares);
  } else {
    add_totals(lanes_, sum, squares);
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
