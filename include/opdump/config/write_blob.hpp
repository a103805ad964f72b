#pragma once
#include <cstddef>
#include <vector>

#include "opdump/types/config.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// `config` as a plan that `load_plan` reads on the device. For hosts: allocates.
std::vector<std::byte> write_plan(const DumpConfig& config);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
