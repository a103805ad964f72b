#include "src/kernels/statistics/kernel_tables.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#define OPDUMP_VECTOR_BYTES 32
#include "src/kernels/statistics/vector_types.hpp"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

struct Isa {
  static Floats smaller(Floats value, Floats other) { return _mm256_min_ps(value, other); }
  static Floats larger(Floats value, Floats other) { return _mm256_max_ps(value, other); }
  static Doubles smaller(Doubles value, Doubles other) { return _mm256_min_pd(value, other); }
  static Doubles larger(Doubles value, Doubles other) { return _mm256_max_pd(value, other); }
  static Shorts smaller(Shorts a, Shorts b) { return (Shorts)_mm256_min_epi16((__m256i)a, (__m256i)b); }
  static Shorts larger(Shorts a, Shorts b) { return (Shorts)_mm256_max_epi16((__m256i)a, (__m256i)b); }

  static Doubles widen_floats(const std::byte* from) {
    return _mm256_cvtps_pd(_mm_loadu_ps(reinterpret_cast<const float*>(from)));
  }

  static Floats widen_float16(const std::byte* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }

  /// Adds the lower and the upper half of `x` to `columns`.
  static void add_columns(Doubles* columns, Floats x) {
    *columns += _mm256_cvtps_pd(_mm256_castps256_ps128(x) + _mm256_extractf128_ps(x, 1));
  }

  static UShorts smaller(UShorts a, UShorts b) { return (UShorts)_mm256_min_epu16((__m256i)a, (__m256i)b); }
  static UShorts larger(UShorts a, UShorts b) { return (UShorts)_mm256_max_epu16((__m256i)a, (__m256i)b); }
  static UShorts unfolded(UShorts constant) {
    asm("" : "+x"(constant));
    return constant;
  }
  static Chars narrow(Shorts a, Shorts b) { return (Chars)_mm256_packs_epi16((__m256i)a, (__m256i)b); }

  static Chars smaller(Chars a, Chars b) { return (Chars)_mm256_min_epi8((__m256i)a, (__m256i)b); }
  static Chars larger(Chars a, Chars b) { return (Chars)_mm256_max_epi8((__m256i)a, (__m256i)b); }
  static Ints multiply_pairs(Shorts a, Shorts b) { return (Ints)_mm256_madd_epi16((__m256i)a, (__m256i)b); }
  static ULongs multiply_low(ULongs a, ULongs b) { return (ULongs)_mm256_mul_epu32((__m256i)a, (__m256i)b); }
  static Doubles rounded(Doubles product) {
    asm("" : "+x"(product));
    return product;
  }

  static Longs sum_bytes(Chars x) { return (Longs)_mm256_sad_epu8((__m256i)x, _mm256_setzero_si256()); }

  /// Of -128, whose magnitude the second factor cannot have, the square's negative.
  static constexpr bool kSubtractsLowestSquare = true;
  static Ints square_bytes(Chars x) {
    const __m256i size = _mm256_abs_epi8((__m256i)x);
    return (Ints)_mm256_madd_epi16(_mm256_maddubs_epi16(size, size), _mm256_set1_epi16(1));
  }
};

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump

#include "src/kernels/statistics/vector_halves.hpp"
#include "src/kernels/statistics/vector_kernels.hpp"

#if defined(__clang__)
#pragma clang attribute pop
#endif

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
const StatisticsKernels kAvx2Kernels = kKernels;
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
