#pragma once
#include <string>
#include <string_view>

namespace opdump::tool {

/// What operators of this type are called here, whatever their runtime calls them: "conv" of "Conv2D",
/// "CONV_2D" and "QLinearConv". A type that is not known stays, in small letters without punctuation; empty
/// for an empty one.
std::string canonical_type(std::string_view type);

/// The part of a name that runtimes agree on: without a prefix up to '!', what follows ';' or ':', slashes at
/// the start, and a last part that is a type; in small letters, with '_' for other punctuation.
std::string common_name(std::string_view name);

}  // namespace opdump::tool
