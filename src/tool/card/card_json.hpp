#pragma once
#include <cstddef>
#include <string>

#include "src/tool/card/model_card.hpp"

namespace opdump::tool {

/// The card as JSON, one operator a line. False when it would be longer than `most` bytes.
bool write_card(const ModelCard& card, std::size_t most, std::string& text);

}  // namespace opdump::tool
