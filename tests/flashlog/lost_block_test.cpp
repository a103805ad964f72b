#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "platform/flashlog/flash_log.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;
using flashlog::FlashLog;
using Fault = FlashEmulator::Fault;

constexpr flashlog::Geometry kLostPart = {.block_bytes = 1024, .block_count = 64, .program_bytes = 16};
constexpr std::uint32_t kLostPage = 128;

/// Fills some four blocks, or as many more as there are more `objects`.
void fill_some_blocks(FlashEmulator& flash, int objects = 7) {
  const flashlog::Device device = flash.device();
  std::vector<std::byte> memory(FlashLog::kPrefixBytes + kLostPage);
  FlashLog log(device, memory, {});
  REQUIRE(log.mount() == Status::ok);
  const std::string text(500, 'x');
  const Bytes part = as_bytes(text);
  for (int i = 0; i < objects; ++i) {
    const ObjectId object =
        log.begin({{}, "20240102030405/0/net/1/0", "Add.a.0.0." + std::to_string(i)}).value();
    REQUIRE(log.append(object, {&part, 1}) == Status::ok);
    REQUIRE(log.commit(object) == Status::ok);
  }
  REQUIRE(log.sync() == Status::ok);
}

std::vector<flashlog::Segment> segments_of(const flashlog::Device& device) {
  std::vector<flashlog::Segment> segments(device.geometry.block_count);
  flashlog::LogRuns runs(device);
  REQUIRE(runs.open(segments, 0) == Status::ok);
  return {runs.segments().begin(), runs.segments().end()};
}

std::vector<std::uint32_t> blocks_in_use(const flashlog::Device& device) {
  std::vector<std::uint32_t> blocks;
  for (const flashlog::Segment& segment : segments_of(device)) blocks.push_back(segment.block);
  return blocks;
}

std::size_t holes_of(FlashEmulator flash) {
  return losses_in(flash.device()).holes;
}

/// With `bits` of one byte flipped.
std::size_t damaged_places(const FlashEmulator& flash, std::size_t at, std::byte bits) {
  FlashEmulator hurt = flash;
  hurt.memory()[at] ^= bits;
  return losses_in(hurt.device()).damaged_places;
}

FlashEmulator flash_with(const std::vector<std::uint32_t>& bad) {
  FlashEmulator flash(kLostPart, kLostPage);
  for (const std::uint32_t block : bad) flash.set_fault(block, Fault::bad);
  return flash;
}

}  // namespace

TEST_CASE("flash log: each block that a damaged header hides is told, whatever blocks are bad") {
  for (const std::vector<std::uint32_t>& bad :
       std::vector<std::vector<std::uint32_t>>{{}, {0}, {2, 4}, {3, 4, 5, 9}}) {
    FlashEmulator flash = flash_with(bad);
    for (int i = 0; i < 3; ++i) fill_some_blocks(flash);
    REQUIRE(holes_of(flash) == 0);
    const std::vector<std::uint32_t> blocks = blocks_in_use(flash.device());
    REQUIRE(blocks.size() >= 12);
    for (const std::byte filler : {std::byte{0xff}, std::byte{0}, std::byte{0x5a}}) {
      FlashEmulator image = flash.image(filler);
      REQUIRE(holes_of(image) == 0);
      // The last blocks may not have been there yet.
      for (std::size_t i = 0; i + 3 < blocks.size(); ++i) {
        CAPTURE(blocks[i]);
        FlashEmulator hurt = image;
        hurt.memory()[std::size_t{blocks[i]} * kLostPart.block_bytes + 9] ^= std::byte{4};
        CHECK(holes_of(hurt) == 1);
        FlashEmulator unreadable = flash;
        unreadable.set_fault(blocks[i], Fault::bad);
        CHECK(holes_of(unreadable) == 1);
      }
    }
  }
}

TEST_CASE("flash log: a block that only a later boot cannot read is told, also when that boot has written") {
  for (const std::vector<std::uint32_t>& bad : std::vector<std::vector<std::uint32_t>>{{}, {1}, {1, 2}}) {
    FlashEmulator before = flash_with(bad);
    for (int i = 0; i < 2; ++i) fill_some_blocks(before);
    for (const std::uint32_t block : blocks_in_use(before.device())) {
      CAPTURE(block);
      FlashEmulator flash = before;
      flash.set_fault(block, Fault::bad);
      for (int i = 0; i < 3; ++i) {
        fill_some_blocks(flash);
        CHECK(holes_of(flash) == 1);
        CHECK(holes_of(flash.image(std::byte{0})) == 1);
      }
    }
  }
}

TEST_CASE("flash log: mounts that leave nothing behind pass over numbers, and no block is told as lost") {
  FlashEmulator flash = flash_with({4, 5});
  fill_some_blocks(flash);
  for (int i = 0; i < 4; ++i) {
    const flashlog::Device device = flash.device();
    std::vector<std::byte> memory(FlashLog::kPrefixBytes + kLostPage);
    FlashLog log(device, memory, {.prepared_blocks = 2});
    REQUIRE(log.mount() == Status::ok);
    for (Result<bool> again = true; again.ok() && again.value();) again = log.prepare();
  }
  fill_some_blocks(flash);
  CHECK(holes_of(flash) == 0);
  CHECK(holes_of(flash.image(std::byte{0xff})) == 0);
}

TEST_CASE("flash log: as many lost blocks of a boot as numbers that a mount passes over are told") {
  FlashEmulator flash({.block_bytes = 1024, .block_count = 300, .program_bytes = 16}, kLostPage);
  fill_some_blocks(flash, 500);
  const std::vector<std::uint32_t> blocks = blocks_in_use(flash.device());
  REQUIRE(blocks.size() > flashlog::kUnreadableNumbers + 6);
  REQUIRE(holes_of(flash) == 0);
  const std::size_t first = blocks.size() - 3 - flashlog::kUnreadableNumbers;
  const auto from = flash.memory().begin() + std::ptrdiff_t{blocks[first]} * 1024;
  std::fill_n(from, flashlog::kUnreadableNumbers * 1024, std::byte{0});
  CHECK(holes_of(flash) == 1);
}

TEST_CASE("flash log: a damaged byte is told where the boot has synced it") {
  FlashEmulator flash(kLostPart, kLostPage);
  fill_some_blocks(flash);
  fill_some_blocks(flash, 20);
  REQUIRE(losses_in(flash.device()) == FlashLosses());
  const std::vector<flashlog::Segment> segments = segments_of(flash.device());
  REQUIRE(segments.size() >= 12);
  std::size_t untold = 0;
  for (std::size_t i = 0; i + 5 < segments.size(); ++i) {
    if (segments[i].boot != segments.back().boot) continue;
    for (std::uint32_t offset = segments[i].begin; offset < segments[i].end; offset += 3) {
      const std::size_t at = std::size_t{segments[i].block} * kLostPart.block_bytes + offset;
      const std::byte there = flash.memory()[at];
      // One bit, and a byte as if it had never been programmed.
      for (const std::byte bits : {std::byte{4}, there ^ kLostPart.erased})
        untold += there != kLostPart.erased && damaged_places(flash, at, bits) == 0;
    }
  }
  CHECK(untold == 0);
}

TEST_CASE("flash log: in the last blocks of a boot a damaged byte is told unless power may have left it so") {
  FlashEmulator flash(kLostPart, kLostPage);
  fill_some_blocks(flash, 4);
  const std::vector<flashlog::Segment> segments = segments_of(flash.device());
  REQUIRE(segments.size() == 3);
  const auto first_x = [&flash](const flashlog::Segment& segment) {
    const auto from = flash.memory().begin() + std::ptrdiff_t{segment.block} * kLostPart.block_bytes;
    const auto found = std::find(from, flash.memory().end(), std::byte{'x'});
    return static_cast<std::size_t>(found - flash.memory().begin());
  };
  const std::size_t early = first_x(segments[0]) + 16;
  const std::size_t late = first_x(segments[2]) + 16;
  CHECK(damaged_places(flash, early, std::byte{4}) == 1);
  CHECK(damaged_places(flash, early, std::byte{'x'} ^ kLostPart.erased) == 0);
  CHECK(damaged_places(flash, late, std::byte{4}) == 0);
}
