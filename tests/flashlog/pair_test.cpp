#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "platform/flashlog/flash_log.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"

#if OPDUMP_FAULTS == 2

namespace {

using namespace opdump;
using namespace opdump::tests;
using flashlog::FlashLog;
using flashlog::ObjectState;
using flashlog::Policy;

constexpr std::uint32_t kPairPage = 128;

struct Pair {
  ObjectId first;
  ObjectId second;
};

Pair begin_pair(FlashLog& log, const std::string& name, std::size_t bytes) {
  const std::string text(bytes, 'p');
  const Bytes part = as_bytes(text);
  const Pair pair = {log.begin({{}, "d", name + ".op"}).value(),
                     log.begin({{}, "d", name + ".blob"}).value()};
  REQUIRE(log.append(pair.first, {&part, 1}) == Status::ok);
  REQUIRE(log.append(pair.second, {&part, 1}) == Status::ok);
  return pair;
}

bool is_there(const FlashContents& contents, const std::string& name) {
  const FlashContents::Object* object = contents.find("d/" + name);
  return object != nullptr && object->state == ObjectState::committed;
}

}  // namespace

TEST_CASE("flash log: of a pair both objects survive a loss of power at any byte, or neither") {
  std::size_t both = 0;
  std::size_t neither = 0;
  // So that the commits lie everywhere in a page and across the end of a block.
  for (std::size_t bytes = 1; bytes < 700; bytes += 5) {
    CAPTURE(bytes);
    const flashlog::Geometry part = {.block_bytes = 512, .block_count = 8, .program_bytes = 8};
    FlashEmulator flash(part, kPairPage);
    const flashlog::Device device = flash.device();
    std::vector<std::byte> memory(FlashLog::kPrefixBytes + kPairPage);
    FlashLog log(device, memory, {});
    REQUIRE(log.mount() == Status::ok);
    const Pair pair = begin_pair(log, "x", bytes);
    flash.before = [&](FlashEmulator& alive, const FlashEmulator::Operation& operation) {
      for (std::uint32_t byte = 0; byte < operation.cuts; ++byte) {
        FlashEmulator dead = alive;
        dead.before = nullptr;
        static_cast<void>(dead.cut(operation, byte));
        dead.power_on();
        const FlashContents contents = read_flash(dead.device());
        const bool first = is_there(contents, "x.op");
        if (first != is_there(contents, "x.blob")) FAIL("one without the other, cut at byte ", byte);
        ++(first ? both : neither);
      }
    };
    REQUIRE(log.commit(pair.first, pair.second) == Status::ok);
    REQUIRE(log.sync() == Status::ok);
    flash.before = nullptr;
    const FlashContents contents = read_flash(device);
    CHECK(is_there(contents, "x.op"));
    CHECK(is_there(contents, "x.blob"));
    CHECK(flash.violation == nullptr);
  }
  CHECK(neither != 0);
  MESSAGE(both, " cuts left both, ", neither, " neither");
}

TEST_CASE("flash log: of a pair both survive the loss of any one program that was not synced, or neither") {
  const flashlog::Geometry parts[] = {
      {.block_bytes = 512, .block_count = 8, .program_bytes = 4, .bits_only_clear = true},
      {.block_bytes = 512, .block_count = 8, .program_bytes = 8}};
  std::size_t both = 0;
  std::size_t neither = 0;
  std::size_t neither_though_committed = 0;
  for (const flashlog::Geometry& part : parts) {
    for (std::size_t bytes = 1; bytes < 700; ++bytes) {
      CAPTURE(part.program_bytes);
      CAPTURE(bytes);
      FlashEmulator flash(part, kPairPage);
      flash.volatile_programs = true;
      const flashlog::Device device = flash.device();
      std::vector<std::byte> memory(FlashLog::kPrefixBytes + kPairPage);
      FlashLog log(device, memory, {.prepared_blocks = 3});
      REQUIRE(log.mount() == Status::ok);
      while (log.prepare().value()) continue;  // for the erase of a block syncs
      const std::string text(bytes, 'p');
      const Bytes piece = as_bytes(text);
      const ObjectId record = log.begin({{}, "d", "x.op"}).value();
      REQUIRE(log.append(record, {&piece, 1}) == Status::ok);
      REQUIRE(log.append_lines({{}, "d", "journal"}, {&piece, 1}) == Status::ok);
      const ObjectId report = log.begin({{}, "d", "x.blob"}).value();
      bool committed = false;
      const auto lose_each = [&](FlashEmulator& alive) {
        for (std::size_t lost = 0; lost < alive.unsynced(); ++lost) {
          FlashEmulator dead = alive;
          dead.before = nullptr;
          dead.cut_losing(lost);
          dead.power_on();
          const FlashContents contents = read_flash(dead.device());
          const bool first = is_there(contents, "x.op");
          if (first != is_there(contents, "x.blob")) FAIL("one without the other, lost ", lost);
          // What they hold was synced first, so it is not their bytes that were lost.
          if (contents.count(ObjectState::damaged) + contents.count(ObjectState::overwritten) != 0)
            FAIL("damaged, lost ", lost);
          ++(first ? both : neither);
          if (committed && !first) ++neither_though_committed;
        }
      };
      flash.before = [&](FlashEmulator& alive, const FlashEmulator::Operation&) { lose_each(alive); };
      REQUIRE(log.commit(record, report) == Status::ok);
      committed = true;
      const ObjectId next = log.begin({{}, "d", "next"}).value();
      REQUIRE(log.append(next, {&piece, 1}) == Status::ok);
      lose_each(flash);
      CHECK(flash.violation == nullptr);
    }
  }
  CHECK(both != 0);
  CHECK(neither_though_committed != 0);
  MESSAGE(both, " losses left both, ", neither, " neither");
}

TEST_CASE("flash log: a pair is overwritten whole, and one of which an object is damaged stays so") {
  const flashlog::Geometry part = {
      .block_bytes = 512, .block_count = 6, .program_bytes = 4, .bits_only_clear = true};
  for (const bool damages : {false, true}) {
    CAPTURE(damages);
    FlashEmulator flash(part, kPairPage);
    const flashlog::Device device = flash.device();
    std::vector<std::byte> memory(FlashLog::kPrefixBytes + kPairPage);
    FlashLog log(device, memory, {});
    REQUIRE(log.mount() == Status::ok);
    const std::string text(560, 'p');
    const Bytes piece = as_bytes(text);
    const auto store = [&](const std::string& name) {
      const ObjectId object = log.begin({{}, "d", name}).value();
      REQUIRE(log.append(object, {&piece, 1}) == Status::ok);
      REQUIRE(log.commit(object) == Status::ok);
    };
    // In blocks of their own: the older one, something else, the younger one.
    store("before");
    const ObjectId older = log.begin({{}, "d", "older"}).value();
    REQUIRE(log.append(older, {&piece, 1}) == Status::ok);
    store("between");
    REQUIRE(log.sync() == Status::ok);
    const ObjectId younger = log.begin({{}, "d", "younger"}).value();
    REQUIRE(log.append(younger, {&piece, 1}) == Status::ok);
    REQUIRE(log.commit(older, younger) == Status::ok);
    REQUIRE(log.sync() == Status::ok);
    if (damages) {
      std::vector<std::byte>& bytes = flash.memory();
      const std::string name = "younger";
      const auto at = std::search(bytes.begin(), bytes.end(), as_bytes(name).begin(), as_bytes(name).end());
      REQUIRE(at != bytes.end());
      *at &= std::byte{0x11};
    }
    bool was_there = false;
    bool gone = false;
    for (int i = 0; i < 12; ++i) {
      CAPTURE(i);
      const FlashContents contents = read_flash(device);
      const bool there = is_there(contents, "older");
      CHECK(there == is_there(contents, "younger"));
      CHECK_FALSE((there && (gone || damages)));
      was_there = was_there || there;
      gone = !there;
      store("more" + std::to_string(i));
      REQUIRE(log.sync() == Status::ok);
    }
    CHECK(was_there != damages);
    CHECK(gone);
  }
}

TEST_CASE("flash log: a pair of which one object is overwritten before it is committed is given up whole") {
  // The first one begins so early that room for the second costs it its first byte.
  const flashlog::Geometry part = {.block_bytes = 512, .block_count = 4, .program_bytes = 8};
  std::size_t given_up = 0;
  for (std::size_t bytes = 100; bytes < 2000; bytes += 4) {
    CAPTURE(bytes);
    FlashEmulator flash(part, kPairPage);
    const flashlog::Device device = flash.device();
    std::vector<std::byte> memory(FlashLog::kPrefixBytes + kPairPage);
    FlashLog log(device, memory, {});
    REQUIRE(log.mount() == Status::ok);
    const ObjectId first = log.begin({{}, "d", "x.op"}).value();
    const std::string text(bytes, 'p');
    for (std::size_t at = 0; at < bytes; at += 50) {
      const Bytes piece = as_bytes(text).subspan(at, std::min<std::size_t>(50, bytes - at));
      const ObjectId other = log.begin({{}, "d", "other"}).value();
      static_cast<void>(log.append(other, {&piece, 1}));
      static_cast<void>(log.commit(other));
    }
    const ObjectId second = log.begin({{}, "d", "x.blob"}).value();
    const Status status = log.commit(first, second);
    REQUIRE(log.sync() == Status::ok);
    const FlashContents contents = read_flash(device);
    CHECK(is_there(contents, "x.op") == (status == Status::ok));
    CHECK(is_there(contents, "x.blob") == (status == Status::ok));
    given_up += status == Status::ok ? 0 : 1;
    // Their places are free again.
    CHECK(log.commit(first) == Status::invalid_argument);
    CHECK(log.commit(second) == Status::invalid_argument);
  }
  CHECK(given_up != 0);
}

TEST_CASE("flash log: a pair needs two objects that are open") {
  FlashEmulator flash({.block_bytes = 512, .block_count = 8, .program_bytes = 8}, kPairPage);
  const flashlog::Device device = flash.device();
  std::vector<std::byte> memory(FlashLog::kPrefixBytes + kPairPage);
  FlashLog log(device, memory, {});
  REQUIRE(log.mount() == Status::ok);
  const ObjectId one = log.begin({{}, "d", "x"}).value();
  CHECK(log.commit(one, one) == Status::invalid_argument);
  CHECK(log.commit(one) == Status::invalid_argument);
  const ObjectId other = log.begin({{}, "d", "y"}).value();
  CHECK(log.commit(other, ObjectId{FlashLog::kMaxOpenObjects}) == Status::invalid_argument);
  REQUIRE(log.sync() == Status::ok);
  for (const FlashContents::Object& object : read_flash(device).objects)
    CHECK(object.state == ObjectState::aborted);
}
#endif
