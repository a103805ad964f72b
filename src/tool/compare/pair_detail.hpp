#pragma once
#include <cstdint>
#include <optional>

#include "src/tool/compare/comparison.hpp"

namespace opdump::compare {

/// Looks at all elements on the calling thread; takes half a MiB. Nothing when a source cannot be read.
std::optional<PairDetail> look_closer(const ComparedArray& x, const ComparedArray& y, std::uint64_t elements);

}  // namespace opdump::compare
