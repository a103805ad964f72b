#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

#include "tests/support/effort.hpp"
#include "tests/support/flash_rig.hpp"

// Any number of cuts, on parts of all kinds with all that flash may do at once:
//
//     OPDUMP_FLASH_CUTS=10000000 flash_tests -tc="flash log: campaign"

namespace {

using namespace opdump;
using namespace opdump::tests;
using flashlog::Policy;
using Fault = FlashEmulator::Fault;

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  const std::uint64_t number = text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
  return number != 0 ? number : otherwise;
}

/// A life's part, log and faults, all from its seed.
struct Life {
  explicit Life(std::uint32_t life)
      : seed(life),
        setup(kSetups[seed % std::size(kSetups)]),
        flash((choose(), setup.geometry), setup.page_bytes, seed * 7 + 1) {
    flash.volatile_programs = seed / 11 % 2 == 0;
    flash.unsteady = seed / 23 % 4 != 0;
    flash.read_errors = seed / 5 % 3 == 0 ? 50 : 0;
    for (std::uint32_t i = 0; i < setup.bad_blocks; ++i) {
      const Fault faults[] = {Fault::program_fails, Fault::erase_fails, Fault::dying};
      flash.set_fault(flash.random() % setup.geometry.block_count, faults[flash.random() % 3]);
    }
  }

  /// A small part whose programs fail, whatever the block, and are lost out of order while they are not synced.
  static Life of_failing_programs(std::uint32_t seed) {
    Life life({.geometry = {.block_bytes = 512, .block_count = 6, .program_bytes = 16},
               .options = {.prepared_blocks = 2},
               .bad_blocks = 1},
              seed);
    life.flash.volatile_programs = true;
    if (seed % 3 != 0) {
      life.flash.program_errors = 20u << seed / 3 % 6;
      life.setup.bad_blocks = 6;
    }
    const Fault faults[] = {Fault::none, Fault::program_fails, Fault::dying};
    life.flash.set_fault(life.flash.random() % 6, faults[seed / 5 % 3]);
    return life;
  }

  std::uint32_t seed;
  FlashSetup setup;
  FlashEmulator flash;

 private:
  Life(const FlashSetup& part, std::uint32_t life)
      : seed(life), setup(part), flash(part.geometry, part.page_bytes, seed * 7 + 1) {}

  void choose() {
    setup.options.policy = seed / 3 % 4 == 0 ? Policy::stop_when_full : Policy::overwrite_oldest;
    setup.options.prepared_blocks = static_cast<std::uint8_t>(seed / 7 % 4);
    setup.options.verify = seed / 13 % 4 == 0;
    setup.geometry.block_count = 6 + seed / 17 % 12;
    if (seed / 19 % 6 == 0) setup.bad_blocks = 1 + seed / 29 % 2;
    if (setup.bad_blocks != 0) setup.geometry.block_count += 4;
  }

  static constexpr FlashSetup kSetups[] = {
      {.geometry = {.block_bytes = 1024, .program_bytes = 1, .bits_only_clear = true}},
      {.geometry = {.block_bytes = 512, .program_bytes = 4, .bits_only_clear = true}},
      {.geometry = {.block_bytes = 1024, .program_bytes = 16}},
      {.geometry = {.block_bytes = 512, .program_bytes = 8}},
      {.geometry = {.block_bytes = 512, .program_bytes = 32}},
      {.geometry = {.block_bytes = 1024, .program_bytes = 64, .bits_only_clear = true}},
      {.geometry = {.block_bytes = 1024, .program_bytes = 128, .erased = std::byte{0}}},
  };
};

constexpr std::uint32_t kBoots = 24;

/// Boots again and again on one log and loses power somewhere; how often.
std::uint32_t live(Life life) {
  FlashPromises promises;
  for (std::uint32_t boot = 0; boot < kBoots; ++boot) {
    FlashRig rig(life.setup, life.flash, promises, life.seed * 1000 + boot);
    rig.boot();
    const bool lasts =
        life.setup.options.policy == Policy::overwrite_oldest && life.flash.program_errors == 0;
    if (boot % 4 == 3 && lasts && !rig.accepts()) FAIL("the log takes nothing any more");
    rig.flash.cut_at = rig.flash.operations + 1 + rig.flash.random() % 40;
    rig.flash.cut_byte = rig.flash.random() % life.setup.page_bytes;
    const std::uint32_t steps = rig.flash.random() % 120;
    for (std::uint32_t i = 0; i < steps && !rig.flash.off; ++i) rig.step();
    if (!rig.flash.off) rig.flash.cut();
    life.flash = rig.flash;
    promises = rig.promises;
    // A log that keeps the names of failed blocks in those that work needs several of these.
    if (rig.retired() + 4 > life.setup.geometry.block_count) return boot + 1;
  }
  return kBoots;
}

/// OPDUMP_FLASH_SEED=N begins with life N instead of `first`. A failure prints the seed of its life.
void make_campaign(std::uint32_t first, Life (*begin)(std::uint32_t seed)) {
  const std::uint64_t wanted = number_of("OPDUMP_FLASH_CUTS", rounds(20'000));
  std::uint64_t cuts = 0;
  std::uint32_t seed = static_cast<std::uint32_t>(number_of("OPDUMP_FLASH_SEED", first));
  for (; cuts < wanted; ++seed) {
    CAPTURE(seed);
    cuts += live(begin(seed));
    if (wanted >= 1'000'000 && seed % 50'000 == 0)
      std::fprintf(stderr, "%llu cuts, seed %u\n", static_cast<unsigned long long>(cuts), seed);
  }
  MESSAGE(cuts, " cuts, none of which broke a promise");
}

}  // namespace

TEST_CASE("flash log: campaign") {
  make_campaign(1, [](std::uint32_t seed) { return Life(seed); });
}

TEST_CASE("flash log: campaign of a small part whose programs fail") {
  make_campaign(10'907, Life::of_failing_programs);
}
