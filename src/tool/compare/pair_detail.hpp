#pragma once
#include <cstdint>
#include <optional>

#include "src/tool/compare/comparison.hpp"

namespace opdump::compare {

/// Looks at all elements on up to `threads` threads, each of which takes half a MiB. The result does not
/// depend on their number. Nothing when a source cannot be read.
std::optional<PairDetail> look_closer(const ComparedArray& x, const ComparedArray& y, std::uint64_t elements,
                                      unsigned threads);

}  // namespace opdump::compare
