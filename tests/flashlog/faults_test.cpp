#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/support/effort.hpp"
#include "tests/support/flash_rig.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;
using flashlog::Policy;
using Fault = FlashEmulator::Fault;

/// At least twice as many as there are setups.
std::uint32_t lives() {
  if (std::getenv("OPDUMP_FLASH_CUTS") != nullptr) return 5'000;
  return std::max<std::uint32_t>(10, static_cast<std::uint32_t>(rounds(60)));
}

const FlashSetup kSetups[] = {
    {.geometry = {.block_bytes = 1024, .block_count = 10, .program_bytes = 1, .bits_only_clear = true}},
    {.geometry = {.block_bytes = 1024, .block_count = 9, .program_bytes = 16}},
    {.geometry = {.block_bytes = 1024, .block_count = 12, .program_bytes = 64, .bits_only_clear = true},
     .options = {.prepared_blocks = 3}},
    {.geometry = {.block_bytes = 1024, .block_count = 11, .program_bytes = 128, .erased = std::byte{0}}},
    {.geometry = {.block_bytes = 512, .block_count = 64, .program_bytes = 8},
     .options = {.policy = Policy::stop_when_full}},
};

/// Boots a part again and again, works a while and loses power somewhere.
void live(const FlashSetup& setup, FlashEmulator flash, std::uint32_t boots, std::uint32_t seed) {
  FlashPromises promises;
  for (std::uint32_t boot = 0; boot < boots; ++boot) {
    FlashRig rig(setup, flash, promises, seed * 1000 + boot);
    rig.boot();
    if (boot != 0 && setup.options.policy == Policy::overwrite_oldest && !rig.accepts()) {
      FAIL("the log takes nothing any more");
    }
    rig.flash.cut_at = rig.flash.operations + 1 + rig.flash.random() % 80;
    rig.flash.cut_byte = rig.flash.random() % setup.page_bytes;
    const std::uint32_t steps = rig.flash.random() % 200;
    for (std::uint32_t i = 0; i < steps && !rig.flash.off; ++i) rig.step();
    if (!rig.flash.off) {
      rig.check();
      rig.flash.cut();
    }
    flash = rig.flash;
    promises = rig.promises;
    const bool rotates = setup.bad_blocks == 0 && setup.options.policy == Policy::overwrite_oldest;
    if (rotates && !rig.worn_evenly()) FAIL("blocks are worn unevenly");
  }
}

/// On parts of which up to three blocks have one of `faults` each; what lies is found out where the log verifies.
void live_with(const std::vector<Fault>& faults, bool may_verify) {
  for (std::uint32_t seed = 1; seed <= lives(); ++seed) {
    FlashSetup setup = kSetups[seed % std::size(kSetups)];
    CAPTURE(seed);
    setup.bad_blocks = 1 + seed % 3;
    setup.options.verify = may_verify && seed % 2 == 0;
    FlashEmulator flash(setup.geometry, setup.page_bytes, seed);
    flash.volatile_programs = seed % 3 != 0;
    for (std::uint32_t i = 0; i < setup.bad_blocks; ++i) {
      const Fault fault = faults[flash.random() % faults.size()];
      flash.set_fault(flash.random() % setup.geometry.block_count,
                      fault == Fault::program_lies && !setup.options.verify ? Fault::dying : fault);
    }
    live(setup, flash, 30, seed);
  }
}

}  // namespace

TEST_CASE("flash log: random lives with random ends") {
  for (std::uint32_t seed = 1; seed <= lives(); ++seed) {
    const FlashSetup& setup = kSetups[seed % std::size(kSetups)];
    CAPTURE(seed);
    FlashEmulator flash(setup.geometry, setup.page_bytes, seed);
    flash.volatile_programs = seed % 3 != 0;
    live(setup, flash, 30, seed);
  }
}

TEST_CASE("flash log: blocks that fail, at once or slowly") {
  live_with({Fault::program_fails, Fault::erase_fails, Fault::dying, Fault::program_lies}, true);
}

TEST_CASE("flash log: blocks that are bad from the beginning") {
  live_with({Fault::bad}, false);
}
