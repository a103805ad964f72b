#include "platform/template/dma_memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/support/session_bench.hpp"

namespace opdump::tests::dma {

namespace {

/// An engine that moves a transfer on when it is polled, and checks that its rules are kept.
struct FakeEngine {
  static constexpr std::size_t kChannels = 4;
  static constexpr std::uint32_t kAlignment = 32;
  static constexpr std::uint32_t kMaxBytes = 1024;

  struct Channel {
    std::byte* to = nullptr;
    Address from = 0;
    std::uint32_t bytes = 0;
    int polls_left = 0;
    bool busy = false;
  };

  void start(std::size_t channel, std::byte* to, Address from, std::uint32_t bytes) {
    REQUIRE(channel < kChannels);
    REQUIRE_FALSE(channels[channel].busy);
    REQUIRE(((address_of(to) | from | bytes) % kAlignment) == 0);
    REQUIRE((bytes != 0 && bytes <= kMaxBytes));
    channels[channel] = {to, from, bytes, static_cast<int>(transfers % 3), true};
    ++transfers;
    std::size_t busy = 0;
    for (const Channel& each : channels) busy += each.busy ? 1 : 0;
    most_busy = std::max(most_busy, busy);
  }

  std::int32_t poll(std::size_t number) {
    Channel& channel = channels[number];
    if (!channel.busy) return 1;
    if (stopped || channel.polls_left-- > 0) return 0;
    channel.busy = false;
    if (ended++ == fail_at) return -7;
    std::memcpy(channel.to, reinterpret_cast<const void*>(channel.from), channel.bytes);
    return 1;
  }

  std::uint32_t now_ms() { return ms++; }
  std::int32_t wait_for_operators(std::uint32_t stream_id) { return stream_id == 99 ? -3 : 0; }
  std::int32_t take_overflow(std::uint32_t stream_id) { return stream_id == 99 ? -4 : overflow; }
  std::uint32_t device_id() const { return 2; }

  Channel channels[kChannels];
  int transfers = 0;
  int ended = 0;
  int fail_at = -1;
  bool stopped = false;
  std::int32_t overflow = 0;
  std::uint32_t ms = 0;
  std::size_t most_busy = 0;
};

using Memory = DmaMemory<FakeEngine>;
static_assert(AsyncMemory<Memory> && RuledMemory<Memory> && FencedMemory<Memory> && OverflowMemory<Memory> &&
              IdentifiedMemory<Memory> && ExplainingMemory<Memory>);

/// Device memory, aligned as the engine wants it, of bytes that tell where they belong.
struct Source {
  explicit Source(std::size_t bytes) : memory(bytes + 64) {
    start = (32 - address_of(memory.data()) % 32) % 32;
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 7 + i / 251);
  }
  Address address(std::size_t offset = 0) const { return address_of(memory.data() + start + offset); }
  std::vector<std::byte> memory;
  std::size_t start;
};

}  // namespace

TEST_CASE("DMA memory: any address and size is copied, whatever the engine's rules") {
  FakeEngine engine;
  Memory memory(engine);
  const Source source(4096);
  for (std::size_t offset = 0; offset < 40; offset += 3) {
    for (const std::size_t bytes : {1u, 31u, 32u, 33u, 256u, 1000u, 3000u}) {
      std::vector<std::byte> to(bytes + 1, std::byte{0x5a});
      REQUIRE(memory.copy(to.data(), source.address(offset), bytes) == Status::ok);
      CHECK(std::memcmp(to.data(), source.memory.data() + source.start + offset, bytes) == 0);
      CHECK(to[bytes] == std::byte{0x5a});
    }
  }
}

TEST_CASE("DMA memory: a transfer that fails or does not end is said so, with the engine's code") {
  FakeEngine engine;
  Memory memory(engine, 10);
  const Source source(4096);
  std::byte to[64];
  CHECK(memory.driver_error().call == nullptr);
  engine.fail_at = 0;
  CHECK(memory.copy(to, source.address(), 64) == Status::device_copy_failed);
  CHECK(memory.driver_error().code == -7);
  CHECK(std::string_view(memory.driver_error().call) == "transfer");
  engine.stopped = true;
  CHECK(memory.copy(to, source.address(), 64) == Status::device_copy_failed);
  CHECK(memory.copy(to, source.address(), 64) == Status::recorder_busy);
  engine.stopped = false;
  Status status = Status::recorder_busy;
  for (int i = 0; i < 5 && status != Status::ok; ++i) status = memory.copy(to, source.address(), 64);
  CHECK(status == Status::ok);
  CHECK(memory.fence(99) == Status::driver_failed);
  CHECK(memory.driver_error().code == -3);
  CHECK(memory.overflowed(99).status() == Status::driver_failed);
  CHECK_FALSE(memory.overflowed(1).value());
  engine.overflow = 1;
  CHECK(memory.overflowed(1).value());
}

TEST_CASE("DMA memory: a recorder keeps all channels busy but the one for odd pieces") {
  FakeEngine engine;
  Memory memory(engine);
  FakeSink sink;
  FakeClock clock;
  std::byte scratch[1024];
  alignas(8) std::byte ring[8192];
  BasicSession<Memory> session({.memory = memory,
                                .sink = sink,
                                .clock = clock,
                                .scratch = scratch,
                                .device_id = 2,
                                .when_full = WhenFull::inline_drain});
  auto& recorder = *session.add_recorder(ring).value();
  ModelPlan plan;
  std::uint8_t bits[3];
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config(everything()) == Status::ok);
  REQUIRE(session.load_model(plan, kModel, bits) == Status::ok);
  const Source source(50000);
  const Dim dim = 49999;
  const TensorView tensor = {
      .address = source.address(), .bytes = dim, .dtype = DType::uint8, .shape = Shape(&dim, 1)};
  REQUIRE(recorder.begin_step(plan) == Status::ok);
  CHECK(recorder.capture(0, {}, {&tensor, 1}) == Status::ok);
  REQUIRE(recorder.end_step() == Status::ok);
  REQUIRE(session.finalize() == Status::ok);
  CHECK(engine.most_busy >= FakeEngine::kChannels - 1);
  REQUIRE(sink.objects.size() == 1);
  const std::vector<std::byte>& file = sink.objects.begin()->second;
  CHECK(std::memcmp(file.data() + file.size() - dim, source.memory.data() + source.start, dim) == 0);
}

}  // namespace opdump::tests::dma
