// Start-up of firmware on a Cortex-M3 as small as it can be: vectors, memory, constructors, `main`.

#include <cstdint>

extern "C" {
using Handler = void (*)();
extern const std::uint32_t image_data_load[];
extern std::uint32_t image_data_start[], image_data_end[];
extern std::uint32_t image_bss_start[], image_bss_end[];
extern const Handler image_init_start[], image_init_end[];
extern std::uint32_t image_stack_top[];

int main();
[[noreturn]] void Reset_Handler();
[[noreturn]] void Fault_Handler();
void SysTick_Handler();

/// Ends the emulator with exit status 0 or 1.
[[noreturn]] static void stop(bool ok) {
  register std::uintptr_t r0 asm("r0") = 0x18;
  register std::uintptr_t r1 asm("r1") = ok ? 0x20026 : 0x20023;
  for (;;) asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void Fault_Handler() {
  stop(false);
}

// As loops: what they would become are calls of the library.
[[gnu::optimize("no-tree-loop-distribute-patterns")]] void Reset_Handler() {
  const std::uint32_t* from = image_data_load;
  for (std::uint32_t* to = image_data_start; to != image_data_end;) *to++ = *from++;
  for (std::uint32_t* to = image_bss_start; to != image_bss_end;) *to++ = 0;
  for (const Handler* at = image_init_start; at != image_init_end; ++at) (*at)();
  stop(main() == 0);
}

union Vector {
  std::uint32_t* stack;
  Handler handler;
};

[[gnu::section(".vectors"), gnu::used]] extern const Vector vectors[16] = {
    {.stack = image_stack_top},   {.handler = Reset_Handler}, {.handler = Fault_Handler},
    {.handler = Fault_Handler},   {.handler = Fault_Handler}, {.handler = Fault_Handler},
    {.handler = Fault_Handler},   {.handler = Fault_Handler}, {.handler = Fault_Handler},
    {.handler = Fault_Handler},   {.handler = Fault_Handler}, {.handler = Fault_Handler},
    {.handler = Fault_Handler},   {.handler = Fault_Handler}, {.handler = Fault_Handler},
    {.handler = SysTick_Handler},
};
}
