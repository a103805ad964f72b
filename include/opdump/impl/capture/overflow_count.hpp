#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/build.hpp"
#include "opdump/impl/capture/recorder_context.hpp"
#include "opdump/types/overflow.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Whether all recorders together, one of which has `own`, have found more overflows than are captured. Two
/// that count at the same moment may both find so.
template <class Memory>
bool enough_overflows(const RecorderContext<Memory>& context, const OverflowTally& own) {
  const std::uint32_t most = context.overflow_number;
  if (most == 0) return false;
  if constexpr (OPDUMP_MAX_RECORDERS == 1) {
    return own.count() > most;
  } else {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < OPDUMP_MAX_RECORDERS; ++i) sum += context.recorders[i].overflows();
    return sum > most;
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
