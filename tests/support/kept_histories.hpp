#pragma once
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "opdump/parts/history_sink.hpp"
#include "opdump/parts/triggered_history.hpp"
#include "platform/flashlog/flash_history.hpp"
#include "tests/support/flash_emulator.hpp"

namespace opdump::tests {

/// A history in memory before a sink, as a device has one.
struct HistoryInMemory {
  explicit HistoryInMemory(Sink& sink) : history(sink, std::as_writable_bytes(std::span(memory))) {}
  void between_steps() {}

  std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(2048);
  HistorySink history;
};

/// The same in an area of flash, with room for `kSteps` steps before an event.
struct HistoryInFlash {
  static constexpr std::uint32_t kPage = 256, kSteps = 4;

  explicit HistoryInFlash(Sink& sink) : history(sink, device, page) {
    part.power_on();
    history.configure(memory, 0, 0);
    REQUIRE(history.mount() == Status::ok);
  }
  void between_steps() {
    while (history.prepare().value()) continue;
  }

  FlashEmulator part{{.block_bytes = 4096, .block_count = 8, .program_bytes = 4, .bits_only_clear = true},
                     kPage};
  flashlog::Device device = part.device();
  std::byte page[flashlog::FlashHistory::kPrefixBytes + kPage];
  alignas(8) std::byte memory[flashlog::FlashHistory::memory_bytes(kSteps)];
  flashlog::TriggeredFlashHistory history;
};

}  // namespace opdump::tests
