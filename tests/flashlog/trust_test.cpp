#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "platform/flashlog/flash_log.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"

// What the log and its reader must not believe.

namespace {

using namespace opdump;
using namespace opdump::tests;
using flashlog::Device;
using flashlog::FlashLog;
using flashlog::Geometry;
using flashlog::ObjectState;
using flashlog::Options;
using flashlog::Policy;
using Fault = FlashEmulator::Fault;

constexpr std::uint32_t kTrustPage = 128;
constexpr Geometry kOnce = {.block_bytes = 1024, .block_count = 8, .program_bytes = 16};

struct Boot {
  Boot(FlashEmulator& flash, const Options& options = {})
      : device(flash.device()), memory(FlashLog::kPrefixBytes + kTrustPage), log(device, memory, options) {}

  Status put(const std::string& directory, const std::string& file, const std::string& bytes) {
    const Result<ObjectId> object = log.begin({{}, directory, file});
    if (!object.ok()) return object.status();
    const Bytes part = as_bytes(bytes);
    if (const Status status = log.append(object.value(), {&part, 1}); status != Status::ok) return status;
    return log.commit(object.value());
  }

  Device device;
  std::vector<std::byte> memory;
  FlashLog log;
};

std::size_t committed(FlashEmulator& flash) {
  return read_flash(flash.device()).count(ObjectState::committed);
}

}  // namespace

static_assert(!std::is_constructible_v<FlashLog, Device, MutableBytes, const Options&>,
              "a temporary device would end before the log");
static_assert(std::is_constructible_v<FlashLog, const Device&, MutableBytes, const Options&>);

TEST_CASE("flash log: no single bit puts an object under another's directory") {
  FlashEmulator flash(kOnce, kTrustPage);
  Boot boot(flash);
  REQUIRE(boot.log.mount() == Status::ok);
  for (int i = 0; i < 24; ++i) {
    REQUIRE(boot.put("step/" + std::to_string(i / 2), "op" + std::to_string(i), std::string(30, 'b')) ==
            Status::ok);
  }
  REQUIRE(boot.log.sync() == Status::ok);
  const FlashContents whole = read_flash(boot.device);
  REQUIRE(whole.count(ObjectState::committed) == 24);
  std::size_t wrong = 0;
  for (std::size_t bit = 0; bit < flash.memory().size() * 8; bit += OPDUMP_TEST_SHARE) {
    std::byte& byte = flash.memory()[bit / 8];
    if (bit / 8 % 1024 != 0 && byte == kOnce.erased && flash.memory()[bit / 8 - 1] == kOnce.erased) continue;
    const std::byte mask = static_cast<std::byte>(1u << bit % 8);
    byte ^= mask;
    for (const FlashContents::Object& object : read_flash(boot.device, bit % 2 == 0).objects) {
      wrong += object.state == ObjectState::committed && whole.find(object.path) == nullptr;
    }
    byte ^= mask;
  }
  CHECK(wrong == 0);
}

TEST_CASE("flash log: an object of number 0 is not torn by directories and journals") {
  FlashEmulator flash({.block_bytes = 65536, .block_count = 16, .program_bytes = 16}, kTrustPage);
  Boot boot(flash);
  REQUIRE(boot.log.mount() == Status::ok);
  const std::size_t objects = 2 * flashlog::kObjectNumbers / FlashLog::kMaxOpenObjects;
  const Bytes line = as_bytes("line\n");
  const Bytes part = as_bytes("bytes");
  for (std::size_t i = 0; i < objects; ++i) {
    std::vector<ObjectId> open;
    for (std::size_t slot = 0; slot < FlashLog::kMaxOpenObjects; ++slot)
      open.push_back(boot.log.begin({{}, "d", std::to_string(i) + "." + std::to_string(slot)}).value());
    REQUIRE(boot.log.append_lines({{}, "d", "journal"}, {&line, 1}) == Status::ok);
    for (const ObjectId id : open) {
      REQUIRE(boot.log.append(id, {&part, 1}) == Status::ok);
      REQUIRE(boot.log.commit(id) == Status::ok);
    }
  }
  REQUIRE(boot.log.sync() == Status::ok);
  CHECK(committed(flash) == objects * FlashLog::kMaxOpenObjects);
}

TEST_CASE("flash log: what cannot be read for a while is not erased") {
  for (const Policy policy : {Policy::stop_when_full, Policy::overwrite_oldest}) {
    for (std::uint32_t block = 0; block < 4; ++block) {
      for (const std::uint32_t failing : {1u, 2u, 3u, 1000u}) {
        CAPTURE(block);
        CAPTURE(failing);
        FlashEmulator flash(kOnce, kTrustPage);
        std::uint32_t records = 0;
        {
          Boot boot(flash, {.policy = policy, .prepared_blocks = 0});
          REQUIRE(boot.log.mount() == Status::ok);
          for (; flash.erases < 4; ++records)
            REQUIRE(boot.put("d", "old" + std::to_string(records), std::string(100, 'o')) == Status::ok);
          REQUIRE(boot.log.sync() == Status::ok);
        }
        flash.fail_reads(block, failing);
        Boot boot(flash, {.policy = policy});
        REQUIRE(boot.log.mount() == Status::ok);
        // Blocks are free, so nothing has to go.
        // One that keeps what it has leaves room for journals.
        const std::uint32_t more = policy == Policy::stop_when_full ? 7 : 14;
        for (std::uint32_t i = 0; i < more; ++i)
          REQUIRE(boot.put("d", "new" + std::to_string(i), std::string(100, 'n')) == Status::ok);
        REQUIRE(boot.log.sync() == Status::ok);
        flash.fail_reads(block, 0);
        CHECK(committed(flash) == records + more);
      }
    }
  }
}

TEST_CASE("flash log: a part of which nothing can be read is not mounted, and nothing is erased") {
  FlashEmulator flash(kOnce, kTrustPage);
  for (std::uint32_t block = 0; block < kOnce.block_count; ++block) flash.fail_reads(block, 1000);
  Boot boot(flash);
  CHECK(boot.log.mount() == Status::io_error);
  CHECK(boot.put("d", "x", "bytes") == Status::not_initialised);
  for (std::uint32_t block = 0; block < kOnce.block_count; ++block) flash.fail_reads(block, 0);
  CHECK(boot.log.mount() == Status::ok);
  CHECK(flash.erases == 0);
}

TEST_CASE("flash log: blocks that an earlier boot prepared are not built upon") {
  FlashEmulator flash(kOnce, kTrustPage);
  {
    Boot boot(flash, {.prepared_blocks = 2});
    REQUIRE(boot.log.mount() == Status::ok);
    REQUIRE(boot.put("d", "old", "bytes") == Status::ok);
    REQUIRE(boot.log.sync() == Status::ok);
    while (boot.log.prepare().value()) continue;
  }
  flash.cut();
  flash.power_on();
  Boot boot(flash);
  REQUIRE(boot.log.mount() == Status::ok);
  std::vector<bool> erased(kOnce.block_count);
  flash.before = [&](FlashEmulator&, const FlashEmulator::Operation& operation) {
    if (operation.is_erase) erased[operation.block] = true;
    if (!erased[operation.block]) FAIL("block ", operation.block, " was not erased by this boot");
  };
  for (int i = 0; i < 60; ++i) REQUIRE(boot.put("d", std::to_string(i), std::string(100, 'n')) == Status::ok);
  REQUIRE(boot.log.sync() == Status::ok);
  CHECK(flash.repeated_programs == 0);
}

TEST_CASE("flash log: a retired count that its header cannot hold") {
  FlashEmulator flash(kOnce, kTrustPage);
  {
    Boot boot(flash);
    REQUIRE(boot.log.mount() == Status::ok);
    REQUIRE(boot.put("d", "x", "bytes") == Status::ok);
    REQUIRE(boot.log.sync() == Status::ok);
  }
  std::byte* const header = flash.memory().data();
  store_little_endian<std::uint16_t>(header + 22, 0x8000);
  store_little_endian(header + 28, crc32(0, {header, 28}));
  Boot boot(flash);
  CHECK(boot.log.mount() == Status::not_supported);
  CHECK(boot.log.retired() == 0);
}

TEST_CASE("flash log: preparing, and writing, end on a part of which no block works") {
  for (const Fault fault : {Fault::erase_fails, Fault::program_fails}) {
    FlashEmulator flash({.block_bytes = 1024, .block_count = 40, .program_bytes = 16}, kTrustPage);
    Boot boot(flash, {.policy = Policy::stop_when_full});
    REQUIRE(boot.log.mount() == Status::ok);
    REQUIRE(boot.put("d", "x", "bytes") == Status::ok);
    REQUIRE(boot.log.sync() == Status::ok);
    for (std::uint32_t block = 1; block < 40; ++block) flash.set_fault(block, fault);
    int calls = 0;
    for (Result<bool> more = boot.log.prepare(); more.ok() && more.value(); more = boot.log.prepare())
      REQUIRE(++calls < 1000);
    Status status = Status::ok;
    for (int i = 0; i < 100 && status == Status::ok; ++i) {
      status = boot.put("d", std::to_string(i), std::string(100, 'n'));
      if (status == Status::ok) status = boot.log.sync();
    }
    CHECK(status != Status::ok);
    CHECK(flash.erases < 1000);
    CHECK(read_flash(boot.device).find("d/x") != nullptr);
  }
}

TEST_CASE("flash log: bits that read differently each time cost what they are in, not the rest") {
  FlashEmulator flash(kOnce, kTrustPage);
  for (int life = 0; life < 3; ++life) {
    Boot boot(flash);
    REQUIRE(boot.log.mount() == Status::ok);
    for (int i = 0; i < 8; ++i)
      REQUIRE(boot.put("d" + std::to_string(life), std::to_string(i), std::string(90, 'a')) == Status::ok);
    REQUIRE(boot.log.sync() == Status::ok);
  }
  // One byte of a head, name or body in the first boot, that reads right now and then.
  struct Unstable {
    Device below;
    std::uint32_t offset;
    std::uint32_t good;  // readings that are right
    std::uint32_t reads = 0;
  };
  std::size_t least = 24;
  for (std::uint32_t offset = 60; offset < 900; ++offset) {
    for (std::uint32_t good = 1; good < 6; ++good) {
      Unstable cell = {flash.device(), offset, good};
      Device device = flash.device();
      device.context = &cell;
      device.read = [](void* context, std::uint32_t block, std::uint32_t from, MutableBytes to) {
        Unstable& self = *static_cast<Unstable*>(context);
        const Status status = self.below.read(self.below.context, block, from, to);
        if (block != 0 || self.offset < from || self.offset - from >= to.size()) return status;
        if (self.reads++ >= self.good) to[self.offset - from] ^= std::byte{0x21};
        return status;
      };
      const FlashContents contents = read_flash(device);
      for (const FlashContents::Object& object : contents.objects) {
        if (object.state != ObjectState::committed) continue;
        if (object.bytes != std::string(90, 'a') || object.path.size() != 4) FAIL(object.path);
      }
      least = std::min(least, contents.count(ObjectState::committed));
    }
  }
  // The two later boots are whole.
  CHECK(least >= 16);
}

TEST_CASE("flash log: each boot has a number of its own, which the reader knows") {
  FlashEmulator flash(kOnce, kTrustPage);
  std::vector<std::uint32_t> boots;
  for (int life = 0; life < 5; ++life) {
    Boot boot(flash);
    REQUIRE(boot.log.mount() == Status::ok);
    if (!boots.empty()) CHECK(boot.log.boot() > boots.back());
    boots.push_back(boot.log.boot());
    REQUIRE(boot.put("19700101000000", "same", std::to_string(life)) == Status::ok);
    REQUIRE(boot.log.sync() == Status::ok);
    static_cast<void>(boot.log.prepare());
    flash.cut();
    flash.power_on();
  }
  const Device device = flash.device();
  std::vector<flashlog::Segment> segments(kOnce.block_count);
  std::vector<char> names(1024);
  flashlog::LogReader reader(device, names);
  REQUIRE(reader.open(segments) == Status::ok);
  std::size_t found = 0;
  for (flashlog::LogReader::Object object; reader.next(object); ++found)
    CHECK(object.boot == boots.at(found));
  CHECK(found == boots.size());
}
