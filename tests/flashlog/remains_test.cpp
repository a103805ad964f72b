#include <doctest/doctest.h>

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

  void put(const std::string& directory, const std::string& file, std::size_t bytes) {
    const std::string text(bytes, 'b');
    const Bytes part = as_bytes(text);
    const ObjectId object = log.begin({{}, directory, file}).value();
    REQUIRE(log.append(object, {&part, 1}) == Status::ok);
    REQUIRE(log.commit(object) == Status::ok);
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

  FailedBlock() {
    FlashEmulator::Operation last{};
    std::vector<std::byte> bytes;
    flash.before = [&](FlashEmulator&, const FlashEmulator::Operation& operation) {
      if (operation.is_erase || (!bytes.empty() && operation.block != kFailing)) return;
      last = operation;
      bytes.assign(operation.bytes.begin(), operation.bytes.end());
      last.bytes = bytes;
    };
    const auto at_page = [&] { return (last.offset + last.bytes.size()) % kFilledPage == 0; };
    Writer writer(flash, {.prepared_blocks = 0});
    for (int i = 0; last.block != kFailing || last.offset < 500 || !at_page(); ++i) {
      writer.put("d", last.block == kFailing ? "kept" + std::to_string(i) : "old", 20);
      REQUIRE(writer.log.sync() == Status::ok);
      bytes.clear();
      if (last.block == kFailing) kept = "d/kept" + std::to_string(i);
    }
    flash.set_fault(kFailing, FlashEmulator::Fault::program_fails);
    writer.put("d", "doubtful", 60);
    writer.put("d", "behind", 40);
    flash.before = nullptr;
    REQUIRE(last.block == kFailing);
    REQUIRE(writer.log.retired() == 1);
    flash.cut();
    copy_bytes(&flash.memory()[kFailing * kPart.block_bytes + last.offset], bytes);
    flash.power_on();
    REQUIRE_FALSE(is_committed(flash, "d/doubtful"));
    REQUIRE(is_committed(flash, kept));
  }

  FlashEmulator flash{kPart, kFilledPage};
  std::string kept;  ///< what the block held before
};

}  // namespace

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
      // The rest of the granule comes with a program of its own, and `bytes` decides where the next one
      // begins.
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
