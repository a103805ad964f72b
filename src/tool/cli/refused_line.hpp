#pragma once
#include <string>
#include <string_view>

#include "opdump/config/parse.hpp"

namespace opdump::tool {

/// The line of `text` that `error` points into, cut to about a screen's width, and a caret below the place:
/// two lines, as compilers print them. Empty when there is no such line.
std::string refused_line(std::string_view text, const ConfigError& error);

}  // namespace opdump::tool
