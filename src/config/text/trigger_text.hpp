#pragma once
#include <string>
#include <vector>

#include "opdump/types/config.hpp"
#include "opdump/types/trigger.hpp"

namespace opdump::tool {

/// When the trigger fires, such as `max of output 0 of op "softmax" below 0.5, in 3 steps in a row of those
/// it looks at`.
std::string trigger_text(const TriggerRule& rule);

/// What the steps of `config` mean for its triggers: nothing where every step is dumped.
std::vector<std::string> trigger_step_lines(const DumpConfig& config);

/// What triggers may have of a boot, in words; empty: any number of firings and bytes.
std::string trigger_limits_text(const TriggerLimits& limits);

}  // namespace opdump::tool
