#include <doctest/doctest.h>

#include <string>

#include "opdump/parts/settable_clock.hpp"
#include "platform/baremetal/tick_clock.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/one_op_session.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

namespace {

constexpr std::uint32_t kPage = 128;
constexpr std::uint64_t kNoon = 1'795'435'200'000'000;

/// A boot that captures two steps, is told the time, and captures two more. The calls go on when power has ended.
void boot(FlashEmulator& flash) {
  const Device device = flash.device();
  std::byte page[FlashLog::kPrefixBytes + kPage];
  FlashLog log(device, page, {});
  if (log.mount() != Status::ok) return;
  baremetal::TickClock ticks(1000);
  SettableClock clock(ticks);
  OneOpSession capturing(log, clock, WhenFull::inline_drain);
  capturing.start();
  const std::byte data[12] = {};
  for (int step = 0; step < 4; ++step) {
    ticks.tick();
    if (step == 2) static_cast<void>(capturing.session.tell_clock(clock.set(kNoon).value()));
    static_cast<void>(capturing.step(data));
  }
  static_cast<void>(capturing.session.finalize());
}

struct Told {
  int steps = 0;       ///< lines that tell of the clock, whole
  bool wrong = false;  ///< there is one that says anything else
};

Told told_in(FlashEmulator& flash) {
  constexpr std::string_view kLine = "clock,3000,1795435200000000\n";
  Told told;
  for (const auto& [path, text] : read_flash(flash.device()).journals) {
    for (std::size_t at = text.find("clock"); at != text.npos; at = text.find("clock", at + 1)) {
      if (std::string_view(text).substr(at).starts_with(kLine)) {
        ++told.steps;
      } else {
        told.wrong = true;
      }
    }
  }
  return told;
}

}  // namespace

TEST_CASE("flash log: the step of a clock is lost whole or there whole, wherever power is cut") {
  const Geometry parts[] = {
      {.block_bytes = 512, .block_count = 32, .program_bytes = 1, .bits_only_clear = true},
      {.block_bytes = 1024, .block_count = 16, .program_bytes = 16}};
  for (const Geometry& part : parts) {
    FlashEmulator whole(part, kPage);
    boot(whole);
    CHECK(told_in(whole).steps == 1);
    int cuts = 0, kept = 0;
    for (std::uint64_t operation = 1; operation <= whole.operations; ++operation) {
      for (const std::uint32_t byte : {0u, 1u, 40u, 100u, kPage - 1}) {
        FlashEmulator flash(part, kPage, static_cast<std::uint32_t>(operation * 8 + byte));
        flash.volatile_programs = byte == 1;
        flash.cut_at = operation;
        flash.cut_byte = byte;
        boot(flash);
        flash.power_on();
        const Told told = told_in(flash);
        CHECK_FALSE(told.wrong);
        CHECK(told.steps <= 1);
        // A boot after that has the step of its own.
        boot(flash);
        CHECK(told_in(flash).steps == told.steps + 1);
        CHECK_FALSE(told_in(flash).wrong);
        ++cuts;
        kept += told.steps;
      }
    }
    CHECK(cuts >= 75);
    CHECK(kept > 0);
    CHECK(kept < cuts);
  }
}
