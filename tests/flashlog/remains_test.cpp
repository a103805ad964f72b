#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "platform/flashlog/flash_log.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"

// What is left of programs that failed, or is missing of those that were lost.

namespace {

using namespace opdump;
using namespace opdump::tests;
using flashlog::FlashLog;
using flashlog::Geometry;
using flashlog::ObjectState;
using flashlog::Options;

constexpr std::uint32_t kFilledPage = 128;

struct Writer {
  explicit Writer(FlashEmulator& flash, const Options& options = {})
      : device(flash.device()), memory(FlashLog::kPrefixBytes + kFilledPage), log(device, memory, options) {
    REQUIRE(log.mount() == Status::ok);
  }

  Status try_put(const std::string& directory, const std::string& file, std::size_t bytes) {
    const std::string text(bytes, 'b');
    const Bytes part = as_bytes(text);
    const Result<ObjectId> object = log.begin({{}, directory, file});
    if (!object.ok()) return object.status();
    const Status status = log.append(object.value(), {&part, 1});
    return status == Status::ok ? log.commit(object.value()) : status;
  }

  void put(const std::string& directory, const std::string& file, std::size_t bytes) {
    REQUIRE(try_put(directory, file, bytes) == Status::ok);
  }

  void add_line(const std::string& directory, const std::string& text) {
    const Bytes part = as_bytes(text);
    REQUIRE(log.append_lines({{}, directory, "journal"}, {&part, 1}) == Status::ok);
  }

  flashlog::Device device;
  std::vector<std::byte> memory;
  FlashLog log;
};

bool is_committed(FlashEmulator& flash, const std::string& path) {
  const FlashContents contents = read_flash(flash.device());
  const FlashContents::Object* const object = contents.find(path);
  return object != nullptr && object->state == ObjectState::committed;
}

/// Whether objects and lines, whose text begins with their directory, are in it.
bool is_filed_right(const FlashContents& contents) {
  for (const FlashContents::Object& object : contents.objects) {
    if (object.state == ObjectState::committed && object.path[0] != object.path[2]) return false;
  }
  for (const auto& [path, lines] : contents.journals) {
    for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1) {
      if (lines[at] != path[0]) return false;
    }
  }
  return true;
}

/// A block whose program fails though all its bits are there, and a loss of power before the next block has
/// all of what it did not take: "d/doubtful", whose commit that was.
struct FailedBlock {
  static constexpr Geometry kPart = {.block_bytes = 1024, .block_count = 8, .program_bytes = 16};
  static constexpr std::uint32_t kFailing = 3;

  /// `retired` blocks have failed before, and the part has as many more.
  explicit FailedBlock(std::uint32_t retired = 0) : flash(part_with(retired), kFilledPage) {
    for (std::uint32_t block = 0; block < retired; ++block)
      flash.set_fault(block, FlashEmulator::Fault::program_fails);
    failing = kFailing + retired;
    FlashEmulator::Operation last{};
    std::vector<std::byte> bytes;
    flash.before = [&](FlashEmulator&, const FlashEmulator::Operation& operation) {
      if (operation.is_erase || (!bytes.empty() && operation.block != failing)) return;
      last = operation;
      bytes.assign(operation.bytes.begin(), operation.bytes.end());
      last.bytes = bytes;
    };
    const auto at_page = [&] { return (last.offset + last.bytes.size()) % kFilledPage == 0; };
    Writer writer(flash, {.prepared_blocks = 0});
    for (int i = 0; last.block != failing || last.offset < 500 || !at_page(); ++i) {
      writer.put("d", last.block == failing ? "kept" + std::to_string(i) : "old", 20);
      REQUIRE(writer.log.sync() == Status::ok);
      bytes.clear();
      if (last.block == failing) kept = "d/kept" + std::to_string(i);
    }
    flash.set_fault(failing, FlashEmulator::Fault::program_fails);
    writer.put("d", "doubtful", 60);
    writer.put("d", "behind", 40);
    flash.before = nullptr;
    REQUIRE(last.block == failing);
    REQUIRE(writer.log.retired() == std::min(retired + 1, flashlog::kMaxRetired));
    flash.cut();
    copy_bytes(&flash.memory()[failing * kPart.block_bytes + last.offset], bytes);
    flash.power_on();
    REQUIRE_FALSE(is_committed(flash, "d/doubtful"));
    REQUIRE(is_committed(flash, kept));
  }

  static Geometry part_with(std::uint32_t retired) {
    Geometry part = kPart;
    part.block_count += retired;
    return part;
  }

  FlashEmulator flash;
  std::uint32_t failing = 0;
  std::string kept;  ///< what the block held before
};

/// Writes until each block has been erased `turns` times, with a loss of power after every `boot`-th erase,
/// and fails when the doubtful object is there before or after anything that the flash does.
void turn(FailedBlock& failed, const Options& options, std::uint64_t turns, std::uint64_t boot) {
  FlashEmulator& flash = failed.flash;
  const auto check = [&](FlashEmulator& part) {
    if (is_committed(part, "d/doubtful")) FAIL("there after ", part.erases, " erases");
  };
  const std::uint64_t end = flash.erases + turns * FailedBlock::kPart.block_count;
  while (flash.erases < end) {
    Writer writer(flash, options);
    const std::uint64_t erases = flash.erases;
    flash.before = [&](FlashEmulator& part, const FlashEmulator::Operation& operation) {
      FlashEmulator now = part;
      check(now);
      // Programs since the last sync that are lost, and an erase that has just begun.
      for (std::size_t i = 0; i <= part.unsynced(); ++i) {
        FlashEmulator dead = part;
        dead.before = nullptr;
        if (i < part.unsynced()) dead.cut_losing(i);
        if (i == part.unsynced()) static_cast<void>(dead.cut(operation, operation.cuts - 1));
        dead.power_on();
        check(dead);
      }
    };
    for (int i = 0; flash.erases - erases < boot && flash.erases < end; ++i) {
      writer.put("d", std::to_string(i), 200);
      if (i % 3 == 0) REQUIRE(writer.log.sync() == Status::ok);
      static_cast<void>(writer.log.prepare());
    }
    flash.before = nullptr;
    check(flash);
    flash.cut();
    flash.power_on();
    check(flash);
  }
}

}  // namespace

TEST_CASE("flash log: what a block did not take is not there when the next block is overwritten either") {
  for (const std::uint8_t prepared : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{3}}) {
    for (const std::uint64_t boot : {1, 3, 1000}) {
      for (const bool is_volatile : {false, true}) {
        CAPTURE(int{prepared});
        CAPTURE(boot);
        CAPTURE(is_volatile);
        FailedBlock failed;
        failed.flash.volatile_programs = is_volatile;
        turn(failed, {.prepared_blocks = prepared}, 4, boot);
      }
    }
  }
}

TEST_CASE("flash log: nor when a block before it, or it, cannot be erased") {
  for (const std::uint8_t prepared : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{3}}) {
    for (const std::uint32_t before : {0u, prepared == 0 ? 0u : 1u}) {
      CAPTURE(int{prepared});
      CAPTURE(before);
      FailedBlock failed;
      for (std::uint32_t block = FailedBlock::kFailing - before; block <= FailedBlock::kFailing; ++block)
        failed.flash.set_fault(block, FlashEmulator::Fault::erase_fails);
      turn(failed, {.prepared_blocks = prepared}, 4, 1000);
    }
  }
}

TEST_CASE("flash log: nor when no more retired blocks are remembered") {
  for (const std::uint8_t prepared : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{3}}) {
    for (const bool erases : {false, true}) {
      CAPTURE(int{prepared});
      CAPTURE(erases);
      FailedBlock failed(flashlog::kMaxRetired);
      if (!erases) failed.flash.set_fault(failed.failing, FlashEmulator::Fault::erase_fails);
      turn(failed, {.prepared_blocks = prepared}, 4, 5);
    }
  }
}

TEST_CASE("flash log: what a retired block holds is there until its turn") {
  for (const std::uint8_t prepared : {std::uint8_t{0}, std::uint8_t{1}}) {
    CAPTURE(int{prepared});
    FailedBlock failed;
    FlashEmulator& flash = failed.flash;
    // The block behind it does not name it any more: as if power had taken its start at once.
    for (std::uint32_t byte = 0; byte < FailedBlock::kPart.block_bytes; ++byte)
      flash.memory()[(failed.failing + 1) * FailedBlock::kPart.block_bytes + byte] = std::byte{0xff};
    Writer writer(flash, {.prepared_blocks = prepared});
    const std::uint64_t erases = flash.erases;
    for (int i = 0; flash.erases - erases < FailedBlock::kPart.block_count - 2u; ++i) {
      CHECK(is_committed(flash, failed.kept));
      writer.put("d", std::to_string(i), 200);
      REQUIRE(writer.log.sync() == Status::ok);
    }
  }
}

TEST_CASE("flash log: what a retired block holds stays in a log that stops when it is full") {
  for (const bool torn : {false, true}) {
    CAPTURE(torn);
    FailedBlock failed;
    FlashEmulator& flash = failed.flash;
    // The start of the block behind it, but not its header, as if power had been lost in between.
    std::byte* const next = &flash.memory()[(failed.failing + 1) * FailedBlock::kPart.block_bytes];
    if (torn) next[40] = next[41] = std::byte{0};
    for (int boot = 0; boot < 3; ++boot) {
      Writer writer(flash, {.policy = flashlog::Policy::stop_when_full});
      for (int i = 0; writer.try_put("d", std::to_string(i), 200) == Status::ok; ++i) {
        REQUIRE(writer.log.sync() == Status::ok);
        CHECK(is_committed(flash, failed.kept));
      }
      CHECK(is_committed(flash, failed.kept));
    }
  }
}

TEST_CASE("flash log: a damaged header does not cost what the block before it took") {
  FailedBlock failed;
  FlashEmulator& flash = failed.flash;
  flash.memory()[(FailedBlock::kFailing + 1) * FailedBlock::kPart.block_bytes] ^= std::byte{1};
  CHECK(is_committed(flash, failed.kept));
  Writer writer(flash, {.prepared_blocks = 0});
  writer.put("d", "next", 200);
  REQUIRE(writer.log.sync() == Status::ok);
  CHECK(is_committed(flash, failed.kept));
}

TEST_CASE("flash log: a damaged header costs nothing that lies in other blocks") {
  struct Put {
    std::string path;
    std::uint32_t first;
    std::uint32_t last;
  };
  FlashEmulator flash(FailedBlock::kPart, kFilledPage);
  std::uint32_t block = 0;
  flash.before = [&](FlashEmulator&, const FlashEmulator::Operation& operation) {
    if (!operation.is_erase) block = operation.block;
  };
  Writer writer(flash, {.prepared_blocks = 0});
  std::vector<Put> all;
  for (std::uint32_t i = 0; block != FailedBlock::kPart.block_count - 1 || i % 8 != 0; ++i) {
    const std::uint32_t first = block;
    writer.put("d", std::to_string(i), 30);
    REQUIRE(writer.log.sync() == Status::ok);
    all.push_back({"d/" + std::to_string(i), first, block});
  }
  flash.before = nullptr;
  for (std::uint32_t damaged = 0; damaged < FailedBlock::kPart.block_count; ++damaged) {
    CAPTURE(damaged);
    FlashEmulator part = flash;
    part.memory()[damaged * FailedBlock::kPart.block_bytes] ^= std::byte{1};
    const FlashContents contents = read_flash(part.device());
    for (const Put& put : all) {
      CAPTURE(put.path);
      const FlashContents::Object* const object = contents.find(put.path);
      const bool there = object != nullptr && object->state == ObjectState::committed;
      CHECK((there || put.first == damaged || put.last == damaged));
    }
  }
}

TEST_CASE("flash log: a block that cannot be erased ahead costs none of those that were prepared") {
  FlashEmulator flash(FailedBlock::kPart, kFilledPage);
  flash.set_fault(2, FlashEmulator::Fault::erase_fails);
  Writer writer(flash, {.prepared_blocks = 3});
  writer.put("d", "first", 20);
  REQUIRE(writer.log.sync() == Status::ok);
  while (writer.log.prepare().value()) continue;
  CHECK(writer.log.retired() == 1);
  const std::uint64_t erases = flash.erases;
  std::vector<std::uint32_t> used;
  flash.before = [&](FlashEmulator&, const FlashEmulator::Operation& operation) {
    if (used.empty() || used.back() != operation.block) used.push_back(operation.block);
  };
  for (int i = 0; used.size() < 4; ++i) writer.put("d", std::to_string(i), 200);
  CHECK(used == std::vector<std::uint32_t>{0, 1, 3, 4});
  CHECK(flash.erases == erases);
}

TEST_CASE("flash log: the only block that works keeps what it holds") {
  Geometry part = FailedBlock::kPart;
  part.block_count = 3;
  FlashEmulator flash(part, kFilledPage);
  for (const std::uint32_t block : {1u, 2u}) flash.set_fault(block, FlashEmulator::Fault::program_fails);
  Status status = Status::ok;
  std::string latest;
  {
    Writer writer(flash);
    for (int i = 0; status == Status::ok; ++i) {
      const std::string file = std::to_string(i);
      status = writer.try_put("d", file, 20);
      if (status == Status::ok && writer.log.sync() == Status::ok) latest = "d/" + file;
    }
    CHECK(writer.log.retired() == 2);
  }
  CHECK(status == Status::io_error);
  REQUIRE(is_committed(flash, latest));
  Writer writer(flash);
  CHECK(writer.log.retired() == 2);
  CHECK(writer.try_put("d", "more", 20) == Status::io_error);
  CHECK(is_committed(flash, latest));
}

TEST_CASE("flash log: a granule that is lost leaves no object and no line under another name") {
  constexpr Geometry kPart = {
      .block_bytes = 1024, .block_count = 8, .program_bytes = 64, .bits_only_clear = true};
  for (std::size_t bytes = 1; bytes <= kPart.program_bytes; ++bytes) {
    for (const bool lines : {false, true}) {
      CAPTURE(bytes);
      CAPTURE(lines);
      FlashEmulator flash(kPart, kFilledPage);
      flash.volatile_programs = true;
      Writer writer(flash);
      const auto add = [&](const std::string& directory, std::size_t size) {
        if (lines) return writer.add_line(directory, directory + std::string(size, ' ') + "\n");
        writer.put(directory, directory, size);
      };
      add("a", 1);
      // The rest of the granule comes with a program of its own, and `bytes` decides where the next one begins.
      REQUIRE(writer.log.sync() == Status::ok);
      add("b", bytes);
      for (int i = 0; i < 20; ++i) add("b", 10);
      CHECK(flash.unsynced() > 2);
      for (std::size_t lost = 0; lost < flash.unsynced(); ++lost) {
        FlashEmulator dead = flash;
        dead.cut_losing(lost);
        dead.power_on();
        CHECK(is_filed_right(read_flash(dead.device())));
      }
    }
  }
}
