#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "platform/flashlog/flash_log.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;
using flashlog::FlashLog;
using flashlog::ObjectState;
using flashlog::Options;

constexpr flashlog::Geometry kSmallFlash = {
    .block_bytes = 4096, .block_count = 8, .program_bytes = 1, .bits_only_clear = true};

struct SmallLog {
  explicit SmallLog(const Options& options = {}) : log(device, memory, options) {
    REQUIRE(log.mount() == Status::ok);
  }

  Status put(const std::string& file, std::size_t bytes) {
    const std::string text(bytes, 'x');
    const Bytes part = as_bytes(text);
    const Result<ObjectId> object = log.begin({{}, "d", file});
    if (!object.ok()) return object.status();
    if (const Status status = log.append(object.value(), {&part, 1}); status != Status::ok) {
      log.abort(object.value());
      return status;
    }
    return log.commit(object.value());
  }

  FlashEmulator flash{kSmallFlash, 256};
  flashlog::Device device = flash.device();
  std::vector<std::byte> memory = std::vector<std::byte>(FlashLog::kPrefixBytes + 256);
  FlashLog log;
};

}  // namespace

TEST_CASE("flash log: an emergency programs what was committed, and erases nothing") {
  SmallLog part;
  REQUIRE(part.put("a", 100) == Status::ok);
  REQUIRE(part.log.prepare().value());
  REQUIRE(part.log.prepare().value());
  REQUIRE(part.put("b", 100) == Status::ok);
  const std::uint64_t erases = part.flash.erases;
  const std::uint64_t syncs = part.flash.syncs;
  CHECK(part.log.emergency() == Status::ok);
  CHECK(part.flash.syncs == syncs);
  CHECK(read_flash(part.device).count(ObjectState::committed) == 2);
  // What else is in the rings goes to the block in use and the prepared one.
  std::uint32_t more = 0;
  while (part.put("more" + std::to_string(more), 500) == Status::ok) ++more;
  static_cast<void>(part.log.emergency());
  CHECK(more >= 10);
  CHECK(part.flash.erases == erases);
  CHECK(read_flash(part.device).count(ObjectState::committed) == 2 + more);
}

TEST_CASE("flash log: an emergency inside a call keeps what was committed before it") {
  for (std::uint64_t at = 1; at < 30; ++at) {
    CAPTURE(at);
    SmallLog part;
    std::uint32_t committed = 0;
    part.flash.before = [&](FlashEmulator& flash, const FlashEmulator::Operation&) {
      if (flash.operations != at) return;
      flash.before = nullptr;
      static_cast<void>(part.log.emergency());
      flash.cut();
    };
    while (part.put(std::to_string(committed), 150) == Status::ok && !part.flash.off) ++committed;
    part.flash.power_on();
    CHECK(read_flash(part.device).count(ObjectState::committed) >= committed);
    CHECK(part.flash.violation == nullptr);
  }
}

TEST_CASE("flash log: a budget of erases") {
  SmallLog part({.prepared_blocks = 0, .erase_budget = 3});
  std::uint32_t records = 0;
  while (part.put(std::to_string(records), 500) == Status::ok) ++records;
  CHECK(part.put("x", 500) == Status::no_space);
  CHECK(part.log.erases() == 3);
  CHECK(records >= 20);
  CHECK(read_flash(part.device).count(ObjectState::committed) == records);
}

TEST_CASE("flash log: one object may not push out all others") {
  SmallLog part;
  REQUIRE(part.put("before", 100) == Status::ok);
  CHECK(part.put("half", 16 * 1024) == Status::ok);
  CHECK(part.put("more than half", 16 * 1024 + 1) == Status::no_space);
  const ObjectId slow = part.log.begin({{}, "d", "slow"}).value();
  for (int i = 0; i < 80; ++i) REQUIRE(part.put(std::to_string(i), 500) == Status::ok);
  CHECK(part.log.commit(slow) == Status::no_space);
  REQUIRE(part.log.sync() == Status::ok);
  const FlashContents contents = read_flash(part.device);
  CHECK(contents.find("d/slow") == nullptr);
  CHECK(contents.find("d/79") != nullptr);
}

TEST_CASE("flash log: what callers may not do") {
  SmallLog part;
  CHECK(part.log.begin({{}, "d", ""}).status() == Status::invalid_argument);
  CHECK(part.log.begin({{}, std::string(1000, 'd'), std::string(100, 'f')}).status() ==
        Status::name_too_long);
  for (std::size_t i = 0; i < FlashLog::kMaxOpenObjects; ++i) REQUIRE(part.log.begin({{}, "d", "f"}).ok());
  CHECK(part.log.begin({{}, "d", "f"}).status() == Status::too_many_objects);
  CHECK(part.log.commit(ObjectId{FlashLog::kMaxOpenObjects}) == Status::invalid_argument);
  FlashLog unmounted(part.device, part.memory, {});
  CHECK(unmounted.begin({{}, "d", "f"}).status() == Status::not_initialised);
  FlashLog tight(part.device, std::span(part.memory).first(FlashLog::kPrefixBytes + 100), {});
  CHECK(tight.mount() == Status::invalid_argument);
  FlashEmulator other({.block_bytes = 8192, .block_count = 4}, 256);
  REQUIRE(part.log.sync() == Status::ok);
  other.memory() = part.flash.memory();
  const flashlog::Device device = other.device();
  FlashLog foreign(device, part.memory, {});
  CHECK(foreign.mount() == Status::not_supported);
}

TEST_CASE("flash log: it reads too seldom to disturb") {
  SmallLog part;
  part.flash.read_disturb = 1000;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    REQUIRE(part.put(std::to_string(i), 60) == Status::ok);
    if (i % 4 == 0) REQUIRE(part.log.prepare().ok());
  }
  CHECK(part.flash.disturbed == 0);
}
