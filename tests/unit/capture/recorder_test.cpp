#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/port/waker.hpp"
#include "opdump/read/nano_reader.hpp"
#include "tests/support/little_endian.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

TEST_CASE("recorder: a length that no address space holds is lost, not written") {
  for (const std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} - 100, ~std::uint64_t{0} / 2}) {
    Bench<1024> bench(WhenFull::drop);
    bench.memory.fail_at = 0;
    bench.start(everything());
    TensorView tensor = bench.tensors.input;
    tensor.bytes = bytes;
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    CHECK(bench.recorder.capture(0, {&tensor, 1}, {}) == Status::device_copy_failed);
    REQUIRE(bench.recorder.end_step() == Status::ok);
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(bench.sink.objects.empty());
  }
}

TEST_CASE("recorder: block goes on waiting while the drainer makes progress") {
  // Takes one chunk out of the ring at every other pause, far slower than the limit for the whole wait.
  struct SlowDrain final : Clock {
    std::uint64_t unix_us() override { return ++us; }
    std::int32_t utc_offset_seconds() override { return 0; }
    std::uint32_t monotonic_ms() override { return ms; }
    void pause() override {
      ms += 20;
      if (session != nullptr && ms % 40 == 0) static_cast<void>(session->drain_some(1));
    }
    std::uint64_t us = 1'700'000'000'000'000;
    std::uint32_t ms = 0;
    BasicSession<FakeMemory>* session = nullptr;
  } clock;
  FakeMemory memory;
  FakeSink sink;
  std::byte scratch[1024];
  alignas(8) std::byte ring[4096];
  BasicSession<FakeMemory> session(
      {.memory = memory, .sink = sink, .clock = clock, .scratch = scratch, .block_limit_ms = 100});
  clock.session = &session;
  auto& recorder = *session.add_recorder(ring).value();
  ModelPlan plan;
  std::uint8_t bits[3];
  Tensors tensors;
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config(everything()) == Status::ok);
  REQUIRE(session.load_model(plan, kModel, bits) == Status::ok);
  std::vector<float> data(430);
  const Dim dims[] = {430};
  const TensorView large = {
      .address = address_of(data.data()), .bytes = 1720, .dtype = DType::float32, .shape = dims};
  recorder.begin_step(plan);
  for (int i = 0; i < 14; ++i) CHECK(recorder.capture(1, {&tensors.input, 1}, {}) == Status::ok);
  CHECK(recorder.capture(0, {}, {&large, 1}) == Status::ok);
  recorder.end_step();
  CHECK(clock.ms > 100);
  clock.session = nullptr;
  REQUIRE(session.finalize() == Status::ok);
  CHECK(session.counts().written == 15);
}

TEST_CASE("recorder: degrade shrinks a record to its statistics, then to a count, and never waits") {
  Bench<4096> bench(WhenFull::degrade);
  OpCounts op_counts[3];
  bench.start(everything());
  REQUIRE(bench.session.count_ops(bench.plan, op_counts) == Status::ok);
  std::vector<float> data(400);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i) - 100;
  const Dim dims[] = {20, 20};
  const TensorView tensor = {
      .address = address_of(data.data()), .bytes = 1600, .dtype = DType::float32, .shape = dims};
  bench.recorder.begin_step(bench.plan);
  CHECK(bench.recorder.capture(0, {}, {&tensor, 1}) == Status::ok);
  CHECK(bench.recorder.capture(1, {}, {&tensor, 1}) == Status::ok);
  CHECK(bench.recorder.capture(2, {}, {&tensor, 1}) == Status::degraded);
  while (bench.recorder.capture(2, {}, {&tensor, 1}) == Status::degraded) continue;
  bench.recorder.end_step();
  CHECK(bench.clock.pauses == 0);
  REQUIRE(bench.session.finalize() == Status::ok);
  const DumpCounts counts = bench.session.counts();
  check_adds_up(counts);
  CHECK(counts.captured == 2);
  CHECK(counts.degraded >= 1);
  CHECK(counts.ring_full == 1);
  CHECK(counts.written == bench.sink.objects.size());
  CHECK(op_counts[2].degraded == counts.degraded);
  CHECK(op_counts[2].lost() == 1);
  const auto& csv = bench.sink.objects.at(bench.sink.order[2]);
  CHECK(bench.sink.order[2].ends_with(".csv"));
  CHECK(as_text(csv) ==
        "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
        "Negative Inf Count,Positive Inf Count\n"
        "Output,0,1600,DT_FLOAT,ND,20x20,299,-100,99.5,400,0,0,0\n");
  CHECK(bench.sink.journals.begin()->second.find("\nreduced,0,2,ring_full," + std::to_string(csv.size()) +
                                                 ",2/net/9/0/") != std::string::npos);
}

TEST_CASE(
    "recorder: degrade gives up what it has begun, and a reduced form that the sink refuses is counted") {
  Bench<2048> bench(WhenFull::degrade);
  bench.start(everything());
  std::vector<float> data(3000, 2.0f);
  const Dim dims[] = {3000};
  const TensorView tensor = {
      .address = address_of(data.data()), .bytes = 12000, .dtype = DType::float32, .shape = dims};
  bench.recorder.begin_step(bench.plan);
  CHECK(bench.recorder.capture(0, {}, {&tensor, 1}) == Status::degraded);
  while (bench.session.drain_some(SIZE_MAX) != 0) continue;
  CHECK(bench.sink.aborts == 1);
  CHECK(bench.sink.objects.size() == 1);
  bench.sink.fail_at = bench.sink.calls;
  bench.sink.fail_on = true;
  CHECK(bench.recorder.capture(0, {}, {&tensor, 1}) == Status::degraded);
  bench.recorder.end_step();
  CHECK(bench.session.finalize() == Status::no_space);
  check_adds_up(bench.session.counts());
  CHECK(bench.session.counts().sink_failed == 1);
  CHECK(bench.session.journal_failed());
  CHECK(bench.sink.open_objects.empty());
}

TEST_CASE("recorder: wakes whoever drains when its ring is more than half full, once until it is not") {
  struct Counter final : Waker {
    void wake() override { ++calls; }
    int calls = 0;
  } waker;
  Bench<4096> bench(WhenFull::drop);
  bench.start(everything());
  REQUIRE(bench.session.attach_drainer(&waker) == Status::ok);
  bench.step();
  CHECK(waker.calls == 0);
  for (int i = 0; i < 8; ++i) bench.step();
  CHECK(waker.calls == 1);
  while (bench.session.drain_some(SIZE_MAX) != 0) continue;
  for (int i = 0; i < 8; ++i) bench.step();
  CHECK(waker.calls == 2);
  // One record that alone fills more than half, again and again.
  std::vector<float> data(650);
  const Dim dims[] = {650};
  const TensorView large = {
      .address = address_of(data.data()), .bytes = 2600, .dtype = DType::float32, .shape = dims};
  for (int i = 0; i < 5; ++i) {
    while (bench.session.drain_some(SIZE_MAX) != 0) continue;
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    CHECK(bench.recorder.capture(0, {}, {&large, 1}) == Status::ok);
    REQUIRE(bench.recorder.end_step() == Status::ok);
    CHECK(waker.calls == 3 + i);
  }
  bench.session.detach_drainer();
  REQUIRE(bench.session.finalize() == Status::ok);
}

TEST_CASE("recorder: tensors far larger than the ring stream through it") {
  Bench<1024> bench;
  bench.start(everything());
  std::vector<std::uint32_t> big(100'003);
  for (std::uint32_t i = 0; i < big.size(); ++i) big[i] = i * 2654435761u;
  const Dim dims[] = {big.size()};
  TensorView tensors[] = {
      {.address = address_of(big.data()), .bytes = 4 * big.size(), .dtype = DType::uint32, .shape = dims},
      {.address = address_of(big.data()),
       .bytes = 0,
       .dtype = DType::uint32,
       .shape = std::span<const Dim>()},
      bench.tensors.output,
  };
  const Dim zero[] = {0};
  tensors[1].shape = zero;
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.capture(0, {tensors, 2}, {tensors + 2, 1}) == Status::ok);
  CHECK(bench.recorder.capture(1, {tensors, 1}, {}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.sink.order.size() == 2);
  const std::vector<std::byte>& file = bench.sink.objects[bench.sink.order[0]];
  NanoReader reader;
  REQUIRE(reader.open(file, file.size()) == Status::ok);
  NanoTensor tensor;
  REQUIRE(reader.next(tensor));
  const std::vector<std::byte> large = little_endian(big.data(), 4 * big.size(), DType::uint32);
  CHECK(std::memcmp(file.data() + tensor.data_offset, large.data(), large.size()) == 0);
  REQUIRE(reader.next(tensor));
  CHECK(tensor.bytes == 0);
  REQUIRE(reader.next(tensor));
  const std::vector<std::byte> output = little_endian(bench.tensors.values + 16, 64, DType::float32);
  CHECK(std::memcmp(file.data() + tensor.data_offset, output.data(), output.size()) == 0);
  CHECK_FALSE(reader.next(tensor));
  CHECK(reader.status() == Status::ok);
}

TEST_CASE("recorder: every record size around the limits of the ring") {
  for (std::size_t bytes = 1; bytes < 1200; ++bytes) {
    Bench<1024> bench;
    bench.start(everything());
    std::vector<std::uint8_t> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(i * 31 + bytes);
    const Dim dims[] = {bytes};
    const TensorView tensor = {
        .address = address_of(data.data()), .bytes = bytes, .dtype = DType::uint8, .shape = dims};
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    for (std::size_t op = 0; op < 3; ++op)
      CHECK(bench.recorder.capture(op, {&tensor, 1}, {&tensor, 1}) == Status::ok);
    REQUIRE(bench.recorder.end_step() == Status::ok);
    REQUIRE(bench.session.finalize() == Status::ok);
    REQUIRE(bench.sink.order.size() == 3);
    for (const auto& [name, file] : bench.sink.objects) {
      REQUIRE(std::memcmp(file.data() + file.size() - bytes, data.data(), bytes) == 0);
      REQUIRE(std::memcmp(file.data() + file.size() - 2 * bytes, data.data(), bytes) == 0);
    }
  }
}

TEST_CASE("recorder: drop loses at once and counts; what was begun leaves no half record") {
  Bench<1024> bench(WhenFull::drop);
  bench.start(everything());
  bench.step();
  bench.step();
  bench.step();
  CHECK(bench.clock.pauses == 0);
  const std::uint32_t dropped = bench.session.counts().ring_full;
  CHECK(dropped > 0);
  while (bench.session.drain_some(SIZE_MAX) != 0) continue;
  // A record larger than the ring begins, finds no room half way and is given up.
  std::vector<float> big(1000);
  const Dim dims[] = {1000};
  const TensorView tensor = {
      .address = address_of(big.data()), .bytes = 4000, .dtype = DType::float32, .shape = dims};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.capture(0, {&tensor, 1}, {}) == Status::ring_full);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  while (bench.session.drain_some(SIZE_MAX) != 0) continue;
  bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.open_objects.empty());
  CHECK(bench.sink.aborts == 1);
  CHECK(bench.sink.stray_aborts == 0);
  const DumpCounts counts = bench.session.counts();
  CHECK(counts.written == bench.sink.objects.size());
  CHECK(counts.wanted == 13);
  check_adds_up(counts);
}

TEST_CASE("recorder: block waits up to the limit, then stops waiting until there is room again") {
  const ModelDesc one_op = {.name = "one", .ops = std::span(kOps).first(1)};
  Bench<1024> bench(WhenFull::block, 50);
  bench.start(everything(), one_op);
  for (int i = 0; i < 9; ++i) bench.step();
  CHECK(bench.last == Status::timeout);
  CHECK(bench.clock.pauses == 50);
  const std::uint32_t first_losses = bench.session.counts().timed_out;
  CHECK(first_losses > 3);
  while (bench.session.drain_some(SIZE_MAX) != 0) continue;
  for (int i = 0; i < 9; ++i) bench.step();
  CHECK(bench.clock.pauses == 100);
  CHECK(bench.session.counts().timed_out > first_losses);
  REQUIRE(bench.session.finalize() == Status::ok);
  check_adds_up(bench.session.counts());
}

TEST_CASE("recorder: block keeps its limit where pauses are long") {
  const ModelDesc one_op = {.name = "one", .ops = std::span(kOps).first(1)};
  constexpr std::uint32_t kTick = 10;
  for (const std::uint32_t limit : {1u, 5u, 10u, 20u, 50u, 1000u}) {
    CAPTURE(limit);
    Bench<1024> bench(WhenFull::block, limit);
    bench.clock.ms_per_pause = kTick;
    bench.start(everything(), one_op);
    while (bench.last == Status::ok) bench.step();
    CHECK(bench.last == Status::timeout);
    CHECK(bench.clock.now_ms >= limit);
    // One pause may have been a stop of the process, the others are waiting.
    CHECK(bench.clock.now_ms <= (limit + kTick - 1) / kTick * kTick + kTick);
    REQUIRE(bench.session.finalize() == Status::ok);
  }
}

TEST_CASE("recorder: time in which the whole process was stopped is no waiting") {
  const ModelDesc one_op = {.name = "one", .ops = std::span(kOps).first(1)};
  // Its second pause is a long one. Stops for longer at the third, and after it drains or not.
  struct StoppedClock final : Clock {
    std::uint64_t unix_us() override { return ++us; }
    std::int32_t utc_offset_seconds() override { return 0; }
    std::uint32_t monotonic_ms() override { return ms; }
    void pause() override {
      ++pauses;
      ms += pauses == 3 ? 100'000 : pauses == 2 ? 30 : 1;
      if (pauses > 3 && drains) static_cast<void>(session->drain_some(SIZE_MAX));
    }
    std::uint64_t us = 1'700'000'000'000'000;
    std::uint32_t ms = UINT32_MAX - 10;
    int pauses = 0;
    bool drains = false;
    BasicSession<FakeMemory>* session = nullptr;
  };
  for (const bool drains : {true, false}) {
    StoppedClock clock;
    FakeMemory memory;
    FakeSink sink;
    std::byte scratch[1024];
    alignas(8) std::byte ring[1024];
    BasicSession<FakeMemory> session(
        {.memory = memory, .sink = sink, .clock = clock, .scratch = scratch, .block_limit_ms = 50});
    clock.session = &session;
    clock.drains = drains;
    auto& recorder = *session.add_recorder(ring).value();
    ModelPlanFor<1> plan;
    Tensors tensors;
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(everything()) == Status::ok);
    REQUIRE(session.load_model(plan, one_op) == Status::ok);
    recorder.begin_step(plan);
    Status status = Status::ok;
    while (clock.pauses == 0 && status == Status::ok) status = recorder.capture(0, {&tensors.input, 1}, {});
    recorder.end_step();
    CHECK(status == (drains ? Status::ok : Status::timeout));
    // Of the longest pause an eighth of the limit counts.
    CHECK(clock.pauses == (drains ? 4 : 3 + 50 - (1 + 30 + 50 / 8 + 1)));
    REQUIRE(session.finalize() == Status::ok);
    CHECK(session.counts().timed_out == (drains ? 0 : 1));
    check_adds_up(session.counts());
  }
}

TEST_CASE("recorder: bad tensors are refused and counted, empty operators write nothing") {
  Bench bench;
  bench.start(everything());
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  TensorView tensor = bench.tensors.input;
  tensor.bytes = 63;
  CHECK(bench.recorder.capture(0, {&tensor, 1}, {}) == Status::invalid_tensor);
  const Dim many[33] = {};
  tensor = bench.tensors.input;
  tensor.shape = many;
  CHECK(bench.recorder.capture(0, {&tensor, 1}, {}) == Status::too_many_dims);
  const Dim none[] = {0, 7};
  tensor.shape = none;
  tensor.bytes = 0;
  CHECK(bench.recorder.capture(0, {&tensor, 1}, {&tensor, 1}) == Status::ok);
  CHECK(bench.recorder.capture(0, {}, {}) == Status::ok);
  const std::string huge(70000, 'x');
  tensor = bench.tensors.output;
  tensor.original_name = huge;
  CHECK(bench.recorder.capture(0, {}, {&tensor, 1}) == Status::name_too_long);
  const std::string large(4096, 'x');
  tensor.original_name = large;
  CHECK(bench.recorder.capture(0, {}, {&tensor, 1}) == Status::too_large);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  const DumpCounts counts = bench.session.counts();
  CHECK(counts.invalid == 3);
  CHECK(counts.empty == 2);
  CHECK(counts.too_large == 1);
  CHECK(bench.sink.objects.empty());
  check_adds_up(counts);
}

TEST_CASE("recorder: every device copy can fail; the record goes, the others stay") {
  for (int fail_at = 0; fail_at < 40; ++fail_at) {
    Bench<1024> bench;
    bench.memory.fail_at = fail_at;
    bench.start(everything());
    std::vector<float> big(500);
    const Dim dims[] = {500};
    const TensorView tensor = {
        .address = address_of(big.data()), .bytes = 2000, .dtype = DType::float32, .shape = dims};
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    int failed = 0;
    for (std::size_t op = 0; op < 3; ++op) {
      failed +=
          bench.recorder.capture(op, {&tensor, 1}, {&bench.tensors.output, 1}) == Status::device_copy_failed;
    }
    REQUIRE(bench.recorder.end_step() == Status::ok);
    REQUIRE(bench.session.finalize() == Status::ok);
    const DumpCounts counts = bench.session.counts();
    CHECK(failed == (fail_at < bench.memory.copies));
    CHECK(counts.device_failed == static_cast<std::uint32_t>(failed));
    CHECK(counts.written == 3u - static_cast<std::uint32_t>(failed));
    CHECK(bench.sink.objects.size() == counts.written);
    CHECK(bench.sink.open_objects.empty());
    check_adds_up(counts);
  }
}

TEST_CASE(
    "drainer: every call of the sink can fail, once or for good; losses add up, captures never fail for it") {
  for (const bool for_good : {false, true}) {
    for (int fail_at = 0; fail_at < 60; ++fail_at) {
      Bench<1024> bench;
      bench.sink.fail_at = fail_at;
      bench.sink.fail_on = for_good;
      bench.start(everything());
      std::vector<float> big(500);
      const Dim dims[] = {500};
      const TensorView tensor = {
          .address = address_of(big.data()), .bytes = 2000, .dtype = DType::float32, .shape = dims};
      REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
      for (std::size_t op = 0; op < 3; ++op)
        CHECK(bench.recorder.capture(op, {&tensor, 1}, {&bench.tensors.output, 1}) == Status::ok);
      REQUIRE(bench.recorder.end_step() == Status::ok);
      const Status finalized = bench.session.finalize();
      CHECK((finalized == Status::ok || finalized == Status::no_space));
      CHECK_FALSE(bench.session.initialised());
      const DumpCounts counts = bench.session.counts();
      CHECK(counts.captured == 3);
      CHECK(counts.written == bench.sink.objects.size());
      if (counts.sink_failed != 0) CHECK(bench.session.last_sink_failure() == Status::no_space);
      CHECK(bench.sink.open_objects.empty());
      CHECK(bench.sink.stray_aborts == 0);
      check_adds_up(counts);
    }
  }
}
