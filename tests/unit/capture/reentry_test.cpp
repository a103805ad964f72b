#include <doctest/doctest.h>

#include <functional>

#include "platform/host/host_memory.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

/// Does something else in each of its calls, once at a time.
class CallingSink final : public Sink {
 public:
  Result<ObjectId> begin(const ObjectName& name) override {
    call();
    return sink.begin(name);
  }
  Status append(ObjectId object, std::span<const Bytes> parts) override {
    call();
    return sink.append(object, parts);
  }
  Status commit(ObjectId object, ObjectId with) override {
    call();
    return sink.commit(object, with);
  }
  void abort(ObjectId object) override {
    call();
    sink.abort(object);
  }
  Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    call();
    return sink.append_lines(name, parts);
  }
  Status sync() override {
    call();
    return sink.sync();
  }

  FakeSink sink;
  std::function<void()> calls;
  int called = 0;

 private:
  void call() {
    ++called;
    if (calls) calls();
  }
};

struct Rig {
  explicit Rig(WhenFull when_full)
      : session({.memory = memory,
                 .sink = sink,
                 .clock = clock,
                 .scratch = scratch,
                 .when_full = when_full,
                 .block_limit_ms = 50}),
        recorder(*session.add_recorder(ring).value()),
        other(*session.add_recorder(other_ring).value()) {
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(everything()) == Status::ok);
    REQUIRE(session.load_model(plan, kModel, bits) == Status::ok);
    REQUIRE(session.load_model(other_plan, kModel, other_bits) == Status::ok);
  }

  Status capture() {
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    Status status = Status::ok;
    for (std::size_t op = 0; op < 3; ++op) {
      const Status of_one = recorder.capture(op, {&tensors.input, 1}, {&tensors.output, 1});
      if (status == Status::ok) status = of_one;
    }
    REQUIRE(recorder.end_step() == Status::ok);
    return status;
  }

  HostMemory memory;
  CallingSink sink;
  FakeClock clock;
  std::byte scratch[1024];
  alignas(8) std::byte ring[4096];
  alignas(8) std::byte other_ring[1024];
  BasicSession<HostMemory> session;
  BasicRecorder<HostMemory>& recorder;
  BasicRecorder<HostMemory>& other;
  ModelPlan plan, other_plan;
  std::uint8_t bits[3] = {}, other_bits[3] = {};
  Tensors tensors;
};

}  // namespace

TEST_CASE("re-entry: what a sink calls back is refused, and the dump is whole") {
  for (const WhenFull when_full : {WhenFull::drop, WhenFull::block, WhenFull::inline_drain}) {
    CAPTURE(static_cast<int>(when_full));
    Rig rig(when_full);
    int finalized = 0;
    rig.sink.calls = [&] {
      REQUIRE(rig.session.drain_some(SIZE_MAX) == 0);
      const Status flushed = rig.session.flush(1000);
      REQUIRE(flushed == Status::drainer_attached);
      const Status status = rig.session.finalize();
      REQUIRE((status == Status::drainer_attached || (status == Status::not_initialised && finalized == 0)));
    };
    for (int round = 0; round < 20; ++round) {
      REQUIRE(rig.capture() == Status::ok);
      if (round % 3 == 0) REQUIRE(rig.session.flush(1000) == Status::ok);
      rig.session.drain_some(1);
    }
    CHECK(rig.session.initialised());
    REQUIRE(rig.session.finalize() == Status::ok);
    CHECK(rig.sink.called > 60);
    rig.sink.calls = {};
    const DumpCounts counts = rig.session.counts();
    CHECK(counts.written == 60);
    CHECK(counts.lost() == 0);
    CHECK(rig.sink.sink.objects.size() == 60);
    CHECK(rig.sink.sink.open_objects.empty());
    REQUIRE(rig.session.init() == Status::ok);
    CHECK(rig.session.flush(1000) == Status::ok);
    REQUIRE(rig.session.finalize() == Status::ok);
  }
}

TEST_CASE("re-entry: a capture in the sink of a recorder that drains in the caller loses its own record") {
  Rig rig(WhenFull::inline_drain);
  std::uint32_t full = 0;
  REQUIRE(rig.other.begin_step(rig.other_plan) == Status::ok);
  rig.sink.calls = [&] {
    const Status status = rig.other.capture(0, {&rig.tensors.input, 1}, {});
    full += status == Status::ring_full ? 1 : 0;
    REQUIRE((status == Status::ok || status == Status::ring_full));
  };
  for (int round = 0; round < 20; ++round) REQUIRE(rig.capture() == Status::ok);
  rig.sink.calls = {};
  REQUIRE(rig.other.end_step() == Status::ok);
  REQUIRE(rig.session.finalize() == Status::ok);
  CHECK(full > 0);
  const DumpCounts counts = rig.session.counts();
  CHECK(counts.ring_full == full);
  CHECK(counts.written + full == counts.wanted);
  CHECK(rig.sink.sink.objects.size() == counts.written);
}

#if OPDUMP_FAULTS == 2
TEST_CASE("re-entry: what is captured after a crash that the program outlives is written by finalize") {
  for (const WhenFull when_full : {WhenFull::drop, WhenFull::block}) {
    Rig rig(when_full);
    REQUIRE(rig.capture() == Status::ok);
    rig.session.begin_crash();
    rig.session.crash_flush(nullptr);
    CHECK(rig.session.counts().written == 3);
    REQUIRE(rig.capture() == Status::ok);
    CHECK(rig.session.drain_some(SIZE_MAX) == 0);
    REQUIRE(rig.session.finalize() == Status::ok);
    const DumpCounts counts = rig.session.counts();
    CHECK(counts.captured == 6);
    CHECK(counts.captured == counts.written + counts.lost());
    CHECK(rig.sink.sink.objects.size() == 6);
    CHECK(rig.clock.pauses == 0);
    // A new beginning waits and drains again.
    REQUIRE(rig.session.unload_model(rig.plan) == Status::ok);
    REQUIRE(rig.session.init() == Status::ok);
    REQUIRE(rig.session.set_config(everything()) == Status::ok);
    REQUIRE(rig.session.load_model(rig.plan, kModel, rig.bits) == Status::ok);
    Status status = Status::ok;
    for (int round = 0; round < 20 && status == Status::ok; ++round) status = rig.capture();
    CHECK(status == (when_full == WhenFull::block ? Status::timeout : Status::ring_full));
    CHECK(rig.session.drain_some(SIZE_MAX) != 0);
    REQUIRE(rig.session.finalize() == Status::ok);
    check_adds_up(rig.session.counts());
  }
}
#endif
