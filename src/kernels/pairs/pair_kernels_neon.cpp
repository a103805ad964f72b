#include <type_traits>

#include "src/kernels/pairs/pair_kernel_tables.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>

#define OPDUMP_VECTOR_BYTES 16
#include "src/kernels/pairs/pair_vector_types.hpp"

namespace opdump::compare {
namespace {

struct Isa {
  /// vminnm would turn a signalling NaN into a NaN.
  static Floats smaller(Floats value, Floats other) { return value < other ? value : other; }
  static Floats larger(Floats value, Floats other) { return value > other ? value : other; }

  template <class Integers>
  static Integers smaller(Integers a, Integers b) {
    return a < b ? a : b;
  }
  template <class Integers>
  static Integers larger(Integers a, Integers b) {
    return a > b ? a : b;
  }

  static void widen(Floats values, Doubles (&to)[2]) {
    to[0] = vcvt_f64_f32(vget_low_f32(values));
    to[1] = vcvt_high_f64_f32(values);
  }

  static unsigned bits_of(Ints signs) {
    const uint32x4_t places = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32((uint32x4_t)(signs >> 31), places));
  }

  static Floats floats_from_halves(const std::byte* from) {
    const uint16x4_t halves = vreinterpret_u16_u8(vld1_u8(reinterpret_cast<const std::uint8_t*>(from)));
    return vcvt_f32_f16(vreinterpret_f16_u16(halves));
  }
};

}  // namespace
}  // namespace opdump::compare

#include "src/kernels/pairs/pair_vector_kernels.hpp"

namespace opdump::compare {
const PairKernels kNeonPairs = kPairs;
}  // namespace opdump::compare
#endif
