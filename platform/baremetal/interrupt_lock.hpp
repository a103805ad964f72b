#pragma once
#include <cstdint>

#include "opdump/knobs.hpp"

namespace opdump::baremetal {
inline namespace OPDUMP_NAMESPACE {

/// Keeps interrupts out as long as it lives; may be nested. opdump itself needs none, not even on a
/// Cortex-M0, which has no compare-and-swap: one recorder per context is enough. It is for firmware without
/// the RAM for that, whose contexts share one recorder:
///
///     const InterruptLock lock;
///     recorder.capture_single_op(op, {}, outputs);
///
/// Interrupts then wait as long as the capture takes, and the steps of models stay with one context.
class InterruptLock {
 public:
  InterruptLock() : before_(mask()) {}
  ~InterruptLock() { restore(before_); }
  InterruptLock(const InterruptLock&) = delete;
  InterruptLock& operator=(const InterruptLock&) = delete;

 private:
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
  static std::uint32_t mask() {
    std::uint32_t before;
    asm volatile("mrs %0, primask\n cpsid i" : "=r"(before) : : "memory");
    return before;
  }
  static void restore(std::uint32_t before) {
    asm volatile("msr primask, %0" : : "r"(before) : "memory");
  }
#elif defined(__arm__)
  static std::uint32_t mask() {
    std::uint32_t before;
    asm volatile("mrs %0, cpsr\n cpsid i" : "=r"(before) : : "memory");
    return before;
  }
  static void restore(std::uint32_t before) {
    asm volatile("msr cpsr_c, %0" : : "r"(before) : "memory");
  }
#else
  // Other cores: the port's own.
  static std::uint32_t mask();
  static void restore(std::uint32_t before);
#endif

  std::uint32_t before_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::baremetal
