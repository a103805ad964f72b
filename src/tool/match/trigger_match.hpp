#pragma once
#include <span>
#include <string>
#include <vector>

#include "src/tool/match/model_match.hpp"

namespace opdump::tool {

/// Of a look at a maximum of float32, as tests/firmware/instruction_test.py counts it, rounded up: without an
/// element, and for each byte.
inline constexpr std::uint64_t kLookInstructions = 650;
inline constexpr std::uint64_t kLookInstructionsPerByte = 7;

/// Adds what the triggers of `config` find in `model` to `match`, and those that find nothing to `misses`.
void match_triggers(const DumpConfig& config, const ModelDesc& model, ModelMatch& match,
                    std::vector<Miss>& misses);

/// Lines that say what a look, a firing and a day cost, if `config` has triggers. A step writes
/// `bytes_per_step`.
std::vector<std::string> trigger_lines(const DumpConfig& config, std::span<const ModelMatch> models,
                                       std::uint64_t bytes_per_step);

}  // namespace opdump::tool
