#include "src/statistics/kernel_tables.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#define OPDUMP_VECTOR_BYTES 32
#include "src/statistics/vector_types.hpp"

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
  static Shorts smaller(Shorts a, Shorts b) { return (Shorts)_mm256_min_epi16((__m256i)a, (__m256i)b); }
  static Shorts larger(Shorts a, Shorts b) { return (Shorts)_mm256_max_epi16((__m256i)a, (__m256i)b); }

  static Doubles widen_floats(const std::byte* from) {
    return _mm256_cvtps_pd(_mm_loadu_ps(reinterpret_cast<const float*>(from)));
  }

  static void widen_eight(__m128i halves, Doubles* to) {
    const __m256 floats = _mm256_cvtph_ps(halves);
    to[0] = _mm256_cvtps_pd(_mm256_castps256_ps128(floats));
    to[1] = _mm256_cvtps_pd(_mm256_extractf128_ps(floats, 1));
  }

  static void widen_float16(const std::byte* from, Doubles (&to)[4]) {
    const __m128i* const eights = reinterpret_cast<const __m128i*>(from);
    widen_eight(_mm_loadu_si128(eights), to);
    widen_eight(_mm_loadu_si128(eights + 1), to + 2);
  }

  static void widen_bfloat16(const std::byte* from, Doubles (&to)[4]) {
    const __m128i zero = _mm_setzero_si128();
    const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from) + 1);
    to[0] = _mm256_cvtps_pd(_mm_castsi128_ps(_mm_unpacklo_epi16(zero, low)));
    to[1] = _mm256_cvtps_pd(_mm_castsi128_ps(_mm_unpackhi_epi16(zero, low)));
    to[2] = _mm256_cvtps_pd(_mm_castsi128_ps(_mm_unpacklo_epi16(zero, high)));
    to[3] = _mm256_cvtps_pd(_mm_castsi128_ps(_mm_unpackhi_epi16(zero, high)));
  }

  static Chars smaller(Chars a, Chars b) { return (Chars)_mm256_min_epi8((__m256i)a, (__m256i)b); }
  static Chars larger(Chars a, Chars b) { return (Chars)_mm256_max_epi8((__m256i)a, (__m256i)b); }
  static Ints multiply_pairs(Shorts a, Shorts b) { return (Ints)_mm256_madd_epi16((__m256i)a, (__m256i)b); }
  static ULongs multiply_low(ULongs a, ULongs b) { return (ULongs)_mm256_mul_epu32((__m256i)a, (__m256i)b); }
  static Doubles rounded(Doubles product) {
    asm("" : "+x"(product));
    return product;
  }

  static Longs sum_bytes(Chars x) { return (Longs)_mm256_sad_epu8((__m256i)x, _mm256_setzero_si256()); }

  static Ints square_bytes(Chars x) {
    const __m256i low = _mm256_cvtepi8_epi16(_mm256_castsi256_si128((__m256i)x));
    const __m256i high = _mm256_cvtepi8_epi16(_mm256_extracti128_si256((__m256i)x, 1));
    return (Ints)_mm256_add_epi32(_mm256_madd_epi16(low, low), _mm256_madd_epi16(high, high));
  }
};

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump

#include "src/statistics/vector_kernels.hpp"

#if defined(__clang__)
#pragma clang attribute pop
#endif

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
const StatisticsKernels kAvx2Kernels = kKernels;
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
