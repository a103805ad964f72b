#pragma once
#include <string>
#include <string_view>

#include "opdump/arena.hpp"
#include "opdump/step_set.hpp"

namespace opdump::config {

/// Reads `0|3-5|10`; an empty text is every step. `invalid_argument` and a `reason` when it says something
/// else, `no_memory` when the ranges do not fit.
Result<StepSet> parse_steps(std::string_view text, Arena& memory, std::string& reason);

}  // namespace opdump::config
