#pragma once
#include <cstdint>
#include <string_view>

namespace opdump::tool {

/// What ONNX calls an operator that CANN, TensorFlow Lite or another runtime calls `type`, and that needs
/// neither attributes nor a layout to be computed; empty: it is not known as one. A type of ONNX is its own
/// name.
std::string_view onnx_type_of(std::string_view type);

/// The opset whose meaning those operators have.
inline constexpr std::uint64_t kMappedOpset = 17;

/// Whether `words`, which have a space before and behind each, have this one.
bool is_word_of(std::string_view word, std::string_view words);

}  // namespace opdump::tool
