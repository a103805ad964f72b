#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "platform/flashlog/flash_log.hpp"
#include "platform/storage/log_claim.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/raw_objects.hpp"

using namespace opdump;
using namespace opdump::tests;
using storage::LogClaim;

namespace {

constexpr std::uint32_t kBlock = 8192;
constexpr flashlog::Geometry kPart = {.block_bytes = kBlock, .block_count = 32, .program_bytes = 512};

/// Flash in memory, which a test may fill with anything.
struct Storage {
  std::vector<std::byte> memory{std::size_t{kBlock} * kPart.block_count, std::byte{0xff}};

  flashlog::Device device() {
    return {.geometry = kPart,
            .context = this,
            .read =
                [](void* self, std::uint32_t block, std::uint32_t offset, MutableBytes to) {
                  std::copy_n(at(self, block, offset), to.size(), to.begin());
                  return Status::ok;
                },
            .program =
                [](void* self, std::uint32_t block, std::uint32_t offset, Bytes from) {
                  std::copy(from.begin(), from.end(), at(self, block, offset));
                  return Status::ok;
                },
            .erase =
                [](void* self, std::uint32_t block) {
                  std::fill_n(at(self, block, 0), kBlock, std::byte{0xff});
                  return Status::ok;
                },
            .sync = [](void*) { return Status::ok; }};
  }
  static std::vector<std::byte>::iterator at(void* self, std::uint32_t block, std::uint32_t offset) {
    return static_cast<Storage*>(self)->memory.begin() + std::ptrdiff_t{block} * kBlock + offset;
  }

  void put(std::uint32_t byte, std::string_view text) {
    std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), memory.begin() + byte);
  }

  /// A log with so many objects.
  void write_log(std::uint32_t objects) {
    const flashlog::Device part = device();
    std::vector<std::byte> page(flashlog::FlashLog::kPrefixBytes + 512);
    flashlog::FlashLog log(part, page, {.prepared_blocks = 0});
    REQUIRE(log.mount() == Status::ok);
    for (std::uint32_t number = 0; number < objects; ++number) REQUIRE(put_object(log, number) == Status::ok);
    REQUIRE(log.sync() == Status::ok);
  }

  std::uint32_t newest() const {
    std::uint32_t newest = 0;
    std::uint32_t highest = 0;
    for (std::uint32_t block = 0; block < kPart.block_count; ++block) {
      const std::byte* const head = memory.data() + std::size_t{block} * kBlock;
      if (load_little_endian<std::uint32_t>(head) != flashlog::kMagic) continue;
      const std::uint32_t sequence = load_little_endian<std::uint32_t>(head + 8);
      if (sequence > highest) newest = block;
      highest = std::max(highest, sequence);
    }
    return newest;
  }
};

constexpr std::string_view kSquash("hsqs\0\1\2\3", 8);

}  // namespace

TEST_CASE("claim: erased storage may be erased, of either value") {
  Storage storage;
  std::fill_n(storage.memory.begin() + 5 * kBlock, kBlock, std::byte{0});
  LogClaim claim;
  CHECK(claim.inspect(storage.device()) == Status::ok);
  CHECK(claim.blocks_of_log() == 0);
  for (std::uint32_t block = 0; block < kPart.block_count; ++block)
    CHECK(claim.may_erase(block) == Status::ok);
}

TEST_CASE("claim: what lies there is named with its place") {
  struct {
    std::uint32_t byte;
    std::string_view bytes;
    const char* text;
  } const cases[] = {
      {0, kSquash, "at byte 0: a SquashFS file system. "},
      {2 * kBlock + 1080, {"\x53\xef", 2}, "at byte 16384: an ext2, ext3 or ext4 file system. "},
      {4 * kBlock + 510, {"\x55\xaa", 2}, "at byte 32768: a boot sector"},
      {31 * kBlock + 17, "hello",
       "at byte 253952: bytes that no log wrote, such as 68 65 6c 6c 6f ff ff ff. "},
  };
  for (const auto& one : cases) {
    Storage storage;
    storage.put(one.byte, one.bytes);
    LogClaim claim;
    CHECK(claim.inspect(storage.device()) == Status::already_exists);
    CAPTURE(claim.reason());
    CHECK(claim.reason().starts_with(one.text));
    CHECK(claim.may_erase(1) == Status::already_exists);
  }
}

TEST_CASE("claim: a block is read to its end before it is erased") {
  Storage storage;
  storage.put(9 * kBlock + 8000, "kept");
  LogClaim claim;
  REQUIRE(claim.inspect(storage.device()) == Status::ok);
  CHECK(claim.may_erase(8) == Status::ok);
  CHECK(claim.may_erase(9) == Status::already_exists);
  CHECK(claim.reason().starts_with("at byte 77824: bytes that no log wrote, such as 6b 65 70 74"));
  // Then nothing more is erased.
  CHECK(claim.may_erase(10) == Status::already_exists);
}

TEST_CASE("claim: all blocks of a log, and what is behind it, may be erased") {
  for (const std::uint32_t objects : {1u, 20u, 200u}) {
    Storage storage;
    storage.write_log(objects);
    LogClaim claim;
    REQUIRE(claim.inspect(storage.device()) == Status::ok);
    CHECK(claim.blocks_of_log() != 0);
    for (std::uint32_t block = 0; block < kPart.block_count; ++block)
      CHECK(claim.may_erase(block) == Status::ok);
  }
}

TEST_CASE("claim: beside a log, what a loss of power cannot have left is refused") {
  Storage storage;
  storage.write_log(10);
  const std::uint32_t newest = storage.newest();
  // A block whose erase was cut off is the next one.
  storage.put((newest + 1) * kBlock + 300, "the rest of a record");
  LogClaim claim;
  CHECK(claim.inspect(storage.device()) == Status::ok);
  CHECK(claim.may_erase(newest + 1) == Status::ok);
  // It may not begin as something that is known.
  storage.put((newest + 1) * kBlock, kSquash);
  CHECK(claim.inspect(storage.device()) == Status::already_exists);
  storage.put((newest + 1) * kBlock, {"\0\0\0\0\0\0\0\0", 8});
  storage.put((newest + 1 + LogClaim::kTornBlocks) * kBlock + 300, "somebody else's");
  CHECK(claim.inspect(storage.device()) == Status::already_exists);
  CHECK(claim.reason().starts_with("at byte " +
                                   std::to_string((newest + 1 + LogClaim::kTornBlocks) * kBlock) +
                                   ": bytes that no log wrote"));
}

TEST_CASE("claim: the first header of all may be cut off") {
  Storage storage;
  storage.put(0, "OPF");
  LogClaim claim;
  CHECK(claim.inspect(storage.device()) == Status::ok);
  CHECK(claim.may_erase(0) == Status::ok);
  storage.put(0, "OPEN");
  CHECK(claim.inspect(storage.device()) == Status::already_exists);
}

TEST_CASE("claim: a log of another geometry is named") {
  Storage storage;
  storage.write_log(3);
  flashlog::Device device = storage.device();
  device.geometry.block_count = 16;
  LogClaim claim;
  CHECK(claim.inspect(device) == Status::not_supported);
  CHECK(claim.reason().starts_with(
      "at byte 0: a flash log of 32 blocks of 8192 bytes, programmed by 512, in version 1"));
}

TEST_CASE("claim: after a loss of power anywhere the log is taken for its own") {
  // Power fails in each program and erase in turn, and again in the next boot.
  std::uint32_t refused = 0;
  for (std::uint32_t cut = 0; cut < 150; ++cut) {
    FlashEmulator flash(kPart, 512, cut + 1);
    flash.unsteady = cut % 2 != 0;
    std::uint32_t written = 0;
    for (std::uint32_t boot = 0; boot < 4; ++boot) {
      const flashlog::Device part = flash.device();
      LogClaim claim;
      if (claim.inspect(part) != Status::ok) ++refused;
      std::vector<std::byte> page(flashlog::FlashLog::kPrefixBytes + 512);
      flashlog::FlashLog log(part, page, {.prepared_blocks = 0});
      REQUIRE(log.mount() == Status::ok);
      flash.cut_at = flash.operations + 1 + cut + 7 * boot;
      flash.cut_byte = flash.random() % 512;
      while (!flash.off && put_object(log, written) == Status::ok) ++written;
      REQUIRE(flash.off);
      flash.power_on();
    }
  }
  CHECK(refused == 0);
}
