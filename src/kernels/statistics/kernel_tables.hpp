#pragma once
#include "opdump/impl/stats/kernels.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

#if defined(__x86_64__)
extern const StatisticsKernels kSse2Kernels;
extern const StatisticsKernels kAvx2Kernels;
extern const StatisticsKernels kAvx512Kernels;

/// For processors with AVX-512 too, where these are faster: widening halves to 512 bits at once takes longer
/// than twice to 256, and comparisons leave the vector unit.
std::size_t avx2_float16(const std::byte* data, std::size_t elements, HalfLanes& lanes, FloatRun& run);
std::size_t avx2_bfloat16(const std::byte* data, std::size_t elements, HalfLanes& lanes, FloatRun& run);
#elif defined(__aarch64__)
extern const StatisticsKernels kNeonKernels;
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
