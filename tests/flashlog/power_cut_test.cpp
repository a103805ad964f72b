#include <doctest/doctest.h>

#include <cstdlib>
#include <span>
#include <string>

#include "tests/support/effort.hpp"
#include "tests/support/flash_rig.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;
using flashlog::Policy;

/// The long run makes more than a million cuts, the full one takes half an hour.
enum class Length { quick, lengthy, full };

Length length() {
  const char* text = std::getenv("OPDUMP_FLASH_CUTS");
  if (text == nullptr) return Length::quick;
  return std::string(text) == "full" ? Length::full : Length::lengthy;
}

std::uint64_t g_cuts = 0;

/// Cuts power at every `strides[0]`-th place of every operation that `device` does from now on, and lets each
/// of the dead parts recover, itself cut likewise by what is left of `strides`.
void cut_everywhere(FlashRig& rig, const FlashSetup& setup, std::span<const std::uint32_t> strides) {
  if (strides.empty()) return;
  rig.flash.before = [&rig, &setup, strides](FlashEmulator& flash,
                                             const FlashEmulator::Operation& operation) {
    const auto recover = [&](auto cut) {
      FlashRig dead(setup, flash, rig.promises, static_cast<std::uint32_t>(++g_cuts));
      cut(dead.flash);
      dead.boot();
      cut_everywhere(dead, setup, strides.subspan(1));
      const bool accepted = dead.accepts();
      dead.flash.before = nullptr;
      if (!accepted && setup.options.policy == Policy::overwrite_oldest)
        FAIL("the log takes nothing any more");
      dead.check();
      if (setup.options.policy == Policy::overwrite_oldest && !dead.worn_evenly())
        FAIL("blocks are worn unevenly");
    };
    recover([](FlashEmulator& dead) { dead.cut(); });
    const std::uint32_t first = flash.random() % strides[0];
    for (std::uint32_t byte = first; byte < operation.cuts; byte += strides[0]) {
      recover([&](FlashEmulator& dead) { static_cast<void>(dead.cut(operation, byte)); });
    }
  };
}

void run_scenario(const FlashSetup& setup, std::uint32_t steps, std::span<const std::uint32_t> strides) {
  FlashRig rig(setup, FlashEmulator(setup.geometry, setup.page_bytes), {}, 7);
  rig.flash.volatile_programs = true;
  rig.boot();
  cut_everywhere(rig, setup, strides);
  for (std::uint32_t i = 0; i < steps; ++i) rig.step();
  rig.flash.before = nullptr;
  rig.check();
}

const FlashSetup kCutSetups[] = {
    {.geometry = {.block_bytes = 1024, .block_count = 6, .program_bytes = 1, .bits_only_clear = true}},
    {.geometry = {.block_bytes = 1024, .block_count = 6, .program_bytes = 16}},
    {.geometry = {.block_bytes = 1024, .block_count = 6, .program_bytes = 64, .bits_only_clear = true},
     .options = {.prepared_blocks = 2}},
    {.geometry = {.block_bytes = 1024, .block_count = 7, .program_bytes = 128, .erased = std::byte{0}}},
    {.geometry = {.block_bytes = 512, .block_count = 24, .program_bytes = 8},
     .options = {.policy = Policy::stop_when_full}},
};

}  // namespace

TEST_CASE("flash log: power is cut everywhere") {
  const std::uint32_t strides[] = {length() != Length::quick ? 1u : OPDUMP_TEST_SHARE > 10 ? 487u : 61u};
  for (const FlashSetup& setup : kCutSetups) {
    CAPTURE(setup.geometry.program_bytes);
    run_scenario(setup, 220, strides);
  }
  MESSAGE(g_cuts, " cuts");
}

TEST_CASE("flash log: power is cut everywhere, and again during recovery") {
  const std::uint32_t stride = length() == Length::full      ? 1
                               : length() == Length::lengthy ? 11
                               : OPDUMP_TEST_SHARE > 10      ? 4801
                                                             : 301;
  const std::uint32_t strides[] = {stride, stride};
  for (const FlashSetup& setup : kCutSetups) {
    CAPTURE(setup.geometry.program_bytes);
    run_scenario(setup, length() == Length::lengthy ? 220 : 120, strides);
  }
  MESSAGE(g_cuts, " cuts");
}
