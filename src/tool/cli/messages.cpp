#include "src/tool/cli/messages.hpp"

#include <cstdio>

#include "src/config/text/display_text.hpp"

namespace opdump::tool {

void say(std::string_view message) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", printable(message).c_str());
}

void print_line(std::string_view line) {
  std::puts(printable(line).c_str());
}

}  // namespace opdump::tool
