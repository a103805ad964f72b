#pragma once
#include "opdump/knobs.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Tells the core that it is in a loop that waits for another core; some tens of cycles.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
