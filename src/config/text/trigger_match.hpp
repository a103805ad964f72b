#pragma once
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/config/text/model_match.hpp"

namespace opdump::tool {

/// Instructions of a look at a tensor of float32, rounded up.
struct LookInstructions {
  std::string_view what;
  std::uint64_t each;  ///< without an element
  std::uint64_t per_byte;
};

/// As tests/firmware/instruction_test.py counts them on a Cortex-M3, in the order of LookCosts.
inline constexpr LookInstructions kLookInstructions[] = {
    {"extremes and counts", 650, 7}, {"sums", 700, 35}, {"changes", 450, 7}};
static_assert(std::size(kLookInstructions) == std::tuple_size_v<LookCosts>);

/// Adds what the triggers of `config` find in `model` to `match`, and those that find nothing to `misses`.
void match_triggers(const DumpConfig& config, const ModelDesc& model, ModelMatch& match,
                    std::vector<Miss>& misses);

/// Lines that say what a look, a firing and a boot cost, if `config` has triggers. A step writes `bytes_per_step`.
std::vector<std::string> trigger_lines(const DumpConfig& config, std::span<const ModelMatch> models,
                                       std::uint64_t bytes_per_step);

}  // namespace opdump::tool
