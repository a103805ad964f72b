#pragma once
#include <atomic>

#include "opdump/knobs.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Keeps the compiler from moving loads and stores across, for memory that outlives a reset of this
/// processor.
inline void compiler_fence() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
