#include "src/kernels/statistics/kernel_tables.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

namespace {

const StatisticsKernels kPortableKernels{};

#if defined(__x86_64__)
/// clang 14 does not know "f16c".
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

}  // namespace

const StatisticsKernels* statistics_kernels(StatisticsLevel level) {
  switch (level) {
    case StatisticsLevel::portable:
      return &kPortableKernels;
#if defined(__x86_64__)
    case StatisticsLevel::sse2:
      return &kSse2Kernels;
    case StatisticsLevel::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c() ? &kAvx2Kernels
                                                                                           : nullptr;
#elif defined(__aarch64__)
    case StatisticsLevel::neon:
      return &kNeonKernels;
#endif
    default:
      return nullptr;
  }
}

const StatisticsKernels& statistics_kernels() {
  for (const StatisticsLevel level : {StatisticsLevel::avx2, StatisticsLevel::sse2, StatisticsLevel::neon}) {
    if (const StatisticsKernels* kernels = statistics_kernels(level)) return *kernels;
  }
  return kPortableKernels;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
