#include "src/statistics/kernel_tables.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>

#define OPDUMP_VECTOR_BYTES 16
#include "src/statistics/vector_types.hpp"

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

  static uint16x4_t load_four(const std::byte* from) {
    return vreinterpret_u16_u8(vld1_u8(reinterpret_cast<const std::uint8_t*>(from)));
  }

  static void widen_float16(const std::byte* from, std::byte* to) {
    float* const floats = reinterpret_cast<float*>(to);
    for (int i = 0; i < 4; ++i)
      vst1q_f32(floats + 4 * i, vcvt_f32_f16(vreinterpret_f16_u16(load_four(from + 8 * i))));
  }

  static void widen_bfloat16(const std::byte* from, std::byte* to) {
    std::uint32_t* const bits = reinterpret_cast<std::uint32_t*>(to);
    for (int i = 0; i < 4; ++i) vst1q_u32(bits + 4 * i, vshll_n_u16(load_four(from + 8 * i), 16));
  }

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

  static Ints square_bytes(Chars x) {
    const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(x));
    const int16x8_t high = vmull_high_s8(x, x);
    return vpadalq_s16(vpaddlq_s16(low), high);
  }
};

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump

#include "src/statistics/vector_kernels.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
const StatisticsKernels kNeonKernels = kKernels;
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
