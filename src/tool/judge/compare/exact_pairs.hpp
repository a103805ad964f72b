#pragma once
#include <cstdint>

#include "src/tool/judge/compare/comparison.hpp"

namespace opdump::compare {

/// Puts what float64 tells of two arrays in the place of what float32 has told, which becomes the vendor's:
/// where float32 does not hold the elements, where some are NaN or infinite, or where all of a side are tiny.
/// False when a source cannot be read.
bool compare_exactly(const ComparedArray& x, const ComparedArray& y, std::uint64_t elements,
                     std::size_t workers, Closer closer, const PairKernels& kernels, Comparison& result);

/// A golden tensor whose greatest element is below this is tiny: its relative errors are 0 only up to
/// `kZero` times that element.
inline constexpr double kTiny = 0x1p-20;

}  // namespace opdump::compare
