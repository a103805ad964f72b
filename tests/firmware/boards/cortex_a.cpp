// Start-up of the emulated boards with a Cortex-A: one core, no MMU, caches off, everything in RAM.

#include "start.hpp"

extern "C" {
[[noreturn]] void start_image() {
  firmware::start();
}

[[noreturn]] void Fault_Handler() {
  firmware::print("firmware: fault\n");
  firmware::exit_with(firmware::kFaultExit);
}

// Exceptions: reset, undefined, SVC, prefetch abort, data abort, unused, IRQ, FIQ.
[[gnu::naked, gnu::used, gnu::target("arm"), gnu::aligned(32)]] void exception_vectors() {
  asm volatile(
      "b fault_entry\n b fault_entry\n b fault_entry\n b fault_entry\n"
      "b fault_entry\n b fault_entry\n b fault_entry\n b fault_entry\n"
      "fault_entry:\n"
      "ldr sp, =image_stack_top\n"
      "ldr r0, =Fault_Handler\n"
      "bx r0\n");
}

[[gnu::naked, gnu::used, gnu::target("arm"), gnu::section(".entry")]] void Reset_Handler() {
  asm volatile(
      "ldr sp, =image_stack_top\n"
      "ldr r0, =exception_vectors\n"
      "mcr p15, 0, r0, c12, c0, 0\n"  // VBAR
      "mrc p15, 0, r0, c1, c0, 2\n"   // CPACR: VFP and NEON on
      "orr r0, r0, #0xf00000\n"
      "mcr p15, 0, r0, c1, c0, 2\n"
      "isb\n"
      "mov r0, #0x40000000\n"
      "vmsr fpexc, r0\n"
      "ldr r0, =start_image\n"
      "bx r0\n");
}
}
