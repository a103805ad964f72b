#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "platform/baremetal/tick_clock.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "tests/seal/sealed_bench.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/one_op_session.hpp"

using namespace opdump;
using namespace opdump::tests;
using flashlog::FlashLog;

namespace {

/// Counts the bytes that it has to seal.
class MeteredSealer final : public Sealer {
 public:
  Status begin(SealKey recipient, std::span<std::byte, kSealKeyBytes> ephemeral) override {
    return sealer_.begin(recipient, ephemeral);
  }
  Status seal(SealNonce nonce, Bytes associated, MutableBytes chunk) override {
    ++calls;
    bytes += chunk.size();
    return sealer_.seal(nonce, associated, chunk);
  }

  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;

 private:
  sodium::SodiumSealer sealer_{sodium_library()};
};

constexpr std::uint32_t kBoundsPage = 256;

/// Drains for a while, and holds each call against the bound of a SealedSink over a FlashLog. What one call
/// has sealed at most.
std::uint64_t drain_bounded(const flashlog::Geometry& geometry, std::uint32_t chunk_bytes,
                            std::uint32_t tensor_bytes, std::uint32_t budget) {
  FlashEmulator flash(geometry, kBoundsPage);
  const flashlog::Device device = flash.device();
  std::byte page[FlashLog::kPrefixBytes + kBoundsPage];
  FlashLog log(device, page,
               {.policy = flashlog::Policy::overwrite_oldest, .prepared_blocks = 5, .erase_budget = 0});
  REQUIRE(log.mount() == Status::ok);
  MeteredSealer sealer;
  std::vector<std::byte> chunks(SealedSink<FlashLog>::bytes_for(chunk_bytes));
  SealedSink<FlashLog> sink(log, sealer, chunks);
  Recipient recipient;
  REQUIRE(sink.seal(recipient.public_key()) == Status::ok);
  baremetal::TickClock clock(1000);
  OneOpSession capturing(sink, clock);
  capturing.start();
  const std::vector<std::byte> data(tensor_bytes);
  const std::uint32_t most =
      SealedSink<FlashLog>::most_bytes(FlashLog::most_bytes(budget + 255, budget / 128 + 2), chunk_bytes);
  std::uint64_t most_sealed = 0;
  for (int round = 0; round < 200; ++round) {
    if (round % 4 == 0) {
      static_cast<void>(capturing.step(data));
      clock.tick();
    }
    while (log.erase_ahead().value()) continue;
    REQUIRE(log.ready_bytes() >= most);
    const std::uint64_t erases = flash.erases, programs = flash.programs, bytes = flash.programmed_bytes;
    const std::uint64_t sealed_before = sealer.bytes;
    const bool last = round == 199;
    if (last) {
      static_cast<void>(capturing.session.finalize_some(budget));
    } else {
      capturing.session.drain_some(budget);
    }
    most_sealed = std::max(most_sealed, sealer.bytes - sealed_before);
    if (flash.erases != erases || flash.programs - programs > most / kBoundsPage + 3 ||
        flash.programmed_bytes - bytes > most + 2 * kBoundsPage || sealer.bytes - sealed_before > most)
      FAIL("round ", round, ": ", flash.programmed_bytes - bytes, " B programmed and ",
           sealer.bytes - sealed_before, " B sealed of ", most);
  }
  CHECK(flash.violation == nullptr);
  CHECK(capturing.session.counts().sink_failed == 0);
  CHECK(capturing.session.counts().written > 0);
  return most_sealed;
}

}  // namespace

TEST_CASE("seal: a drain into flash seals and programs no more than its bound, and erases only ahead") {
  const flashlog::Geometry parts[] = {
      {.block_bytes = 8192, .block_count = 24, .program_bytes = 1, .bits_only_clear = true},
      {.block_bytes = 8192, .block_count = 24, .program_bytes = 16}};
  for (const flashlog::Geometry& part : parts) {
    for (const std::uint32_t chunk_bytes : {64u, 256u, 1024u}) {
      for (const std::uint32_t tensor_bytes : {1u, 200u, 3000u, 7000u}) {
        for (const std::uint32_t budget : {1u, 512u, 2000u}) {
          CAPTURE(part.program_bytes);
          CAPTURE(chunk_bytes);
          CAPTURE(tensor_bytes);
          CAPTURE(budget);
          const std::uint64_t sealed = drain_bounded(part, chunk_bytes, tensor_bytes, budget);
          CHECK(sealed > std::min(budget, tensor_bytes) / 2);
        }
      }
    }
  }
}
