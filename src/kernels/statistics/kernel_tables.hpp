#pragma once
#include "opdump/impl/stats/kernels.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

#if defined(__x86_64__)
extern const StatisticsKernels kSse2Kernels;
extern const StatisticsKernels kAvx2Kernels;
#elif defined(__aarch64__)
extern const StatisticsKernels kNeonKernels;
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
