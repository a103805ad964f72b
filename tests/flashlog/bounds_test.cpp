#include <doctest/doctest.h>

#include "tests/support/draining_firmware.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

TEST_CASE("flash log: a drain programs no more than its bound, and erases only ahead") {
  const Geometry parts[] = {
      {.block_bytes = 4096, .block_count = 24, .program_bytes = 1, .bits_only_clear = true},
      {.block_bytes = 4096, .block_count = 24, .program_bytes = 16},
      {.block_bytes = 65536, .block_count = 8, .program_bytes = 8}};
  for (const Geometry& part : parts) {
    for (const std::uint32_t tensor_bytes : {1u, 200u, 3000u, 7000u}) {
      for (const std::uint32_t budget : {1u, 512u, 2000u}) {
        CAPTURE(part.block_bytes);
        CAPTURE(part.program_bytes);
        CAPTURE(tensor_bytes);
        CAPTURE(budget);
        DrainingFirmware firmware(
            {.part = part, .tensor_bytes = tensor_bytes, .budget = budget, .prepared_blocks = 4});
        for (int round = 0; round < 300; ++round) {
          if (round % 4 == 0) firmware.step();
          REQUIRE(firmware.erase_ahead() == Status::ok);
          firmware.drain();
        }
        CHECK(firmware.finalize() == Status::ok);
        CHECK(firmware.flash.violation == nullptr);
        const DumpCounts counts = firmware.session.counts();
        CHECK(counts.sink_failed == 0);
        CHECK(counts.written > 0);
        CHECK(counts.wanted == counts.written + counts.lost());
      }
    }
  }
}

TEST_CASE("flash log: finalize in steps ends what is left of large records") {
  DrainingFirmware firmware({.part = {.block_bytes = 4096, .block_count = 24, .program_bytes = 4},
                             .tensor_bytes = 7000,
                             .budget = 512});
  firmware.step();
  firmware.step();
  CHECK(firmware.finalize() == Status::ok);
  CHECK(firmware.steps_to_end >= 20);
  CHECK(firmware.session.counts().written == 2);
  CHECK(firmware.session.finalize_some(512) == Status::not_initialised);
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
  while (log.erase_ahead().value()) {
  }
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
