#pragma once
#include <string>
#include <string_view>

#include "opdump/base/arena.hpp"
#include "opdump/types/config.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads `0|3-5|10`; an empty text is every step. `invalid_argument` and a `reason` for any other text,
/// `no_memory` when the ranges do not fit.
Result<StepSet> parse_steps(std::string_view text, Arena& memory, std::string& reason);

/// Reads MindSpore's `iteration`, which holds digits, `-` and `|` only. Items that are neither a step nor a
/// range select nothing, and `ignored` says what is wrong with the first of them; if no item is left, no step
/// is selected. `no_memory` when the ranges do not fit.
Result<StepSet> parse_iterations(std::string_view text, Arena& memory, std::string& ignored);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
