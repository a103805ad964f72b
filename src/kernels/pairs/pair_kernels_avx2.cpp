#include <type_traits>

#include "src/kernels/pairs/pair_kernel_tables.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#define OPDUMP_VECTOR_BYTES 32
#include "src/kernels/pairs/pair_vector_types.hpp"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif

namespace opdump::compare {
namespace {

struct Isa {
  static Floats smaller(Floats value, Floats other) { return _mm256_min_ps(value, other); }
  static Floats larger(Floats value, Floats other) { return _mm256_max_ps(value, other); }

  static Ints smaller(Ints a, Ints b) { return (Ints)_mm256_min_epi32((__m256i)a, (__m256i)b); }
  static Ints larger(Ints a, Ints b) { return (Ints)_mm256_max_epi32((__m256i)a, (__m256i)b); }
  static UnsignedInts smaller(UnsignedInts a, UnsignedInts b) {
    return (UnsignedInts)_mm256_min_epu32((__m256i)a, (__m256i)b);
  }
  static UnsignedInts larger(UnsignedInts a, UnsignedInts b) {
    return (UnsignedInts)_mm256_max_epu32((__m256i)a, (__m256i)b);
  }
  static Shorts smaller(Shorts a, Shorts b) { return (Shorts)_mm256_min_epi16((__m256i)a, (__m256i)b); }
  static Shorts larger(Shorts a, Shorts b) { return (Shorts)_mm256_max_epi16((__m256i)a, (__m256i)b); }
  static UnsignedShorts smaller(UnsignedShorts a, UnsignedShorts b) {
    return (UnsignedShorts)_mm256_min_epu16((__m256i)a, (__m256i)b);
  }
  static UnsignedShorts larger(UnsignedShorts a, UnsignedShorts b) {
    return (UnsignedShorts)_mm256_max_epu16((__m256i)a, (__m256i)b);
  }

  static Ints with_sign_of(Ints magnitude, Ints sign) {
    return (Ints)_mm256_sign_epi32((__m256i)magnitude, (__m256i)sign);
  }
  static Shorts with_sign_of(Shorts magnitude, Shorts sign) {
    return (Shorts)_mm256_sign_epi16((__m256i)magnitude, (__m256i)sign);
  }

  static void widen(Floats values, Doubles (&to)[2]) {
    to[0] = _mm256_cvtps_pd(_mm256_castps256_ps128(values));
    to[1] = _mm256_cvtps_pd(_mm256_extractf128_ps(values, 1));
  }

  static unsigned bits_of(Ints signs) { return static_cast<unsigned>(_mm256_movemask_ps((__m256)signs)); }

  static Floats floats_from_halves(const std::byte* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
};

}  // namespace
}  // namespace opdump::compare

#include "src/kernels/pairs/pair_vector_kernels.hpp"

#if defined(__clang__)
#pragma clang attribute pop
#endif

namespace opdump::compare {
const PairKernels kAvx2Pairs = kPairs;
}  // namespace opdump::compare
#endif
