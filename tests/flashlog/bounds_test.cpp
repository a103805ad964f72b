#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "tests/support/draining_firmware.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

TEST_CASE(
    "flash log: a drain adds no more than its bound, which is at most half as much again, and never erases") {
  const Geometry parts[] = {
      {.block_bytes = 4096, .block_count = 24, .program_bytes = 1, .bits_only_clear = true},
      {.block_bytes = 4096, .block_count = 24, .program_bytes = 16},
      {.block_bytes = 65536, .block_count = 8, .program_bytes = 8}};
  std::mt19937 random(1);
  const auto check = [&random](const DrainSetup& setup) {
    INFO(setup.part.program_bytes, " ", setup.knows_heads, " ", setup.tensor_bytes, " ", setup.budget);
    DrainingFirmware firmware(setup);
    std::uint32_t most_added = 0, most_records = 0, moved = 0;
    for (int round = 0; round < 300; ++round) {
      // What the ring has room for.
      for (std::size_t left = moved == 0 ? random() % (8000 / (setup.tensor_bytes + 160)) + 1 : 0; left != 0;
           --left)
        firmware.step();
      REQUIRE(firmware.erase_ahead() == Status::ok);
      const std::uint32_t ready = firmware.log.ready_bytes(), written = firmware.session.counts().written;
      moved = firmware.drain();
      const std::uint32_t added = ready - firmware.log.ready_bytes();
      // Those that it has begun or ended; small ones go at once.
      const bool cuts = setup.tensor_bytes > 255 && setup.budget > 255;
      const std::uint32_t ended = firmware.session.counts().written - written;
      const std::uint32_t records = cuts ? ended + 1 : std::max(ended, 1u);
      CHECK(added <= FlashLog::most_bytes(std::min(moved, records * setup.tensor_bytes), records));
      most_added = std::max(most_added, added);
      most_records = std::max(most_records, records);
    }
    const std::uint32_t bytes = std::min(setup.budget + 255, most_records * setup.tensor_bytes);
    CHECK(2 * FlashLog::most_bytes(bytes, most_records, 23) <= 3 * most_added);
    firmware.step();
    CHECK(firmware.finalize() == Status::ok);
    CHECK(firmware.steps_to_end > static_cast<int>(setup.tensor_bytes / (setup.budget + 256) / 3));
    CHECK(firmware.session.finalize_some(512) == Status::not_initialised);
    CHECK(firmware.flash.violation == nullptr);
    const DumpCounts counts = firmware.session.counts();
    CHECK(counts.sink_failed == 0);
    CHECK(counts.wanted == counts.written + counts.lost());
  };
  for (const Geometry& part : parts) {
    for (const std::uint32_t tensor_bytes : {1u, 64u, 200u, 3000u, 7000u}) {
      for (const std::uint32_t budget : {1u, 512u, 2000u}) {
        for (const bool knows_heads : {false, true})
          check({.part = part,
                 .tensor_bytes = tensor_bytes,
                 .budget = budget,
                 .prepared_blocks = static_cast<std::uint8_t>(part.block_bytes == 4096 ? 8 : 1),
                 .knows_heads = knows_heads});
      }
    }
  }
}

TEST_CASE("flash log: the loop that erases where a drain would lack room loses nothing") {
  constexpr std::uint32_t kMost = FlashLog::most_bytes(1024 + 255, 2);  // a step between two drains
  for (const std::uint32_t tensor_bytes : {8u, 64u, 300u}) {
    CAPTURE(tensor_bytes);
    DrainingFirmware firmware({.part = {.block_bytes = 4096, .block_count = 24, .program_bytes = 4},
                               .tensor_bytes = tensor_bytes,
                               .budget = 1024,
                               .prepared_blocks = 1,
                               .knows_heads = true});
    for (int turn = 0; turn < 3000; ++turn) {
      firmware.step();
      while (firmware.log.ready_bytes() < kMost && firmware.log.erase_ahead().value()) continue;
      REQUIRE(firmware.log.ready_bytes() >= kMost);
      firmware.session.drain_some(1024);
    }
    CHECK(firmware.finalize() == Status::ok);
    CHECK(firmware.session.counts().written == 3000);
  }
}

TEST_CASE("flash log: without a block erased ahead it refuses, and goes on when there is one") {
  DrainingFirmware firmware(
      {.part = {.block_bytes = 4096, .block_count = 8, .program_bytes = 4, .bits_only_clear = true},
       .tensor_bytes = 3000,
       .prepared_blocks = 1});
  REQUIRE(firmware.erase_ahead() == Status::ok);
  std::uint32_t refused = 0;
  for (int round = 0; round < 60; ++round) {
    firmware.step();
    const std::uint64_t erases = firmware.flash.erases;
    firmware.session.drain_some(SIZE_MAX);
    CHECK(firmware.flash.erases == erases);
    // Seldom enough that the log runs out of erased blocks.
    if (round % 5 == 4) REQUIRE(firmware.erase_ahead() == Status::ok);
    refused = firmware.session.counts().sink_failed;
  }
  CHECK(refused > 10);
  CHECK(firmware.session.last_sink_failure() == Status::no_space);
  const std::uint32_t written = firmware.session.counts().written;
  CHECK(written > 10);
  REQUIRE(firmware.erase_ahead() == Status::ok);
  CHECK(firmware.log.sync() == Status::ok);
  // What was written last is there, as a log that never refused has it: the newest of eight blocks.
  const FlashContents contents = read_flash(firmware.flash.device());
  CHECK(contents.count(ObjectState::committed) >= 5);
  CHECK(contents.count(ObjectState::damaged) == 0);
  CHECK(firmware.flash.violation == nullptr);
}

TEST_CASE("flash log: an emergency does not sync, and pairs of a log that erases ahead are synced") {
  FlashEmulator flash({.block_bytes = 4096, .block_count = 8, .program_bytes = 4}, 256);
  const Device device = flash.device();
  std::byte page[FlashLog::kPrefixBytes + 256];
  FlashLog log(device, page, {.prepared_blocks = 2, .erase_budget = 0});
  REQUIRE(log.mount() == Status::ok);
  while (log.erase_ahead().value()) continue;
  const auto commit_pair = [&log](const char* a, const char* b) {
    const ObjectId first = log.begin({{}, "d", a}).value(), second = log.begin({{}, "d", b}).value();
    return log.commit(first, second);
  };
  const std::uint64_t before = flash.syncs;
  CHECK(commit_pair("a", "b") == Status::ok);
  CHECK(flash.syncs > before);
  CHECK(log.emergency() == Status::ok);
  const std::uint64_t after = flash.syncs;
  CHECK(commit_pair("c", "d") == Status::ok);
  CHECK(flash.syncs == after);
}
