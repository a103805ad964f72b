#pragma once
#include <string>
#include <string_view>

#include "src/tool/judge/diverge/replay_model.hpp"

namespace opdump::tool {

/// Reads an attribute of a card: JSON, or the text of a JSON string. JSON does not tell 1 from 1.0, so a
/// table of names tells which attributes of ONNX are floats. False where it is no value of ONNX.
bool read_card_attribute(std::string_view name, std::string_view value, ReplayAttribute& to);

}  // namespace opdump::tool
