#pragma once
#include <string>

#include "src/tool/read/dump/real_numbers.hpp"

namespace opdump::tool {

/// What a card says of a quantised tensor, as "scale 0.5  zero point -4".
std::string parameter_text(const Quantisation& quant);

/// Why no real values are known of a tensor to which the card's parameters do not apply.
std::string unreal_text(const Quantisation& quant);

}  // namespace opdump::tool
