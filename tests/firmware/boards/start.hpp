#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "semihosting.hpp"

extern "C" {
using Initialiser = void (*)();
extern const std::uint32_t image_data_load[];
extern std::uint32_t image_data_start[], image_data_end[];
extern std::uint32_t image_bss_start[], image_bss_end[];
extern const Initialiser image_init_start[], image_init_end[];

void initialise_monitor_handles();  // of the C library, for files through semihosting
int main(int argc, char** argv);

// What the C library asks of those who leave out its own start-up.
[[gnu::used]] inline void* __dso_handle = nullptr;
[[gnu::used]] inline void _fini() {}
}

namespace firmware {

/// Exit status of a program that ended in a fault.
inline constexpr std::uint32_t kFaultExit = 99;

/// Splits `line` at blanks; returns how many arguments there are.
inline int split(char* line, char** arguments, int most) {
  int count = 0;
  while (count < most) {
    while (*line == ' ') *line++ = '\0';
    if (*line == '\0') break;
    arguments[count++] = line;
    while (*line != ' ' && *line != '\0') ++line;
  }
  return count;
}

/// From the first instruction with a stack to `main` and out: memory, C library, constructors, arguments.
[[noreturn]] inline void start() {
  for (std::uint32_t *to = image_data_start, i = 0; to + i != image_data_end; ++i) to[i] = image_data_load[i];
  for (std::uint32_t* to = image_bss_start; to != image_bss_end; ++to) *to = 0;
  initialise_monitor_handles();
  for (const Initialiser* at = image_init_start; at != image_init_end; ++at) (*at)();
  static char line[256];
  static char* arguments[17];
  command_line(line, sizeof line);
  std::exit(main(split(line, arguments, 16), arguments));
}

}  // namespace firmware
