#include <type_traits>

#include "src/kernels/pairs/pair_kernel_tables.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#define OPDUMP_VECTOR_BYTES 64
#include "src/kernels/pairs/pair_vector_types.hpp"

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

/// For each of 16 equal parts of the mantissas, the reciprocal of a number c in it, and ln(c): of the middle,
/// but 1 in the first part and 2 in the last, so that logarithms near 0 are right to their own last bits.
struct LogarithmTable {
  static constexpr int kParts = 16;
  alignas(64) float reciprocal[kParts]{};
  alignas(64) float ln[kParts]{};

  consteval LogarithmTable() {
    for (int i = 0; i < kParts; ++i) {
      const double middle = 1 + (i + 0.5) / kParts;
      const double c = i == 0 ? 1 : i == kParts - 1 ? 2 : middle;
      reciprocal[i] = static_cast<float>(1 / c);
      const double number = static_cast<double>(reciprocal[i]);
      double power = (1 - number) / (1 + number);
      const double square = power * power;
      double sum = 0;
      for (int k = 1; k < 60; k += 2, power *= square) sum += 2 * power / k;
      ln[i] = static_cast<float>(sum);
    }
  }
};
constexpr LogarithmTable kLogarithms;

struct Isa {
  static Floats smaller(Floats value, Floats other) { return _mm512_min_ps(value, other); }
  static Floats larger(Floats value, Floats other) { return _mm512_max_ps(value, other); }

  static Ints smaller(Ints a, Ints b) { return (Ints)_mm512_min_epi32((__m512i)a, (__m512i)b); }
  static Ints larger(Ints a, Ints b) { return (Ints)_mm512_max_epi32((__m512i)a, (__m512i)b); }
  static UnsignedInts smaller(UnsignedInts a, UnsignedInts b) {
    return (UnsignedInts)_mm512_min_epu32((__m512i)a, (__m512i)b);
  }
  static UnsignedInts larger(UnsignedInts a, UnsignedInts b) {
    return (UnsignedInts)_mm512_max_epu32((__m512i)a, (__m512i)b);
  }
  static Shorts smaller(Shorts a, Shorts b) { return (Shorts)_mm512_min_epi16((__m512i)a, (__m512i)b); }
  static Shorts larger(Shorts a, Shorts b) { return (Shorts)_mm512_max_epi16((__m512i)a, (__m512i)b); }
  static UnsignedShorts smaller(UnsignedShorts a, UnsignedShorts b) {
    return (UnsignedShorts)_mm512_min_epu16((__m512i)a, (__m512i)b);
  }
  static UnsignedShorts larger(UnsignedShorts a, UnsignedShorts b) {
    return (UnsignedShorts)_mm512_max_epu16((__m512i)a, (__m512i)b);
  }

  static void widen(Floats values, Doubles (&to)[2]) {
    to[0] = _mm512_cvtps_pd(_mm512_castps512_ps256(values));
    to[1] = _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(values), 1)));
  }

  /// Of positive normal numbers.
  static Floats ln(Floats value) {
    const Floats exponent = _mm512_getexp_ps(value);
    const Floats mantissa = _mm512_getmant_ps(value, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
    // The low four bits are the part.
    const __m512i part = _mm512_srli_epi32(_mm512_castps_si512(value), 23 - 4);
    const Floats f = mantissa * _mm512_permutexvar_ps(part, _mm512_load_ps(kLogarithms.reciprocal)) - 1.0F;
    const Floats rest = exponent * 0.693147181F + _mm512_permutexvar_ps(part, _mm512_load_ps(kLogarithms.ln));
    // Chebyshev's polynomial for ln(1 + f) / f from -1/32 to 1/16, within 1.5e-7.
    return (((f * -0.238234872F + 0.333481086F) * f - 0.500010138F) * f + 1.0F) * f + rest;
  }

  static unsigned bits_of(Ints signs) {
    return _mm512_cmplt_epi32_mask((__m512i)signs, _mm512_setzero_si512());
  }

  static Floats floats_from_halves(const std::byte* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
};

}  // namespace
}  // namespace opdump::compare

#include "src/kernels/pairs/pair_vector_kernels.hpp"

#if defined(__clang__)
#pragma clang attribute pop
#endif

namespace opdump::compare {
const PairKernels kAvx512Pairs = kPairs;
}  // namespace opdump::compare
#endif
