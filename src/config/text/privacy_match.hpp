#pragma once
#include "src/config/text/model_match.hpp"

namespace opdump::tool {

/// Fills in what the privacy of `config` keeps of `model`, whose operators with `bits` are dumped, and adds
/// the rules that name none of its tensors to `misses`.
void match_privacy(const DumpConfig& config, const ModelDesc& model, std::span<const std::uint8_t> bits,
                   ModelMatch& match, std::vector<Miss>& misses);

}  // namespace opdump::tool
