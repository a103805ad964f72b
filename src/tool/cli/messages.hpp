#pragma once
#include <string_view>

namespace opdump::tool {

/// Writes one line to stderr, after everything written to stdout so far. Every message of every command goes
/// through here: characters that would control a terminal, which names in a dump may hold, are made visible.
void say(std::string_view message);

/// As `say`, one line on stdout.
void print_line(std::string_view line);

}  // namespace opdump::tool
