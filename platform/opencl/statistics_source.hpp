#pragma once
#include <cstdint>
#include "opdump/knobs.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The result of one work-item, as the kernels below write it.
struct OpenclPartial {
  std::uint64_t min;  ///< double, float in the low half, or int64; see kOpenclStatistics
  std::uint64_t max;
  std::uint64_t sum;           ///< double, two floats to add, or int64
  std::uint64_t squares;       ///< the same; for integers, the sum of the squares' low 32 bits
  std::uint64_t squares_high;  ///< for integers, the sum of the squares' bits from 32 on
  std::uint64_t nan;
  std::uint64_t negative_inf;
  std::uint64_t positive_inf;
  std::uint64_t negative;
  std::uint64_t positive;
};
static_assert(sizeof(OpenclPartial) == 80);

/// How the kernels read elements.
enum class OpenclElement : std::uint32_t {
  float16 = 0,
  bfloat16 = 1,
  float32 = 2,
  int8 = 3,
  uint8 = 4,
  int16 = 5,
  uint16 = 6,
  int32 = 7,
  uint32 = 8,
  boolean = 9,
};

/// OpenCL C of the statistics. Every work-item takes each n-th element. With OPDUMP_FP64 sums are doubles;
/// else each sum is a float with a second float for what additions round off, so that the error does not grow
/// with the number of elements.
inline constexpr char kOpenclStatistics[] = R"CL(
typedef struct {
  ulong min, max, sum, squares, squares_high, nan, negative_inf, positive_inf, negative, positive;
} Partial;

#ifdef OPDUMP_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double Number;
ulong bits_of(Number value) { return as_ulong(value); }
typedef struct { double value; } Sum;
void add(Sum *sum, Number value) { sum->value += value; }
ulong bits_of_sum(Sum sum) { return as_ulong(sum.value); }
#else
typedef float Number;
ulong bits_of(Number value) { return as_uint(value); }
typedef struct { float value, lost; } Sum;
void add(Sum *sum, Number value) {
  float total = sum->value + value;
  float of_sum = total - value;
  sum->lost += (sum->value - of_sum) + (value - (total - of_sum));
  sum->value = total;
}
ulong bits_of_sum(Sum sum) { return (ulong)as_uint(sum.lost) << 32 | as_uint(sum.value); }
#endif

Number number_at(global const uchar *data, ulong i, uint element) {
  switch (element) {
    case 0: return (Number)vload_half(i, (global const half *)data);
    case 1: return (Number)as_float((uint)((global const ushort *)data)[i] << 16);
    default: return (Number)((global const float *)data)[i];
  }
}

kernel void float_statistics(global const uchar *data, ulong offset, ulong count, uint element,
                             global Partial *out) {
  Partial partial = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  Number min = INFINITY, max = -INFINITY;
  Sum sum = {0}, squares = {0};
  data += offset;
  for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
    Number value = number_at(data, i, element);
    if (isnan(value)) {
      ++partial.nan;
      continue;
    }
    min = fmin(min, value);
    max = fmax(max, value);
    partial.negative += value < 0;
    partial.positive += value > 0;
    if (isinf(value)) {
      if (value < 0) ++partial.negative_inf; else ++partial.positive_inf;
      continue;
    }
    add(&sum, value);
    add(&squares, value * value);
  }
  partial.min = bits_of(min);
  partial.max = bits_of(max);
  partial.sum = bits_of_sum(sum);
  partial.squares = bits_of_sum(squares);
  out[get_global_id(0)] = partial;
}

long integer_at(global const uchar *data, ulong i, uint element) {
  switch (element) {
    case 3: return ((global const char *)data)[i];
    case 4: return data[i];
    case 5: return ((global const short *)data)[i];
    case 6: return ((global const ushort *)data)[i];
    case 7: return ((global const int *)data)[i];
    case 8: return ((global const uint *)data)[i];
    default: return data[i] != 0;
  }
}

kernel void integer_statistics(global const uchar *data, ulong offset, ulong count, uint element,
                               global Partial *out) {
  Partial partial = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  long min = LONG_MAX, max = LONG_MIN, sum = 0;
  data += offset;
  for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
    long value = integer_at(data, i, element);
    min = value < min ? value : min;
    max = value > max ? value : max;
    sum += value;
    partial.negative += value < 0;
    partial.positive += value > 0;
    ulong square = (ulong)value * (ulong)value;
    partial.squares += square & 0xffffffffUL;
    partial.squares_high += square >> 32;
  }
  partial.min = (ulong)min;
  partial.max = (ulong)max;
  partial.sum = (ulong)sum;
  out[get_global_id(0)] = partial;
}
)CL";

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
