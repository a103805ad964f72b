// A build whose recorders never wait.
#undef OPDUMP_WAIT
#define OPDUMP_WAIT 0
#include <doctest/doctest.h>

#include <vector>

#include "opdump/port/waker.hpp"
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"

using namespace opdump;

namespace {

struct CountingSink final : Sink {
  Result<ObjectId> begin(const ObjectName&) override { return ObjectId{0}; }
  Status append(ObjectId, std::span<const Bytes>) override { return Status::ok; }
  Status commit(ObjectId, ObjectId) override {
    ++committed;
    return Status::ok;
  }
  void abort(ObjectId) override {}
  Status append_lines(const ObjectName&, std::span<const Bytes>) override { return Status::ok; }
  Status sync() override { return Status::ok; }
  int committed = 0;
};

struct CountingClock final : Clock {
  std::uint64_t unix_us() override { return ++now; }
  std::int32_t utc_offset_seconds() override { return 0; }
  std::uint32_t monotonic_ms() override { return 0; }
  void pause() override { ++pauses; }
  std::uint64_t now = 0;
  int pauses = 0;
};

struct CountingWaker final : Waker {
  void wake() override { ++calls; }
  int calls = 0;
};

}  // namespace

TEST_CASE("without waiting: a full ring drops at once, whatever the policy") {
  for (const WhenFull policy : {WhenFull::drop, WhenFull::block, WhenFull::inline_drain}) {
    HostMemory memory;
    CountingSink sink;
    CountingClock clock;
    CountingWaker waker;
    std::vector<std::byte> scratch(drain_scratch_bytes(8, 8, 8));
    alignas(8) std::byte ring[1024];
    BasicSession<HostMemory> session(
        {.memory = memory, .sink = sink, .clock = clock, .scratch = scratch, .when_full = policy});
    CHECK(session.when_full() == WhenFull::drop);
    REQUIRE(session.configure({.when_full = policy}) == Status::ok);
    CHECK(session.when_full() == WhenFull::drop);
    auto& recorder = *session.add_recorder(ring).value();
    const DumpConfig config = {.active = true, .dump_path = "/", .single_ops = true};
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    CHECK(session.attach_drainer(&waker) == Status::not_supported);
    const int pauses = clock.pauses;

    const std::byte data[256] = {};
    const Dim dims[] = {256};
    const TensorView tensor = {
        .address = address_of(data), .bytes = 256, .dtype = DType::uint8, .shape = dims};
    const auto capture = [&] {
      return recorder.capture_single_op({.name = "n", .type = "T"}, {}, {&tensor, 1});
    };
    int fitting = 0;
    Status status = Status::ok;
    for (; fitting < 10 && (status = capture()) == Status::ok; ++fitting) continue;
    CHECK(fitting >= 1);
    CHECK(status == Status::ring_full);
    CHECK(clock.pauses == pauses);
    CHECK(waker.calls == 0);
    CHECK(sink.committed == 0);
    CHECK(session.finalize() == Status::ok);
    CHECK(sink.committed == fitting);
    CHECK(session.counts().ring_full == 1);
  }
}
