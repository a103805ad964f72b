#include "src/kernels/statistics/kernel_tables.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#define OPDUMP_VECTOR_BYTES 64
#include "src/kernels/statistics/vector_types.hpp"

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
  static Doubles smaller(Doubles value, Doubles other) { return _mm512_min_pd(value, other); }
  static Doubles larger(Doubles value, Doubles other) { return _mm512_max_pd(value, other); }
  static Shorts smaller(Shorts a, Shorts b) { return (Shorts)_mm512_min_epi16((__m512i)a, (__m512i)b); }
  static Shorts larger(Shorts a, Shorts b) { return (Shorts)_mm512_max_epi16((__m512i)a, (__m512i)b); }

  static Doubles widen_floats(const std::byte* from) {
    return _mm512_cvtps_pd(_mm256_loadu_ps(reinterpret_cast<const float*>(from)));
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

  /// Of -128, whose magnitude the second factor cannot have, the square's negative.
  static constexpr bool kSubtractsLowestSquare = true;
  static Ints square_bytes(Chars x) {
    const __m512i size = _mm512_abs_epi8((__m512i)x);
    return (Ints)_mm512_madd_epi16(_mm512_maddubs_epi16(size, size), _mm512_set1_epi16(1));
  }
};

inline constexpr HalfKernel kFloat16 = avx2_float16;
inline constexpr HalfKernel kBfloat16 = avx2_bfloat16;

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump

#include "src/kernels/statistics/vector_kernels.hpp"

#if defined(__clang__)
#pragma clang attribute pop
#endif

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
const StatisticsKernels kAvx512Kernels = kKernels;
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
