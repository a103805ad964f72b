#pragma once
#include <string_view>

namespace opdump::tool {

/// Writes one line to stderr, behind what stdout has so far. Every message of every command goes through here:
/// what would drive a terminal, and a name in a dump may hold it, is made visible.
void say(std::string_view message);

/// As `say`, one line on stdout.
void print_line(std::string_view line);

}  // namespace opdump::tool
