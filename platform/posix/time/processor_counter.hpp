#pragma once
#include <cstdint>

#include "opdump/knobs.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

#if defined(__x86_64__) || defined(__aarch64__)
/// The counter of constant frequency that programs may read on these processors: the time stamp counter of
/// x86-64 and the virtual counter of the generic timer of AArch64.
struct ProcessorCounter {
  /// May run before what comes before it in the program, and after what comes after it.
  static std::uint64_t read() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    std::uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
  }

  /// Whether the kernel keeps its own time by it, which it does only while all processors' counters agree and
  /// none of them stops. Reads a file of sysfs: call it at boot. False where that cannot be read.
  static bool is_trusted();
};
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
