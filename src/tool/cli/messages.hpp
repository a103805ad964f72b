#pragma once
#include <string>
#include <string_view>

#include "opdump/config/parse.hpp"

namespace opdump::tool {

/// Writes one line to stderr, after everything written to stdout so far. Every message of every command goes
/// through here: characters that would control a terminal, which names in a dump may hold, are made visible.
void say(std::string_view message);

/// As `say`, one line on stdout.
void print_line(std::string_view line);

/// The line of `text` that `error` points into, cut to about a screen's width, and a caret below the place:
/// two lines, as compilers print them. Empty when there is no such line.
std::string refused_line(std::string_view text, const ConfigError& error);

}  // namespace opdump::tool
