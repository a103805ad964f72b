#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace opdump::tool {

/// What operators of this type are called here, whatever their runtime calls them: "conv" of "Conv2D", "CONV_2D" and
/// "QLinearConv". A type that is not known stays, in small letters without punctuation; empty for an empty one.
std::string canonical_type(std::string_view type);

/// Whether a word is one of those of a list, with spaces between.
bool has_word(std::string_view words, std::string_view word);

/// Whether one of that type runs other operators, which may read what is no input of it.
bool runs_others(std::string_view type);

/// Which input of the operator for real numbers one of `type` is: an operator of ONNX for integers has scales and zero
/// points between. Those are beyond all others.
std::uint32_t real_input(std::string_view type, std::uint32_t index);

/// The part of a name that runtimes agree on: without a prefix up to '!', what follows ';' or ':', slashes at
/// the start, and a last part that is a type; in small letters, with '_' for other punctuation.
std::string common_name(std::string_view name);

}  // namespace opdump::tool
