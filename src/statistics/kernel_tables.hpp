#pragma once
#include "opdump/statistics_kernels.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

#if defined(__x86_64__)
extern const StatisticsKernels kSse2Kernels;
extern const StatisticsKernels kAvx2Kernels;
extern const StatisticsKernels kAvx512Kernels;
#elif defined(__aarch64__)
extern const StatisticsKernels kNeonKernels;
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
