#include <doctest/doctest.h>

#include <cstdlib>
#include <random>

#include "tests/support/draining_firmware.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/flash_contents.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

namespace {

struct Seen {
  std::uint64_t drains = 0;
  std::uint64_t erases = 0;
  std::uint64_t programs = 0;
  std::uint64_t read = 0;
  std::uint64_t ended = 0;  ///< sessions whose journal has its end
};

/// A part on which `bad` blocks fail in one way or another.
FlashEmulator part_with_faults(const Geometry& part, std::uint32_t bad, std::mt19937& random) {
  using Fault = FlashEmulator::Fault;
  constexpr Fault kFaults[] = {Fault::program_fails, Fault::erase_fails, Fault::dying};
  FlashEmulator flash(part, DrainingFirmware::kPageBytes, static_cast<std::uint32_t>(random()));
  for (; bad != 0; --bad)
    flash.set_fault(static_cast<std::uint32_t>(random() % part.block_count), kFaults[random() % 3]);
  return flash;
}

/// A life of random steps, budgets and calls in between, after which power goes or the session ends.
void live(DrainingFirmware& firmware, bool ahead, std::mt19937& random, Seen& seen) {
  constexpr std::uint32_t kBudgets[] = {1, 64, 512, 1000};
  const int rounds = 60 + static_cast<int>(random() % 120);
  for (int round = 0; round < rounds; ++round) {
    if (random() % 3 == 0) firmware.step(random() % 2 == 0 ? random() % 200 : random() % 7000);
    // Where nothing is prepared, a drain has to erase by itself, or is not made.
    if (ahead || random() % 4 != 0) static_cast<void>(firmware.erase_ahead());
    const std::uint32_t budget = kBudgets[random() % 4];
    if (ahead && !firmware.ready(budget)) continue;
    firmware.drain(budget);
    ++seen.drains;
    if (random() % 8 == 0) {
      const std::uint64_t erases = firmware.flash.erases;
      const std::uint32_t retired = firmware.log.retired();
      static_cast<void>(firmware.bounded(1, [&] { return firmware.log.sync(); }));
      CHECK(firmware.flash.erases - erases <= firmware.log.retired() - retired);
    }
  }
  if (random() % 3 != 0 && firmware.finalize() == Status::ok) ++seen.ended;
  seen.erases = std::max(seen.erases, firmware.most_erases);
  seen.programs = std::max(seen.programs, firmware.most_programs);
  seen.read = std::max(seen.read, firmware.most_read);
  const DumpCounts counts = firmware.session.counts();
  CHECK(counts.lost() == counts.ring_full + counts.sink_failed + counts.too_large);
  if (firmware.flash.violation != nullptr) FAIL_CHECK(firmware.flash.violation);
}

Seen live_often(const Geometry& part, bool ahead, std::uint32_t bad, std::uint32_t seed) {
  constexpr JournalDetail kDetails[] = {JournalDetail::records, JournalDetail::gaps, JournalDetail::none};
  std::mt19937 random(seed);
  FlashEmulator flash = part_with_faults(part, bad, random);
  Seen seen;
  for (int life = 0; life < 6; ++life) {
    const DrainSetup setup = {.part = part,
                              .tensor_bytes = 7000,
                              .budget = 700,
                              // As many as a full budget needs where blocks are small.
                              .prepared_blocks = static_cast<std::uint8_t>(
                                  part.block_bytes < 8192 ? 3 + random() % 2 : 1 + random() % 3),
                              .journal = kDetails[random() % 3],
                              .erases_ahead = ahead,
                              .verify = random() % 3 == 0};
    DrainingFirmware firmware(setup, &flash);
    CHECK(firmware.mount_reads <= 3 * (part.block_count + 1));
    live(firmware, ahead, random, seen);
    flash = firmware.flash;
    flash.cut();
    flash.power_on();
  }
  return seen;
}

}  // namespace

TEST_CASE("flash log: whatever is dumped, a call erases a block at most, or none that are prepared") {
  // A block takes all that one call moves, so a call enters one block more at most.
  const Geometry parts[] = {
      {.block_bytes = 8192, .block_count = 24, .program_bytes = 1, .bits_only_clear = true},
      {.block_bytes = 16384, .block_count = 16, .program_bytes = 16},
      {.block_bytes = 65536, .block_count = 8, .program_bytes = 256}};
  const std::size_t seeds = std::getenv("OPDUMP_FLASH_CUTS") != nullptr ? 200 : rounds(10);
  for (const bool ahead : {true, false}) {
    Seen all;
    for (const Geometry& part : parts) {
      for (const std::uint32_t bad : {0u, 2u, part.block_count / 3}) {
        for (std::uint32_t seed = 0; seed < seeds; ++seed) {
          CAPTURE(ahead);
          CAPTURE(part.block_bytes);
          CAPTURE(bad);
          CAPTURE(seed);
          const Seen seen = live_often(part, ahead, bad, seed);
          all.drains += seen.drains;
          all.ended += seen.ended;
          all.erases = std::max(all.erases, seen.erases);
          all.programs = std::max(all.programs, seen.programs);
          all.read = std::max(all.read, seen.read);
        }
      }
    }
    CHECK(all.drains > 1000);
    CHECK(all.ended > 10);
    CHECK((all.erases == 0) == ahead);
    MESSAGE(all.drains, " drains, at most ", all.erases, " erases, ", all.programs, " programs and ",
            all.read, " bytes read in one");
  }
}
