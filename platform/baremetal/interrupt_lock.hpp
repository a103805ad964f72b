#pragma once
#include <cstdint>

#include "opdump/knobs.hpp"

namespace opdump::baremetal {
inline namespace OPDUMP_NAMESPACE {

/// Masks interrupts as long as it lives; may be nested. opdump itself needs no lock, not even on a Cortex-M0,
/// which has no compare-and-swap: one recorder per context is enough. This lock is for firmware that lacks
/// the RAM for that and whose contexts share one recorder:
///
///     const InterruptLock lock;
///     recorder.capture_single_op(op, {}, outputs);
///
/// Interrupts then wait as long as the capture takes. The steps of models must stay with one context.
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
  // On other cores the port defines these.
  static std::uint32_t mask();
  static void restore(std::uint32_t before);
#endif

  std::uint32_t before_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::baremetal
