#include <doctest/doctest.h>

#include "opdump/session.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/wire/frame.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/flash_emulator.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;

std::uint32_t g_wrong = 0, g_calls = 0;  // the polynomial that the unit does not have

}  // namespace

extern "C" std::uint32_t opdump_crc_unit(std::uint32_t polynomial, std::uint32_t crc, const void* at,
                                         std::size_t bytes) {
  ++g_calls;
  const std::byte* const from = static_cast<const std::byte*>(at);
  if ((polynomial == kCrc32Polynomial) != (polynomial == g_wrong)) return Crc32<64>::update(crc, from, bytes);
  return Crc32<64, kCrc32cPolynomial>::update(crc, from, bytes);
}

TEST_CASE(
    "crc unit: one of another polynomial is found out before anything is written, and CRCs stay the same") {
  for (const std::uint32_t wrong : {kCrc32Polynomial, kCrc32cPolynomial, 0u}) {
    g_wrong = wrong;
    const Status expected = wrong == 0 ? Status::ok : Status::driver_failed;
    FlashEmulator flash({.block_bytes = 1024, .block_count = 4, .program_bytes = 16}, 128);
    const flashlog::Device device = flash.device();
    std::byte page[flashlog::FlashLog::kPrefixBytes + 128], scratch[1024];
    flashlog::FlashLog log(device, page, {});
    CHECK(log.mount() == expected);
    HostMemory memory;
    FakeClock clock;
    BasicSession<HostMemory> session({.memory = memory, .sink = log, .clock = clock, .scratch = scratch});
    CHECK(session.init() == expected);
    CHECK(flash.operations == 0);
    if (wrong != 0) continue;
    REQUIRE(log.begin({{}, "d", "f"}).ok());
    REQUIRE(log.sync() == Status::ok);
    const std::byte* const header = flash.memory().data();
    const std::size_t bytes = load_little_endian<std::uint16_t>(header + 6) - flashlog::kCrcBytes;
    CHECK(Crc32<8192>::update(0, header, bytes) == load_little_endian<std::uint32_t>(header + bytes));
    g_calls = 0;
    const std::uint32_t right = Crc32<1024, kCrc32cPolynomial>::update(0, header, bytes);
    CHECK(wire::frame_crc(header, bytes) == right);
    CHECK(crc32c(0, header, bytes) == right);
    CHECK(g_calls == 2);
  }
}
