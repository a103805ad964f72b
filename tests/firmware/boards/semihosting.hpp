#pragma once
#include <cstdint>

/// The calls of ARM's semihosting that start-up code needs; the C library makes the others.
namespace firmware {

inline std::uintptr_t semihost(std::uint32_t operation, const void* argument) {
  register std::uintptr_t r0 asm("r0") = operation;
  register const void* r1 asm("r1") = argument;
#if __ARM_ARCH_PROFILE == 'M'
  asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
#else
  asm volatile("svc 0xab" : "+r"(r0) : "r"(r1) : "memory", "lr");
#endif
  return r0;
}

inline void print(const char* text) {
  constexpr std::uint32_t kWrite0 = 0x04;
  semihost(kWrite0, text);
}

/// Ends the emulator with `code` as its exit status.
[[noreturn]] inline void exit_with(std::uint32_t code) {
  constexpr std::uint32_t kExitExtended = 0x20;
  constexpr std::uint32_t kApplicationExit = 0x20026;
  const std::uint32_t block[] = {kApplicationExit, code};
  for (;;) semihost(kExitExtended, block);
}

/// What the emulator was given as arguments, in `memory`; empty when it does not fit.
inline void command_line(char* memory, std::uint32_t bytes) {
  constexpr std::uint32_t kGetCommandLine = 0x15;
  struct {
    char* text;
    std::uint32_t bytes;
  } block = {memory, bytes};
  if (semihost(kGetCommandLine, &block) != 0) memory[0] = '\0';
}

}  // namespace firmware
