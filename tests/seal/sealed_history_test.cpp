#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "opdump/boot.hpp"
#include "platform/baremetal/tick_clock.hpp"
#include "platform/flashlog/flash_history.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "tests/seal/sealed_bench.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/one_op_session.hpp"

using namespace opdump;
using namespace opdump::tests;
using flashlog::FlashHistory;
using flashlog::FlashLog;

static_assert(std::is_constructible_v<FlashHistory, Sink&, const flashlog::Device&, MutableBytes>);
static_assert(
    !std::is_constructible_v<FlashHistory, SealedSink<FlashLog>&, const flashlog::Device&, MutableBytes>);
static_assert(!std::is_constructible_v<FlashHistory, SealedSink<>&, const flashlog::Device&, MutableBytes>);

namespace {

constexpr std::uint32_t kSealedPage = 256, kKeptSteps = 5;
constexpr std::size_t kDataBytes = 700;
constexpr std::size_t kSearched = 8;
constexpr flashlog::Geometry kSealedArea = {
    .block_bytes = 4096, .block_count = 16, .program_bytes = 4, .bits_only_clear = true};

/// What is captured in a step.
std::vector<std::byte> data_of(int step) {
  std::vector<std::byte> data(kDataBytes);
  std::uint32_t seed = static_cast<std::uint32_t>(step) * 2654435761u + 1;
  for (std::byte& byte : data) byte = static_cast<std::byte>((seed = seed * 1664525 + 1013904223) >> 24);
  return data;
}

/// A firmware whose history and log hold what a SealedSink before them has sealed.
class SealedFirmware {
 public:
  SealedFirmware(const FlashEmulator& log_part, const FlashEmulator& history_part, bool seals = true)
      : log_flash(log_part), history_flash(history_part) {
    log_flash.power_on();
    history_flash.power_on();
    REQUIRE(log_.mount() == Status::ok);
    history.configure(memory_, kKeptSteps, 1);
    REQUIRE(history.mount() == Status::ok);
    if (seals) REQUIRE(sealed.seal(recipient.public_key()) == Status::ok);
  }

  void capture(int step) {
    REQUIRE(capturing.step(data_of(step)) == Status::ok);
    while (capturing.session.drain_some(700) != 0) continue;
    const std::string row = "row " + std::to_string(step) + "\n";
    const Bytes part = as_bytes(row);
    REQUIRE(sealed.append_lines({"/flash", "time", "table.csv"}, {&part, 1}) == Status::ok);
    clock_.tick();
  }

  FlashEmulator log_flash;
  FlashEmulator history_flash;
  Recipient recipient;

 private:
  const flashlog::Device log_device_ = log_flash.device();
  const flashlog::Device history_device_ = history_flash.device();
  std::byte log_page_[FlashLog::kPrefixBytes + kSealedPage];
  std::byte history_page_[FlashHistory::kPrefixBytes + kSealedPage];
  alignas(8) std::byte memory_[FlashHistory::memory_bytes(kKeptSteps)];
  std::byte chunks_[SealedSink<FlashHistory>::bytes_for(256)];
  sodium::SodiumSealer sealer_{sodium_library()};
  FlashLog log_{log_device_, log_page_, {}};

 public:
  FlashHistory history{log_, history_device_, history_page_};
  SealedSink<FlashHistory> sealed{history, sealer_, chunks_};

 private:
  baremetal::TickClock clock_{1000};

 public:
  OneOpSession capturing{sealed, clock_, WhenFull::drop, JournalDetail::none};
};

std::string image_of(FlashEmulator& part) {
  const flashlog::Device device = part.device();
  std::string image;
  std::string block(device.geometry.block_bytes, '\0');
  for (std::uint32_t i = 0; i < device.geometry.block_count; ++i) {
    REQUIRE(device.read(device.context, i, 0, std::as_writable_bytes(std::span(block))) == Status::ok);
    image += block;
  }
  return image;
}

/// All pieces of kSearched bytes of what is captured in steps up to `steps`.
std::unordered_set<std::string> pieces_of(int steps) {
  std::unordered_set<std::string> pieces;
  for (int step = 0; step < steps; ++step) {
    const std::vector<std::byte> data = data_of(step);
    for (std::size_t at = 0; at + kSearched <= data.size(); ++at)
      pieces.emplace(as_text(Bytes(data).subspan(at, kSearched)));
  }
  return pieces;
}

/// How many of them are in clear in a part.
std::size_t found_in(FlashEmulator& part, const std::unordered_set<std::string>& pieces) {
  const std::string image = image_of(part);
  std::size_t found = 0;
  for (std::size_t at = 0; at + kSearched <= image.size(); ++at)
    found += pieces.contains(image.substr(at, kSearched));
  return found;
}

/// The steps of a log's records, each of which has to open, whole, to what was captured then.
std::vector<int> opened_steps(FlashEmulator& part, tool::Unsealer& key, std::string& broken) {
  std::vector<int> steps;
  for (const FlashContents::Object& object : read_flash(part.device()).objects) {
    if (object.state != flashlog::ObjectState::committed) continue;
    const std::string directory = object.path.substr(0, object.path.rfind('/'));
    const int step = std::stoi(directory.substr(directory.rfind('/') + 1));
    const Opened opened = open_file(key, object.bytes);
    if (opened.faults != "") broken += object.path + ": " + opened.faults;
    if (!opened.text.ends_with(as_text(data_of(step)))) broken += object.path + ": other text\n";
    steps.push_back(step);
  }
  return steps;
}

}  // namespace

TEST_CASE("seal: a history in flash has nothing of the plaintext, before a trigger and after it") {
  constexpr int kSteps = 30;
  const FlashEmulator part(kSealedArea, kSealedPage);
  const std::unordered_set<std::string> pieces = pieces_of(kSteps);
  for (const bool seals : {false, true}) {
    CAPTURE(seals);
    SealedFirmware firmware(part, part, seals);
    firmware.capturing.start();
    for (int step = 0; step < kSteps; ++step) {
      if (step == 20) firmware.history.trigger();
      firmware.capture(step);
      REQUIRE(firmware.sealed.sync() == Status::ok);
      if (seals && found_in(firmware.history_flash, pieces) != 0) FAIL("in clear in step ", step);
    }
    CHECK(firmware.history.lost() == 0);
    CHECK((found_in(firmware.history_flash, pieces) == 0) == seals);
    CHECK((found_in(firmware.log_flash, pieces) == 0) == seals);
    CHECK((image_of(firmware.history_flash).find("row 1") == std::string::npos) == seals);
    if (!seals) continue;
    std::string broken;
    const std::vector<int> steps = opened_steps(firmware.log_flash, *firmware.recipient.key, broken);
    CHECK(broken == "");
    CHECK(steps == std::vector<int>{15, 16, 17, 18, 19, 20});
    // Lines whose predecessors were let go are opened, and miss nothing.
    const FlashContents log = read_flash(firmware.log_flash.device());
    const Opened rows = open_file(*firmware.recipient.key, log.journals.at("time/table.csv"));
    CHECK(rows.faults == "");
    CHECK(rows.text == "row 15\nrow 16\nrow 17\nrow 18\nrow 19\nrow 20\n");
  }
}

TEST_CASE("seal: whenever power goes, a history in flash is sealed, and what remains of it is opened") {
  constexpr int kSteps = 40, kTrigger = 20;
  const std::unordered_set<std::string> pieces = pieces_of(kSteps);
  const FlashEmulator part(kSealedArea, kSealedPage);
  SealedFirmware firmware(part, part);
  firmware.log_flash.volatile_programs = true;
  int latest = -1, synced = -1;
  std::string broken;
  std::uint64_t cuts = 0, handed_on = 0;
  const auto cut_at = [&](FlashEmulator& flash, const FlashEmulator::Operation& operation,
                          std::uint32_t place) {
    FlashEmulator log_part = firmware.log_flash, history_part = firmware.history_flash;
    FlashEmulator& dying = &flash == &firmware.log_flash ? log_part : history_part;
    log_part.before = history_part.before = nullptr;
    static_cast<void>(dying.cut(operation, place));
    (&dying == &log_part ? history_part : log_part).cut();
    ++cuts;
    SealedFirmware after(log_part, history_part);
    if (found_in(after.history_flash, pieces) + found_in(after.log_flash, pieces) != 0)
      broken += "in clear\n";
    const FlashHistory::Remains remains = after.history.remains().value();
    const bool left = remains.objects != 0;
    if (left && after.history.hand_on_remains() != Status::ok) broken += "not handed on\n";
    if (after.sealed.sync() != Status::ok) broken += "no sync\n";
    const std::vector<int> steps = opened_steps(after.log_flash, *after.recipient.key, broken);
    handed_on += steps.size();
    // What was synced is in the area or in the log, and the latest is not torn.
    for (int step = std::max(synced - 2, 0); step < synced; ++step) {
      const bool is_old = step < kTrigger && latest > kTrigger;
      if (!is_old && std::find(steps.begin(), steps.end(), step) == steps.end())
        broken += "in step " + std::to_string(latest) + ": " + std::to_string(step) + " is lost\n";
    }
  };
  // Places where power goes, over all operations.
  constexpr std::uint32_t kStride = OPDUMP_TEST_SHARE > 1 ? 509 : 61;
  std::uint32_t place = 0;
  firmware.log_flash.before =
      firmware.history_flash.before = [&](FlashEmulator& flash, const FlashEmulator::Operation& operation) {
        for (; place < operation.cuts && broken.empty(); place += kStride) cut_at(flash, operation, place);
        place = place < operation.cuts ? 0 : place - operation.cuts;
      };
  firmware.capturing.start();
  for (latest = 0; latest < kSteps; ++latest) {
    if (latest == kTrigger) firmware.history.trigger();
    firmware.capture(latest);
    REQUIRE(firmware.sealed.sync() == Status::ok);
    synced = latest;
  }
  firmware.log_flash.before = firmware.history_flash.before = nullptr;
  if (!broken.empty()) FAIL(broken);
  MESSAGE(cuts, " cuts");
  CHECK(cuts >= (OPDUMP_TEST_SHARE > 1 ? 100 : 1000));
  CHECK(handed_on > cuts);
}

TEST_CASE("seal: a config that seals is refused where a history in flash would be in clear") {
  const FlashEmulator part(kSealedArea, kSealedPage);
  SealedFirmware firmware(part, part, false);
  DumpConfig config = {.active = true, .dump_path = "/flash"};
  config.options.seal = firmware.recipient.public_key();
  FakeMemory memory;
  FakeClock clock;
  std::byte scratch[4096];
  {
    BasicSession<FakeMemory> session(
        {.memory = memory, .sink = firmware.history, .clock = clock, .scratch = scratch});
    CHECK(boot(session, firmware.history, config) == Status::not_supported);
    CHECK_FALSE(session.initialised());
  }
  BasicSession<FakeMemory> session({.memory = memory,
                                    .sink = firmware.sealed,
                                    .clock = clock,
                                    .scratch = scratch,
                                    .journal = JournalDetail::none});
  CHECK(boot(session, firmware.sealed, config) == Status::ok);
  CHECK(firmware.sealed.seals());
  REQUIRE(session.finalize() == Status::ok);
}
