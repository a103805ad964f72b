#pragma once
#include <cstdint>

#include "opdump/knobs.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Steps `first` to `last`, both included; none if `last` is before `first`. Also a range of a tensor's axis.
struct StepRange {
  std::uint64_t first;
  std::uint64_t last;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
