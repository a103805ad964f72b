#include "src/statistics/kernel_tables.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>

#define OPDUMP_VECTOR_BYTES 16
#include "src/statistics/vector_types.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

struct Isa {
  static Floats smaller(Floats value, Floats other) { return _mm_min_ps(value, other); }
  static Floats larger(Floats value, Floats other) { return _mm_max_ps(value, other); }
  static Doubles smaller(Doubles value, Doubles other) { return _mm_min_pd(value, other); }
  static Doubles larger(Doubles value, Doubles other) { return _mm_max_pd(value, other); }

  static Shorts smaller(Shorts a, Shorts b) { return (Shorts)_mm_min_epi16((__m128i)a, (__m128i)b); }
  static Shorts larger(Shorts a, Shorts b) { return (Shorts)_mm_max_epi16((__m128i)a, (__m128i)b); }
  /// SSE2 compares unsigned bytes only.
  static Chars smaller(Chars a, Chars b) {
    const __m128i sign = _mm_set1_epi8(-128);
    return (Chars)(_mm_min_epu8((__m128i)a ^ sign, (__m128i)b ^ sign) ^ sign);
  }
  static Chars larger(Chars a, Chars b) {
    const __m128i sign = _mm_set1_epi8(-128);
    return (Chars)(_mm_max_epu8((__m128i)a ^ sign, (__m128i)b ^ sign) ^ sign);
  }

  static Doubles widen_floats(const std::byte* from) {
    return _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
  }

  static void widen_bfloat16(const std::byte* from, std::byte* to) {
    const __m128i* const eights = reinterpret_cast<const __m128i*>(from);
    __m128i* const fours = reinterpret_cast<__m128i*>(to);
    const __m128i zero = _mm_setzero_si128();
    for (int i = 0; i < 2; ++i) {
      const __m128i eight = _mm_loadu_si128(eights + i);
      _mm_storeu_si128(fours + 2 * i, _mm_unpacklo_epi16(zero, eight));
      _mm_storeu_si128(fours + 2 * i + 1, _mm_unpackhi_epi16(zero, eight));
    }
  }

  /// Of finite numbers; infinity and NaN come out finite, and the kernel does without their sums.
  static __m128 half_to_float(__m128i halves) {
    const __m128i size = _mm_slli_epi32(_mm_and_si128(halves, _mm_set1_epi32(0x7fff)), 13);
    const __m128i sign = _mm_slli_epi32(_mm_srli_epi32(halves, 15), 31);
    const __m128 scaled = _mm_mul_ps(_mm_castsi128_ps(size), _mm_set1_ps(0x1p112f));
    return _mm_or_ps(scaled, _mm_castsi128_ps(sign));
  }

  static void widen_float16(const std::byte* from, std::byte* to) {
    const __m128i* const eights = reinterpret_cast<const __m128i*>(from);
    float* const floats = reinterpret_cast<float*>(to);
    const __m128i zero = _mm_setzero_si128();
    for (int i = 0; i < 2; ++i) {
      const __m128i eight = _mm_loadu_si128(eights + i);
      _mm_storeu_ps(floats + 8 * i, half_to_float(_mm_unpacklo_epi16(eight, zero)));
      _mm_storeu_ps(floats + 8 * i + 4, half_to_float(_mm_unpackhi_epi16(eight, zero)));
    }
  }

  static Ints multiply_pairs(Shorts a, Shorts b) { return (Ints)_mm_madd_epi16((__m128i)a, (__m128i)b); }
  static ULongs multiply_low(ULongs a, ULongs b) { return (ULongs)_mm_mul_epu32((__m128i)a, (__m128i)b); }
  static Doubles rounded(Doubles product) {
    asm("" : "+x"(product));
    return product;
  }

  static Longs sum_bytes(Chars x) { return (Longs)_mm_sad_epu8((__m128i)x, _mm_setzero_si128()); }

  static Ints square_bytes(Chars x) {
    const __m128i zero = _mm_setzero_si128();
    const __m128i low = _mm_srai_epi16(_mm_unpacklo_epi8(zero, (__m128i)x), 8);
    const __m128i high = _mm_srai_epi16(_mm_unpackhi_epi8(zero, (__m128i)x), 8);
    return (Ints)_mm_add_epi32(_mm_madd_epi16(low, low), _mm_madd_epi16(high, high));
  }
};

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump

#include "src/statistics/vector_kernels.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
const StatisticsKernels kSse2Kernels = kKernels;
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
