#include "platform/flashlog/flash_log.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;
using flashlog::FlashLog;
using flashlog::Geometry;
using flashlog::ObjectState;
using flashlog::Options;
using flashlog::Policy;

std::string bytes_like(std::size_t count, std::uint32_t seed) {
  std::string text(count, '\0');
  for (char& c : text) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
  return text;
}

struct Part {
  explicit Part(const Geometry& geometry, std::uint32_t page_bytes = 256, const Options& options = {})
      : flash(geometry, page_bytes),
        page(FlashLog::kPrefixBytes + page_bytes),
        device(flash.device()),
        log(device, page, options) {}

  Status put(const std::string& directory, const std::string& file, const std::string& bytes) {
    const Result<ObjectId> object = log.begin({"/ignored", directory, file});
    if (!object.ok()) return object.status();
    const Bytes part = as_bytes(bytes);
    if (const Status status = log.append(object.value(), {&part, 1}); status != Status::ok) {
      log.abort(object.value());
      return status;
    }
    return log.commit(object.value());
  }

  FlashContents contents() { return read_flash(device); }

  FlashEmulator flash;
  std::vector<std::byte> page;
  flashlog::Device device;
  FlashLog log;
};

const Geometry kGeometries[] = {
    {.block_bytes = 4096, .block_count = 8, .program_bytes = 1, .bits_only_clear = true},
    {.block_bytes = 4096, .block_count = 8, .program_bytes = 16},
    {.block_bytes = 4096, .block_count = 8, .program_bytes = 256, .bits_only_clear = true},
    {.block_bytes = 2048, .block_count = 16, .program_bytes = 128, .erased = std::byte{0}},
    {.block_bytes = 65536, .block_count = 4, .program_bytes = 4096},
    {.block_bytes = 768, .block_count = 40, .program_bytes = 48, .bits_only_clear = true},
};

std::uint32_t page_of(const Geometry& geometry) {
  return geometry.program_bytes > 192 ? geometry.program_bytes : geometry.block_bytes == 768 ? 192 : 256;
}

}  // namespace

TEST_CASE("flash log: objects come back as they were written") {
  for (const Geometry& geometry : kGeometries) {
    CAPTURE(geometry.block_bytes);
    CAPTURE(geometry.program_bytes);
    Part part(geometry, page_of(geometry));
    REQUIRE(part.log.mount() == Status::ok);
    std::vector<std::string> bodies;
    for (std::uint32_t i = 0; i < 12; ++i) {
      bodies.push_back(bytes_like(i * i * 11, i));
      REQUIRE(part.put("20240101/" + std::to_string(i / 3), "op" + std::to_string(i), bodies[i]) ==
              Status::ok);
      if (i % 2 == 0) REQUIRE(part.log.sync() == Status::ok);
    }
    REQUIRE(part.log.sync() == Status::ok);
    const FlashContents contents = part.contents();
    REQUIRE(contents.objects.size() == 12);
    for (std::uint32_t i = 0; i < 12; ++i) {
      CHECK(contents.objects[i].path == "20240101/" + std::to_string(i / 3) + "/op" + std::to_string(i));
      CHECK(contents.objects[i].state == ObjectState::committed);
      CHECK(contents.objects[i].bytes == bodies[i]);
    }
    CHECK(contents.unreadable_runs == 0);
    CHECK(part.flash.violation == nullptr);
  }
}

TEST_CASE("flash log: objects and journals interleave, end or not, and survive a mount") {
  for (const Geometry& geometry : kGeometries) {
    CAPTURE(geometry.block_bytes);
    Part part(geometry, page_of(geometry));
    REQUIRE(part.log.mount() == Status::ok);
    const std::string halves[] = {bytes_like(900, 1), bytes_like(1100, 2)};
    const Bytes parts[] = {as_bytes(halves[0]), {}, as_bytes(halves[1])};
    const ObjectId a = part.log.begin({"", "d/e", "a"}).value();
    const ObjectId b = part.log.begin({"", "", "b"}).value();
    const ObjectId c = part.log.begin({"", "d/e", "c"}).value();
    CHECK(part.log.append(a, parts) == Status::ok);
    const Bytes line = as_bytes("line one\n");
    CHECK(part.log.append_lines({"", "d", "journal"}, {&line, 1}) == Status::ok);
    CHECK(part.log.append(b, std::span(parts).first(1)) == Status::ok);
    CHECK(part.log.append(a, std::span(parts).first(1)) == Status::ok);
    CHECK(part.log.append(c, parts) == Status::ok);
    part.log.abort(c);
    CHECK(part.log.commit(c) == Status::invalid_argument);
    CHECK(part.log.commit(a) == Status::ok);
    CHECK(part.log.append_lines({"", "d", "journal"}, {&line, 1}) == Status::ok);
    CHECK(part.log.sync() == Status::ok);
    CHECK(part.log.mount() == Status::already_initialised);
    {
      FlashLog log(part.device, part.page, {});
      REQUIRE(log.mount() == Status::ok);
      const ObjectId after = log.begin({"", "d/e", "after"}).value();
      CHECK(log.commit(after) == Status::ok);
      CHECK(log.append_lines({"", "d", "journal"}, {&line, 1}) == Status::ok);
      CHECK(log.sync() == Status::ok);
    }

    const FlashContents contents = part.contents();
    REQUIRE(contents.objects.size() == 4);
    REQUIRE(contents.find("d/e/a") != nullptr);
    CHECK(contents.find("d/e/a")->state == ObjectState::committed);
    CHECK(contents.find("d/e/a")->bytes == halves[0] + halves[1] + halves[0]);
    CHECK(contents.find("/b")->state == ObjectState::torn);
    CHECK(contents.find("/b")->bytes == halves[0]);
    CHECK(contents.find("d/e/c")->state == ObjectState::aborted);
    CHECK(contents.find("d/e/after")->state == ObjectState::committed);
    CHECK(contents.journals.at("d/journal") == "line one\nline one\nline one\n");
    CHECK(part.flash.violation == nullptr);
  }
}

TEST_CASE("flash log: a full part refuses, or gives up its oldest objects") {
  for (const Geometry& geometry : kGeometries) {
    for (const Policy policy : {Policy::stop_when_full, Policy::overwrite_oldest}) {
      CAPTURE(geometry.block_bytes);
      Part part(geometry, page_of(geometry), {.policy = policy});
      REQUIRE(part.log.mount() == Status::ok);
      const std::size_t bytes = geometry.block_bytes / 3;
      const std::uint32_t enough = geometry.block_count * 7;
      std::uint32_t good = 0;
      for (std::uint32_t i = 0; i < enough; ++i) {
        const Status status = part.put("d", std::to_string(i), bytes_like(bytes, i));
        REQUIRE((status == Status::ok || status == Status::no_space));
        if (status == Status::ok) ++good;
        const Result<bool> more = part.log.prepare();
        REQUIRE((more.ok() || more.status() == Status::no_space));
      }
      static_cast<void>(part.log.sync());
      const FlashContents contents = part.contents();
      const std::uint32_t kept = static_cast<std::uint32_t>(contents.count(ObjectState::committed));
      if (policy == Policy::stop_when_full) {
        CHECK(kept == good);
        CHECK(good < enough);
        // Lines of journals still find room.
        const Bytes line = as_bytes(std::string_view("gap,0,1,2,sink_failed\n"));
        for (int i = 0; i < 20; ++i)
          REQUIRE(part.log.append_lines({{}, "d", "opdump.0.1.journal"}, {&line, 1}) == Status::ok);
        for (std::uint32_t i = 0; i < good; ++i) {
          REQUIRE(contents.find("d/" + std::to_string(i)) != nullptr);
          CHECK(contents.find("d/" + std::to_string(i))->bytes == bytes_like(bytes, i));
        }
      } else {
        CHECK(good == enough);
        for (std::uint32_t i = enough - kept; i < enough; ++i) {
          REQUIRE(contents.find("d/" + std::to_string(i)) != nullptr);
          CHECK(contents.find("d/" + std::to_string(i))->bytes == bytes_like(bytes, i));
        }
      }
      const std::uint32_t left = policy == Policy::stop_when_full ? 2048 / geometry.block_bytes + 1 : 0;
      CHECK(kept >= (geometry.block_count - 2 - left) * 5 / 2);
      CHECK(part.flash.violation == nullptr);
    }
  }
}
