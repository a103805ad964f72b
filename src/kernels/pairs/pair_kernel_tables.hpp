#pragma once
#include "src/kernels/pairs/pair_kernels.hpp"

namespace opdump::compare {

extern const PairKernels kPortablePairs;
#if defined(__x86_64__)
extern const PairKernels kAvx2Pairs;
#elif defined(__aarch64__)
extern const PairKernels kNeonPairs;
#endif

}  // namespace opdump::compare
