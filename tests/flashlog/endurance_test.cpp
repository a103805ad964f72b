#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "platform/flashlog/flash_log.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_costs.hpp"
#include "tests/support/flash_emulator.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;
using flashlog::FlashLog;
using flashlog::ObjectState;

/// Bytes of record `i`, 20 to 275 of them.
std::string body(std::uint32_t i) {
  return std::string(20 + i * 37 % 256, static_cast<char>('a' + i % 26)) + std::to_string(i);
}

}  // namespace

TEST_CASE("flash log: a small part keeps its newest records, however many come") {
  const std::uint32_t records = std::getenv("OPDUMP_FLASH_CUTS") != nullptr ? 1'000'000 : 20'000;
  constexpr flashlog::Geometry kPart = {
      .block_bytes = 4096, .block_count = 8, .program_bytes = 1, .bits_only_clear = true};
  constexpr std::uint32_t kPage = 256;
  FlashEmulator flash(kPart, kPage);
  const flashlog::Device device = flash.device();
  std::vector<std::byte> memory(FlashLog::kPrefixBytes + kPage);
  FlashLog log(device, memory, {});
  REQUIRE(log.mount() == Status::ok);
  for (std::uint32_t i = 0; i < records; ++i) {
    const std::string text = body(i);
    const Bytes part = as_bytes(text);
    const Result<ObjectId> object =
        log.begin({{}, "t/" + std::to_string(i / 1000), "op." + std::to_string(i)});
    bool good = object.ok() && log.append(object.value(), {&part, 1}) == Status::ok &&
                log.commit(object.value()) == Status::ok;
    if (i % 3 == 0) good = good && log.sync() == Status::ok;
    if (i % 5 == 0) good = good && log.prepare().ok();
    if (!good) FAIL("record ", i);
    if (i % 997 != 0 && i + 1 != records) continue;

    REQUIRE(log.sync() == Status::ok);
    const FlashContents contents = read_flash(device);
    REQUIRE(!contents.objects.empty());
    std::uint32_t next = i + 1;
    std::size_t bytes = 0;
    for (auto at = contents.objects.rbegin(); at != contents.objects.rend(); ++at) {
      if (at->state == ObjectState::overwritten) continue;
      --next;
      const std::string path = "t/" + std::to_string(next / 1000) + "/op." + std::to_string(next);
      if (at->state != ObjectState::committed || at->path != path || at->bytes != body(next)) FAIL(path);
      bytes += at->bytes.size();
    }
    // Two blocks at most are not to be read: one prepared, one just begun.
    const std::size_t most = (kPart.block_count - 2) * kPart.block_bytes * 3 / 4;
    if (i > 1000) CHECK(bytes > most);
  }
  std::uint32_t least = UINT32_MAX;
  std::uint32_t most = 0;
  for (std::uint32_t block = 0; block < kPart.block_count; ++block) {
    least = std::min(least, flash.erases_of(block));
    most = std::max(most, flash.erases_of(block));
  }
  CHECK(most - least <= 1);
  CHECK(flash.violation == nullptr);
}

TEST_CASE("flash log: writing costs little more than the bytes") {
  const flashlog::Geometry parts[] = {
      {.block_bytes = 4096, .block_count = 64, .program_bytes = 1, .bits_only_clear = true},
      {.block_bytes = 65536, .block_count = 16, .program_bytes = 1, .bits_only_clear = true},
      {.block_bytes = 65536, .block_count = 16, .program_bytes = 16},
      {.block_bytes = 65536, .block_count = 16, .program_bytes = 2048},
  };
  for (const flashlog::Geometry& part : parts) {
    CAPTURE(part.block_bytes);
    CAPTURE(part.program_bytes);
    const bool sync_each = part.program_bytes == 1;
    const std::uint32_t page_bytes = part.program_bytes > 256 ? part.program_bytes : 256;
    for (const std::uint32_t bytes : {256u, 4096u, 65536u}) {
      CAPTURE(bytes);
      const FlashCosts costs = measure_flash_costs(part, page_bytes, bytes, sync_each);
      CHECK(costs.write_amplification >= 1);
      CHECK(costs.write_amplification <= (bytes == 256 ? 1.25 : 1.05));
      CHECK(costs.erase_amplification > 0.8);
      CHECK(costs.erase_amplification <= 1);
      if (bytes >= 4096) CHECK(costs.of_raw >= 0.9);
    }
  }
}

TEST_CASE("flash log: 16 MiB are mounted at once") {
  for (const std::uint32_t block_bytes : {4096u, 65536u}) {
    if (OPDUMP_TEST_SHARE > 1 && block_bytes != 4096) continue;
    CAPTURE(block_bytes);
    const FlashCosts costs = measure_flash_costs(
        {.block_bytes = block_bytes, .block_count = (16u << 20) / block_bytes, .program_bytes = 1}, 256,
        65536, false);
    CHECK(costs.mount_ms > 0);
    CHECK(costs.mount_ms < 50);
  }
}
