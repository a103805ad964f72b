// Start-up of the emulated boards with a Cortex-M.

#include "start.hpp"

extern "C" {
extern std::uint32_t image_stack_top[];
[[noreturn]] void Reset_Handler() {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  // Before the first instruction of the FPU, which the compiler may put anywhere.
  volatile std::uint32_t& access_control = *reinterpret_cast<volatile std::uint32_t*>(0xe000ed88);
  access_control = access_control | (0xfu << 20);
  asm volatile("dsb\n isb");
#endif
  firmware::start();
}

[[noreturn]] void Fault_Handler() {
  firmware::print("firmware: fault\n");
  firmware::exit_with(firmware::kFaultExit);
}

// A program that uses them defines its own.
[[gnu::weak]] void PendSV_Handler() {
  Fault_Handler();
}
[[gnu::weak]] void SysTick_Handler() {
  Fault_Handler();
}

union Vector {
  std::uint32_t* stack;
  void (*handler)();
};

[[gnu::section(".vectors"), gnu::used]] extern const Vector vectors[16] = {
    {.stack = image_stack_top},   {.handler = Reset_Handler}, {.handler = Fault_Handler},
    {.handler = Fault_Handler},   {.handler = Fault_Handler}, {.handler = Fault_Handler},
    {.handler = Fault_Handler},   {.handler = Fault_Handler}, {.handler = Fault_Handler},
    {.handler = Fault_Handler},   {.handler = Fault_Handler}, {.handler = Fault_Handler},
    {.handler = Fault_Handler},   {.handler = Fault_Handler}, {.handler = PendSV_Handler},
    {.handler = SysTick_Handler},
};
}
