#include <type_traits>

#include "src/compare/pair_kernel_tables.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#define OPDUMP_VECTOR_BYTES 64
#include "src/compare/pair_vector_types.hpp"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl"))), apply_to = function)
#else
// GCC 12's own intrinsics read vectors that they leave undefined on purpose.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC target("avx512f,avx512bw,avx512vl")
#endif

namespace opdump::compare {
namespace {

struct Isa {
  static Floats smaller(Floats value, Floats other) { return _mm512_min_ps(value, other); }
  static Floats larger(Floats value, Floats other) { return _mm512_max_ps(value, other); }

  static Ints smaller(Ints a, Ints b) { return (Ints)_mm512_min_epi32((__m512i)a, (__m512i)b); }
  static Ints larger(Ints a, Ints b) { return (Ints)_mm512_max_epi32((__m512i)a, (__m512i)b); }
  static UnsignedInts larger(UnsignedInts a, UnsignedInts b) {
    return (UnsignedInts)_mm512_max_epu32((__m512i)a, (__m512i)b);
  }
  static Shorts smaller(Shorts a, Shorts b) { return (Shorts)_mm512_min_epi16((__m512i)a, (__m512i)b); }
  static Shorts larger(Shorts a, Shorts b) { return (Shorts)_mm512_max_epi16((__m512i)a, (__m512i)b); }
  static UnsignedShorts larger(UnsignedShorts a, UnsignedShorts b) {
    return (UnsignedShorts)_mm512_max_epu16((__m512i)a, (__m512i)b);
  }

  static void widen(Floats values, Doubles (&to)[2]) {
    to[0] = _mm512_cvtps_pd(_mm512_castps512_ps256(values));
    to[1] = _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(values), 1)));
  }

  static Floats floats_from_halves(const std::byte* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
};

}  // namespace
}  // namespace opdump::compare

#include "src/compare/pair_vector_kernels.hpp"

#if defined(__clang__)
#pragma clang attribute pop
#endif

namespace opdump::compare {
const PairKernels kAvx512Pairs = kPairs;
}  // namespace opdump::compare
#endif
