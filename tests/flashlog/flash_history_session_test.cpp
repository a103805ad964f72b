#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "platform/baremetal/tick_clock.hpp"
#include "platform/flashlog/flash_history.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/one_op_session.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

namespace {

constexpr std::uint32_t kHistoryPage = 256, kHistorySteps = 5;

/// A firmware with a log, and a history before it in an area of its own.
class HistoryFirmware {
 public:
  HistoryFirmware(const FlashEmulator& log_part, const FlashEmulator& history_part)
      : log_flash(log_part), history_flash(history_part) {
    log_flash.power_on();
    history_flash.power_on();
    REQUIRE(log_.mount() == Status::ok);
    history.configure(memory_, kHistorySteps, 2);
    REQUIRE(history.mount() == Status::ok);
  }

  void capture(int steps, std::byte value) {
    for (int step = 0; step < steps; ++step) {
      const std::vector<std::byte> data(1500, value);
      REQUIRE(capturing.step(data) == Status::ok);
      while (capturing.session.drain_some(700) != 0) {
        while (history.prepare().value()) continue;
      }
      clock_.tick();
    }
  }

  FlashEmulator log_flash;
  FlashEmulator history_flash;

 private:
  const Device log_device_ = log_flash.device();
  const Device history_device_ = history_flash.device();
  std::byte log_page_[FlashLog::kPrefixBytes + kHistoryPage];
  std::byte history_page_[FlashHistory::kPrefixBytes + kHistoryPage];
  alignas(8) std::byte memory_[FlashHistory::memory_bytes(kHistorySteps)];
  FlashLog log_{log_device_, log_page_, {}};

 public:
  FlashHistory history{log_, history_device_, history_page_};

 private:
  baremetal::TickClock clock_{1000};

 public:
  OneOpSession capturing{history, clock_, WhenFull::drop, JournalDetail::none};
};

/// The steps of a log's records, by their directories; each record has `bytes` of data at least.
std::vector<std::string> steps_in(FlashEmulator& part) {
  std::vector<std::string> steps;
  for (const FlashContents::Object& object : read_flash(part.device()).objects) {
    if (object.state != ObjectState::committed) continue;
    CHECK(object.bytes.size() > 1500);
    const std::string directory = object.path.substr(0, object.path.rfind('/'));
    steps.push_back(directory.substr(directory.rfind('/') + 1));
  }
  return steps;
}

}  // namespace

TEST_CASE("flash history: a firmware's log gets the steps around a trigger, and after a boot what was left") {
  const Geometry part = {.block_bytes = 4096, .block_count = 32, .program_bytes = 4, .bits_only_clear = true};
  FlashEmulator log_part(part, kHistoryPage), history_part(part, kHistoryPage);
  {
    HistoryFirmware first(log_part, history_part);
    REQUIRE(first.history.remains().value().boot == 0);
    first.capturing.start();
    first.capture(20, std::byte{1});
    CHECK(first.log_flash.operations == 0);
    first.history.trigger();
    first.capture(10, std::byte{2});
    REQUIRE(first.history.sync() == Status::ok);
    CHECK(first.history.lost() == 0);
    CHECK(first.history.handed_on() == 7);
    // Power goes.
    first.log_flash.cut();
    first.history_flash.cut();
    log_part = first.log_flash;
    history_part = first.history_flash;
  }
  log_part.power_on();
  history_part.power_on();
  CHECK(steps_in(log_part) == std::vector<std::string>{"15", "16", "17", "18", "19", "20", "21"});
  const FlashContents log = read_flash(log_part.device());
  REQUIRE(log.journals.size() == 1);
  CHECK(log.journals.begin()->first.ends_with("/opdump.history"));
  CHECK(log.journals.begin()->second == "opdump-history,1\nwritten,1,call,16,22,7,0\nlet_go,15\n");
  // The area itself is a log too.
  CHECK(steps_in(history_part).size() > 20);
  {
    HistoryFirmware second(log_part, history_part);
    const FlashHistory::Remains left = second.history.remains().value();
    CHECK(left.boot == 1);
    CHECK(left.first_step == 23);
    CHECK(left.last_step == 30);
    CHECK(left.objects == 8);
    CHECK_FALSE(left.torn);
    CHECK_FALSE(left.written_out);
    CHECK(second.history.hand_on_remains() == Status::ok);
    second.capturing.start();
    second.capture(3, std::byte{3});
    REQUIRE(second.history.sync() == Status::ok);
    CHECK(second.history.remains().value().written_out);
    CHECK(second.history.remains().value().objects == 0);
    CHECK(second.history.hand_on_remains() == Status::not_found);
    CHECK(second.log_flash.violation == nullptr);
    CHECK(second.history_flash.violation == nullptr);
    log_part = second.log_flash;
  }
  const std::vector<std::string> steps = steps_in(log_part);
  REQUIRE(steps.size() == 15);
  CHECK(steps[7] == "22");
  CHECK(steps.back() == "29");
}

TEST_CASE("flash history: whenever power goes, a step that was to be handed on is in the log or remains") {
  const Geometry part = {.block_bytes = 4096, .block_count = 32, .program_bytes = 4, .bits_only_clear = true};
  HistoryFirmware firmware(FlashEmulator(part, kHistoryPage), FlashEmulator(part, kHistoryPage));
  firmware.log_flash.volatile_programs = true;
  int latest = -1;  // step that is being captured
  bool triggered = false;
  std::string broken;
  std::uint64_t cuts = 0;
  const auto cut_at = [&](FlashEmulator& flash, const FlashEmulator::Operation& operation) {
    if (!triggered || ++cuts % OPDUMP_TEST_SHARE != 0 || !broken.empty()) return;
    FlashEmulator log_part = firmware.log_flash, history_part = firmware.history_flash;
    FlashEmulator& dying = &flash == &firmware.log_flash ? log_part : history_part;
    log_part.before = history_part.before = nullptr;
    static_cast<void>(dying.cut(operation, operation.cuts / 2));
    (&dying == &log_part ? history_part : log_part).cut();
    HistoryFirmware after(log_part, history_part);
    const bool left = after.history.remains().value().objects != 0;
    if (left && after.history.hand_on_remains() != Status::ok) broken += "not handed on\n";
    if (after.history.sync() != Status::ok) broken += "no sync\n";
    const std::vector<std::string> steps = steps_in(after.log_flash);
    // What was captured last may be in the page of the area still.
    for (int step = 15; step <= std::min(latest - 2, 21); ++step) {
      if (std::find(steps.begin(), steps.end(), std::to_string(step)) == steps.end())
        broken += "in step " + std::to_string(latest) + ": " + std::to_string(step) + " is lost\n";
    }
  };
  firmware.log_flash.before = firmware.history_flash.before = cut_at;
  firmware.capturing.start();
  for (latest = 0; latest < 40; ++latest) {
    if (latest == 20) {
      triggered = true;
      firmware.history.trigger();
    }
    firmware.capture(1, std::byte{1});
  }
  firmware.log_flash.before = firmware.history_flash.before = nullptr;
  if (!broken.empty()) FAIL(broken);
  CHECK(cuts > 100);
  CHECK(firmware.history.handed_on() == 7);
}
