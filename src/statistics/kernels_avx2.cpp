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
  static Doubles smaller(Doubles value, Doubles other) { return _mm256_min_pd(value, other); }
  static Doubles larger(Doubles value, Doubles other) { return _mm256_max_pd(value, other); }
  static Shorts smaller(Shorts a, Shorts b) { return (Shorts)_mm256_min_epi16((__m256i)a, (__m256i)b); }
  static Shorts larger(Shorts a, Shorts b) { return (Shorts)_mm256_max_epi16((__m256i)a, (__m256i)b); }

  static Doubles widen_floats(const std::byte* from) {
    return _mm256_cvtps_pd(_mm_loadu_ps(reinterpret_cast<const float*>(from)));
  }

  static void widen_float16(const std::byte* from, std::byte* to) {
    const __m128i* const eights = reinterpret_cast<const __m128i*>(from);
    float* const floats = reinterpret_cast<float*>(to);
    _mm256_storeu_ps(floats, _mm256_cvtph_ps(_mm_loadu_si128(eights)));
    _mm256_storeu_ps(floats + 8, _mm256_cvtph_ps(_mm_loadu_si128(eights + 1)));
  }

  static void widen_bfloat16(const std::byte* from, std::byte* to) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    // Unpacking works on each half of the register alone.
    const __m256i quarters = _mm256_permute4x64_epi64(halves, 0xd8);
    const __m256i zero = _mm256_setzero_si256();
    __m256i* const floats = reinterpret_cast<__m256i*>(to);
    _mm256_storeu_si256(floats, _mm256_unpacklo_epi16(zero, quarters));
    _mm256_storeu_si256(floats + 1, _mm256_unpackhi_epi16(zero, quarters));
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
    const __m256i odd = _mm256_srai_epi16((__m256i)x, 8);
    const __m256i even = _mm256_srai_epi16(_mm256_slli_epi16((__m256i)x, 8), 8);
    return (Ints)_mm256_add_epi32(_mm256_madd_epi16(odd, odd), _mm256_madd_epi16(even, even));
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

std::size_t avx2_float16(const std::byte* data, std::size_t elements, FloatLanes& lanes, FloatRun& run) {
  return kKernels.float16(data, elements, lanes, run);
}

std::size_t avx2_bfloat16(const std::byte* data, std::size_t elements, FloatLanes& lanes, FloatRun& run) {
  return kKernels.bfloat16(data, elements, lanes, run);
}
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
