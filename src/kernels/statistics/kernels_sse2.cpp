#include "src/kernels/statistics/kernel_tables.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>

#define OPDUMP_VECTOR_BYTES 16
#include "src/kernels/statistics/vector_types.hpp"

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

  /// Of moderate numbers, which are finite.
  static Floats widen_float16(const std::byte* from) {
    const __m128i zero = _mm_setzero_si128();
    const __m128i halves = _mm_unpacklo_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)), zero);
    const __m128i size = _mm_slli_epi32(_mm_and_si128(halves, _mm_set1_epi32(0x7fff)), 13);
    const __m128i sign = _mm_slli_epi32(_mm_srli_epi32(halves, 15), 31);
    const __m128 scaled = _mm_mul_ps(_mm_castsi128_ps(size), _mm_set1_ps(0x1p112f));
    return _mm_or_ps(scaled, _mm_castsi128_ps(sign));
  }

  static void add_columns(Doubles* columns, Floats x) {
    columns[0] += _mm_cvtps_pd(x);
    columns[1] += _mm_cvtps_pd(_mm_movehl_ps(x, x));
  }

  /// SSE2 compares signed numbers of 16 bits only.
  static UShorts smaller(UShorts a, UShorts b) {
    const Shorts sign = Shorts{} + std::int16_t{-32768};
    return (UShorts)(smaller((Shorts)a ^ sign, (Shorts)b ^ sign) ^ sign);
  }
  static UShorts larger(UShorts a, UShorts b) {
    const Shorts sign = Shorts{} + std::int16_t{-32768};
    return (UShorts)(larger((Shorts)a ^ sign, (Shorts)b ^ sign) ^ sign);
  }
  static UShorts unfolded(UShorts constant) {
    asm("" : "+x"(constant));
    return constant;
  }
  static Chars narrow(Shorts a, Shorts b) { return (Chars)_mm_packs_epi16((__m128i)a, (__m128i)b); }

  static Ints multiply_pairs(Shorts a, Shorts b) { return (Ints)_mm_madd_epi16((__m128i)a, (__m128i)b); }
  static ULongs multiply_low(ULongs a, ULongs b) { return (ULongs)_mm_mul_epu32((__m128i)a, (__m128i)b); }
  static Doubles rounded(Doubles product) {
    asm("" : "+x"(product));
    return product;
  }

  static Longs sum_bytes(Chars x) { return (Longs)_mm_sad_epu8((__m128i)x, _mm_setzero_si128()); }

  static constexpr bool kSubtractsLowestSquare = false;
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

#include "src/kernels/statistics/vector_halves.hpp"
#include "src/kernels/statistics/vector_kernels.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
const StatisticsKernels kSse2Kernels = kKernels;
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
