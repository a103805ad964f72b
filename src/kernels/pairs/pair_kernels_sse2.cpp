#include <type_traits>

#include "src/kernels/pairs/pair_kernel_tables.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#define OPDUMP_VECTOR_BYTES 16
#include "src/kernels/pairs/pair_vector_types.hpp"

namespace opdump::compare {
namespace {

struct Isa {
  static Floats smaller(Floats value, Floats other) { return _mm_min_ps(value, other); }
  static Floats larger(Floats value, Floats other) { return _mm_max_ps(value, other); }

  template <class Integers>
  static Integers smaller(Integers a, Integers b) {
    return a < b ? a : b;
  }
  template <class Integers>
  static Integers larger(Integers a, Integers b) {
    return a > b ? a : b;
  }

  static void widen(Floats values, Doubles (&to)[2]) {
    to[0] = _mm_cvtps_pd(values);
    to[1] = _mm_cvtps_pd(_mm_movehl_ps(values, values));
  }

  static unsigned bits_of(Ints signs) { return static_cast<unsigned>(_mm_movemask_ps((__m128)signs)); }

  /// By the bits: shifted into place, the exponent is 112 too small for numbers, subnormals and infinities
  /// alike, which a multiplication mends for the first two.
  static Floats floats_from_halves(const std::byte* from) {
    const __m128i halves = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    const Ints wide = (Ints)_mm_unpacklo_epi16(halves, _mm_setzero_si128());
    const Ints magnitude = (wide & 0x7fff) << 13;
    const Floats number = (Floats)magnitude * 0x1p+112F;
    const Ints special = magnitude >= (0x7c00 << 13);
    const Ints bits = ((Ints)number & ~special) | ((magnitude | 0x7f800000) & special);
    return (Floats)(bits | ((wide & 0x8000) << 16));
  }
};

}  // namespace
}  // namespace opdump::compare

#include "src/kernels/pairs/pair_vector_kernels.hpp"

namespace opdump::compare {
const PairKernels kSse2Pairs = kPairs;
}  // namespace opdump::compare
#endif
