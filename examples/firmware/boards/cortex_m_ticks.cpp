// Ticks of the timer that every Cortex-M has.

#include <cstdint>

#include "../board.hpp"

namespace {

struct SysTick {
  volatile std::uint32_t control;
  volatile std::uint32_t reload;
  volatile std::uint32_t value;
};

SysTick& timer() {
  return *reinterpret_cast<SysTick*>(0xe000e010);
}

void (*handler)() = nullptr;

}  // namespace

namespace board {

void start_ticks(void (*on_tick)()) {
  constexpr std::uint32_t kCycles = 250'000;  // 10 ms at 25 MHz
  constexpr std::uint32_t kProcessorClock = 4, kInterrupt = 2, kEnable = 1;
  handler = on_tick;
  timer().reload = kCycles - 1;
  timer().value = 0;
  timer().control = kProcessorClock | kInterrupt | kEnable;
}

void stop_ticks() {
  timer().control = 0;
}

}  // namespace board

extern "C" void SysTick_Handler();

extern "C" void SysTick_Handler() {
  handler();
}
