#include "src/kernels/statistics/kernel_tables.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>

#define OPDUMP_VECTOR_BYTES 16
#include "src/kernels/statistics/vector_types.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

struct Isa {
  /// vminnm would turn a signalling NaN into a NaN.
  static Floats smaller(Floats value, Floats other) { return value < other ? value : other; }
  static Floats larger(Floats value, Floats other) { return value > other ? value : other; }
  static Doubles smaller(Doubles value, Doubles other) { return value < other ? value : other; }
  static Doubles larger(Doubles value, Doubles other) { return value > other ? value : other; }

  static Shorts smaller(Shorts a, Shorts b) { return vminq_s16(a, b); }
  static Shorts larger(Shorts a, Shorts b) { return vmaxq_s16(a, b); }
  static Chars smaller(Chars a, Chars b) { return vminq_s8(a, b); }
  static Chars larger(Chars a, Chars b) { return vmaxq_s8(a, b); }

  static Doubles widen_floats(const std::byte* from) {
    return vcvt_f64_f32(vreinterpret_f32_u8(vld1_u8(reinterpret_cast<const std::uint8_t*>(from))));
  }

  static Floats widen_float16(const std::byte* from) {
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(reinterpret_cast<const std::uint8_t*>(from))));
  }

  static void add_columns(Doubles* columns, Floats x) {
    columns[0] += vcvt_f64_f32(vget_low_f32(x));
    columns[1] += vcvt_high_f64_f32(x);
  }

  static UShorts smaller(UShorts a, UShorts b) { return vminq_u16(a, b); }
  static UShorts larger(UShorts a, UShorts b) { return vmaxq_u16(a, b); }
  static UShorts unfolded(UShorts constant) {
    asm("" : "+w"(constant));
    return constant;
  }
  static Chars narrow(Shorts a, Shorts b) { return vqmovn_high_s16(vqmovn_s16(a), b); }

  static Ints multiply_pairs(Shorts a, Shorts b) {
    return vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b));
  }
  static ULongs multiply_low(ULongs a, ULongs b) {
    return (ULongs)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
  }
  static Doubles rounded(Doubles product) {
    asm("" : "+w"(product));
    return product;
  }

  static Longs sum_bytes(Chars x) { return (Longs)vpaddlq_u32(vpaddlq_u16(vpaddlq_u8((uint8x16_t)x))); }

  static constexpr bool kSubtractsLowestSquare = false;
  static Ints square_bytes(Chars x) {
    const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(x));
    const int16x8_t high = vmull_high_s8(x, x);
    return vpadalq_s16(vpaddlq_s16(low), high);
  }
};

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump

#include "src/kernels/statistics/vector_halves.hpp"
#include "src/kernels/statistics/vector_kernels.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
const StatisticsKernels kNeonKernels = kKernels;
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
