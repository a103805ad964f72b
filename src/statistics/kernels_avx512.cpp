#include "src/statistics/kernel_tables.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#define OPDUMP_VECTOR_BYTES 64
#include "src/statistics/vector_types.hpp"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,f16c"))), apply_to = function)
#else
// GCC 12's own intrinsics read vectors that they leave undefined on purpose.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC target("avx512f,avx512bw,avx512vl,f16c")
#endif

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

struct Isa {
  static Floats smaller(Floats value, Floats other) { return _mm512_min_ps(value, other); }
  static Floats larger(Floats value, Floats other) { return _mm512_max_ps(value, other); }
  static Shorts smaller(Shorts a, Shorts b) { return (Shorts)_mm512_min_epi16((__m512i)a, (__m512i)b); }
  static Shorts larger(Shorts a, Shorts b) { return (Shorts)_mm512_max_epi16((__m512i)a, (__m512i)b); }

  static Doubles widen_floats(const std::byte* from) {
    return _mm512_cvtps_pd(_mm256_loadu_ps(reinterpret_cast<const float*>(from)));
  }

  static void widen_float16(const std::byte* from, Doubles (&to)[2]) {
    const __m128i* const eights = reinterpret_cast<const __m128i*>(from);
    to[0] = _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128(eights)));
    to[1] = _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128(eights + 1)));
  }

  static Doubles widen_eight(__m128i bfloats) {
    return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bfloats), 16)));
  }

  static void widen_bfloat16(const std::byte* from, Doubles (&to)[2]) {
    const __m128i* const eights = reinterpret_cast<const __m128i*>(from);
    to[0] = widen_eight(_mm_loadu_si128(eights));
    to[1] = widen_eight(_mm_loadu_si128(eights + 1));
  }

  static Chars smaller(Chars a, Chars b) { return (Chars)_mm512_min_epi8((__m512i)a, (__m512i)b); }
  static Chars larger(Chars a, Chars b) { return (Chars)_mm512_max_epi8((__m512i)a, (__m512i)b); }
  static Ints multiply_pairs(Shorts a, Shorts b) { return (Ints)_mm512_madd_epi16((__m512i)a, (__m512i)b); }
  static ULongs multiply_low(ULongs a, ULongs b) { return (ULongs)_mm512_mul_epu32((__m512i)a, (__m512i)b); }
  static Doubles rounded(Doubles product) {
    asm("" : "+v"(product));
    return product;
  }

  static Longs sum_bytes(Chars x) { return (Longs)_mm512_sad_epu8((__m512i)x, _mm512_setzero_si512()); }

  static Ints square_bytes(Chars x) {
    const __m512i low = _mm512_cvtepi8_epi16(_mm512_castsi512_si256((__m512i)x));
    const __m512i high = _mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64((__m512i)x, 1));
    return (Ints)_mm512_add_epi32(_mm512_madd_epi16(low, low), _mm512_madd_epi16(high, high));
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
const StatisticsKernels kAvx512Kernels = kKernels;
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
