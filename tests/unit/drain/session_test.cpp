#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "opdump/port/waker.hpp"
#include "opdump/read/nano_reader.hpp"
#include "tests/support/little_endian.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

TEST_CASE("session: records land under CANN's names with the tensors' bytes") {
  Bench bench;
  bench.clock.utc_offset = 3600;
  bench.start(everything());
  bench.step();
  bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.syncs == 1);
  REQUIRE(bench.sink.order.size() == 6);
  CHECK(bench.sink.order[0] == "/dump|20231114231320/2/net/9/0|Conv2D.conv1_relu1.3.1.1700000000000002");
  CHECK(bench.sink.order[5] == "/dump|20231114231320/2/net/9/1|MatMul.fc.5.2.1700000000000007");
  const std::vector<std::byte>& file = bench.sink.objects[bench.sink.order[0]];
  NanoReader reader;
  REQUIRE(reader.open(file, file.size()) == Status::ok);
  NanoTensor tensor;
  const std::vector<std::byte> values = little_endian(bench.tensors.values, 128, DType::float32);
  REQUIRE(reader.next(tensor));
  CHECK(std::memcmp(file.data() + tensor.data_offset, values.data(), 64) == 0);
  REQUIRE(reader.next(tensor));
  CHECK(std::memcmp(file.data() + tensor.data_offset, values.data() + 64, 64) == 0);
  CHECK(bench.session.counts().written == 6);
  check_adds_up(bench.session.counts());
}

TEST_CASE("session: modes choose roles, steps choose executions") {
  for (const DumpMode mode : {DumpMode::input, DumpMode::output, DumpMode::all}) {
    Bench bench;
    DumpConfig config = everything();
    config.mode = mode;
    const StepRange steps[] = {{1, 1}, {3, 4}};
    config.steps = {steps};
    bench.start(config);
    for (int i = 0; i < 6; ++i) bench.step();
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(bench.sink.order.size() == 9);
    CHECK(bench.sink.order[0].find("/net/9/1|") != std::string::npos);
    CHECK(bench.sink.order[8].find("/net/9/4|") != std::string::npos);
    const std::vector<std::byte>& file = bench.sink.objects[bench.sink.order[0]];
    NanoReader reader;
    REQUIRE(reader.open(file, file.size()) == Status::ok);
    CHECK(reader.input_count() == (mode != DumpMode::output));
    CHECK(reader.output_count() == (mode != DumpMode::input));
  }
}

TEST_CASE("session: a runtime that counts steps itself") {
  Bench bench;
  const StepRange steps[] = {{100, 100}};
  DumpConfig config = everything();
  config.steps = {steps};
  bench.start(config);
  REQUIRE(bench.recorder.begin_step(bench.plan, 99) == Status::ok);
  CHECK_FALSE(bench.recorder.wants(0));
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.wants(0));
  REQUIRE(bench.recorder.end_step() == Status::ok);
}

TEST_CASE("session: steps are counted from where the config says") {
  Bench bench;
  DumpConfig config = everything();
  config.first_step = 40;
  bench.start(config);
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  CHECK(bench.plan.next_step == 41);
}

TEST_CASE("session: a config that leaves the device out changes nothing") {
  for (const std::uint32_t device : {2u, 3u}) {
    CAPTURE(device);
    Bench bench;
    DumpConfig config = everything();
    config.every_device = false;
    config.devices = {&device, 1};
    bench.start(config);
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    CHECK(bench.recorder.wants(0) == (device == 2));
    REQUIRE(bench.recorder.end_step() == Status::ok);
  }
}

TEST_CASE("session: every call out of order has its own status and changes nothing") {
  Bench bench(WhenFull::block);
  auto& session = bench.session;
  const DumpConfig config = everything();
  CHECK(session.set_config(config) == Status::not_initialised);
  CHECK(session.finalize() == Status::not_initialised);
  CHECK(session.unload_model(bench.plan) == Status::model_not_loaded);
  CHECK(bench.recorder.begin_step(bench.plan) == Status::model_not_loaded);
  CHECK(bench.recorder.end_step() == Status::step_not_open);
  CHECK(bench.recorder.capture(0, {}, {}) == Status::step_not_open);
  CHECK_FALSE(bench.recorder.wants(0));

  REQUIRE(session.init() == Status::ok);
  CHECK(session.init() == Status::already_initialised);
  REQUIRE(session.set_config(config) == Status::ok);
  REQUIRE(session.load_model(bench.plan, kModel, bench.bits) == Status::ok);
  CHECK(session.load_model(bench.plan, kModel, bench.bits) == Status::model_already_loaded);
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.begin_step(bench.plan) == Status::step_open);
  CHECK(bench.recorder.capture(3, {}, {}) == Status::no_such_op);
  CHECK(session.unload_model(bench.plan) == Status::step_open);
  CHECK(session.finalize() == Status::step_open);
  CHECK(bench.recorder.wants(1));
  CHECK(bench.plan.next_step == 1);
  REQUIRE(bench.recorder.end_step() == Status::ok);

  REQUIRE(session.attach_drainer() == Status::ok);
  CHECK(session.attach_drainer() == Status::drainer_attached);
  CHECK(session.finalize() == Status::drainer_attached);
  session.detach_drainer();
  CHECK(session.finalize() == Status::ok);
  CHECK(session.finalize() == Status::not_initialised);
  CHECK(session.set_config(config) == Status::not_initialised);
  CHECK(session.unload_model(bench.plan) == Status::ok);
  CHECK(session.unload_model(bench.plan) == Status::model_not_loaded);
}

TEST_CASE("session: a config that goes while a record of it was given up untold is closed with it") {
  Bench<512> bench(WhenFull::drop);
  const ModelDesc one_op = {.name = "one", .ops = std::span(kOps).first(1)};
  bench.start(everything(), one_op);
  std::vector<float> big(1000);
  const Dim dims[] = {1000};
  const TensorView tensor = {
      .address = address_of(big.data()), .bytes = 4000, .dtype = DType::float32, .shape = dims};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.capture(0, {}, {&tensor, 1}) == Status::ring_full);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.set_config(everything()) == Status::ok);
  REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
  while (bench.session.drain_some(SIZE_MAX) != 0) continue;
  static_cast<void>(bench.session.drain_some(SIZE_MAX));
  CHECK(bench.sink.open_objects.empty());
  REQUIRE(bench.session.load_model(bench.plan, one_op, bench.bits) == Status::ok);
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.capture(0, {&bench.tensors.input, 1}, {}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.session.counts().written == 1);
  CHECK(bench.sink.journals.size() == 2);
  for (const auto& [name, text] : bench.sink.journals) CHECK(text.find("\nclosed,") != std::string::npos);
}

TEST_CASE("session: a policy that drains in the caller takes no drain thread") {
  Bench bench(WhenFull::inline_drain);
  CHECK(bench.session.attach_drainer() == Status::invalid_argument);
}

TEST_CASE("session: a recorder that the drainer does not finish stays busy, and is free when it does") {
  Bench bench(WhenFull::drop);
  bench.start(everything());
  bench.step();
  REQUIRE(bench.session.attach_drainer() == Status::ok);
  CHECK(bench.session.remove_recorder(bench.recorder) == Status::recorder_busy);  // nobody drains
  CHECK(bench.session.remove_recorder(bench.recorder) == Status::recorder_busy);
  while (bench.session.drain_some(SIZE_MAX) != 0) continue;
  CHECK(bench.session.remove_recorder(bench.recorder) == Status::ok);
  CHECK(bench.session.remove_recorder(bench.recorder) == Status::invalid_argument);
  bench.session.detach_drainer();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.objects.size() == 3);
}

TEST_CASE("session: a recorder that is leaving keeps its place until remove_recorder has said ok") {
  Bench bench(WhenFull::drop);
  bench.start(everything());
  bench.step();
  REQUIRE(bench.session.attach_drainer() == Status::ok);
  CHECK(bench.session.remove_recorder(bench.recorder) == Status::recorder_busy);  // nobody drains
  while (bench.session.drain_some(SIZE_MAX) != 0) continue;
  alignas(8) std::byte ring[OPDUMP_MAX_RECORDERS][1024];
  for (std::size_t i = 0; i + 1 < OPDUMP_MAX_RECORDERS; ++i) {
    const auto recorder = bench.session.add_recorder(ring[i]);
    REQUIRE(recorder.ok());
    REQUIRE(recorder.value() != &bench.recorder);
  }
  CHECK(bench.session.add_recorder(ring[0]).status() == Status::no_free_recorder);
  CHECK(bench.session.remove_recorder(bench.recorder) == Status::ok);
  auto& next = *bench.session.add_recorder(ring[OPDUMP_MAX_RECORDERS - 1]).value();
  REQUIRE(&next == &bench.recorder);
  REQUIRE(next.begin_step(bench.plan) == Status::ok);
  CHECK(next.capture(0, {&bench.tensors.input, 1}, {}) == Status::ok);
  REQUIRE(next.end_step() == Status::ok);
  bench.session.detach_drainer();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.session.counts().written == 4);
  CHECK(bench.session.counts().lost() == 0);
}

TEST_CASE("session: a recorder that is leaving or gone opens no step and leaves its ring alone") {
  Bench bench(WhenFull::drop);
  DumpConfig config = everything();
  config.single_ops = true;
  bench.start(config);
  REQUIRE(bench.session.attach_drainer() == Status::ok);
  bench.step();
  REQUIRE(bench.recorder.wants_single_ops());
  CHECK(bench.session.remove_recorder(bench.recorder) == Status::recorder_busy);
  const OpDesc op = {.name = "late", .type = "Add"};
  const auto try_all = [&] {
    CHECK(bench.recorder.begin_step(bench.plan) == Status::invalid_argument);
    CHECK(bench.recorder.capture(0, {&bench.tensors.input, 1}, {}) == Status::step_not_open);
    CHECK(bench.recorder.end_step() == Status::step_not_open);
    CHECK_FALSE(bench.recorder.wants(0));
    CHECK_FALSE(bench.recorder.wants_single_ops());
    CHECK(bench.recorder.capture_single_op(op, {&bench.tensors.input, 1}, {}) == Status::invalid_argument);
    CHECK(bench.recorder.refuse_single_op(op, Status::invalid_tensor) == Status::invalid_argument);
  };
  try_all();
  while (bench.session.drain_some(SIZE_MAX) != 0) continue;
  REQUIRE(bench.session.remove_recorder(bench.recorder) == Status::ok);
  std::memset(bench.ring, 0x5a, sizeof bench.ring);
  try_all();
  for (const std::byte byte : bench.ring) REQUIRE(byte == std::byte{0x5a});
  bench.session.detach_drainer();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.session.counts().wanted == 3);
  CHECK(bench.session.counts().written == 3);
}

TEST_CASE("session: an interrupt's recorder drops what finds no room, whatever the session does") {
  for (const WhenFull of_session : {WhenFull::block, WhenFull::inline_drain, WhenFull::degrade}) {
    CAPTURE(static_cast<int>(of_session));
    Bench bench(of_session);
    alignas(8) std::byte ring[1024];
    auto& interrupt = *bench.session.add_recorder(ring, {}, WhenFull::drop).value();
    // Of the session's policy alone.
    REQUIRE(bench.session.configure({.block_limit_ms = 1'000'000}) == Status::ok);
    bench.start(everything());
    ModelPlan plan;
    std::uint8_t bits[3] = {};
    REQUIRE(bench.session.load_model(plan, kModel, bits) == Status::ok);
    REQUIRE(interrupt.begin_step(plan) == Status::ok);
    std::uint32_t captured = 0;
    Status status = Status::ok;
    while (status == Status::ok && captured < 100) {
      status = interrupt.capture(0, {&bench.tensors.input, 1}, {});
      captured += status == Status::ok ? 1 : 0;
    }
    CHECK(status == Status::ring_full);
    CHECK(captured > 0);
    for (int i = 0; i < 10; ++i)
      CHECK(interrupt.capture(0, {&bench.tensors.input, 1}, {}) == Status::ring_full);
    // A tensor larger than the ring gives up on its way.
    TensorView large = bench.tensors.input;
    large.bytes = sizeof bench.tensors.values;
    const Dim dims[] = {64};
    large.shape = dims;
    CHECK(interrupt.capture(0, {&large, 1}, {&large, 1}) == Status::ring_full);
    REQUIRE(interrupt.end_step() == Status::ok);
    CHECK(bench.sink.objects.empty());
    CHECK(bench.clock.pauses == 0);
    const DumpCounts counts = bench.session.counts();
    CHECK(counts.captured == captured);
    CHECK(counts.ring_full == 12);
    CHECK(counts.lost() == 12);
    if (of_session == WhenFull::inline_drain) bench.step();
    REQUIRE(bench.session.finalize() == Status::ok);
    check_adds_up(bench.session.counts());
  }
}

TEST_CASE("session: a recorder may keep what it can where the session drops, but not drain for itself") {
  Bench bench(WhenFull::drop);
  alignas(8) std::byte ring[2][4096];
  CHECK(bench.session.add_recorder(ring[0], {}, WhenFull::inline_drain).status() == Status::invalid_argument);
  auto& reducing = *bench.session.add_recorder(ring[0], {}, WhenFull::degrade).value();
  auto& following = *bench.session.add_recorder(ring[1]).value();
  REQUIRE(bench.session.configure({.when_full = WhenFull::degrade}) == Status::ok);
  bench.start(everything());
  ModelPlan plan;
  std::uint8_t bits[3] = {};
  REQUIRE(bench.session.load_model(plan, kModel, bits) == Status::ok);
  // So large that there is room for its statistics where there is none for itself.
  const float values[256] = {};
  const Dim dims[] = {256};
  const TensorView large = {
      .address = address_of(values), .bytes = sizeof values, .dtype = DType::float32, .shape = dims};
  const auto fill = [&](auto& recorder) {
    bool degraded = false;
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    for (int i = 0; i < 100; ++i) degraded |= recorder.capture(0, {&large, 1}, {}) == Status::degraded;
    REQUIRE(recorder.end_step() == Status::ok);
    return degraded;
  };
  CHECK(fill(following));
  CHECK(fill(reducing));
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.session.configure({.when_full = WhenFull::drop}) == Status::ok);
  REQUIRE(bench.session.init() == Status::ok);
  REQUIRE(bench.session.set_config(everything()) == Status::ok);
  REQUIRE(bench.session.unload_model(plan) == Status::ok);
  REQUIRE(bench.session.load_model(plan, kModel, bits) == Status::ok);
  CHECK_FALSE(fill(following));
  CHECK(fill(reducing));
  REQUIRE(bench.session.finalize() == Status::ok);
  check_adds_up(bench.session.counts());
}

TEST_CASE("session: a tensor of a dtype that there is not is refused") {
  for (const int number : {kKnownDTypes, 100, 255}) {
    Bench bench(WhenFull::drop);
    DumpConfig config = everything();
    config.single_ops = true;
    bench.start(config);
    TensorView wrong = bench.tensors.input;
    wrong.dtype = static_cast<DType>(number);
    TensorView was_wrong = bench.tensors.input;
    was_wrong.original_dtype = static_cast<DType>(number);
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    CHECK(bench.recorder.capture(0, {&wrong, 1}, {}) == Status::unknown_dtype);
    CHECK(bench.recorder.capture(0, {}, {&was_wrong, 1}) == Status::unknown_dtype);
    CHECK(bench.recorder.capture_single_op({.name = "n", .type = "T"}, {&wrong, 1}, {}) ==
          Status::unknown_dtype);
    CHECK(bench.recorder.capture(0, {&bench.tensors.input, 1}, {}) == Status::ok);
    REQUIRE(bench.recorder.end_step() == Status::ok);
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(bench.session.counts().invalid == 3);
    CHECK(bench.session.counts().written == 1);
  }
}

TEST_CASE("session: a model belongs to the session that loaded it") {
  Bench bench(WhenFull::drop);
  Bench other(WhenFull::drop);
  bench.start(everything());
  other.start(everything());
  CHECK(other.recorder.begin_step(bench.plan) == Status::invalid_argument);
  CHECK(other.recorder.begin_step(bench.plan, 7) == Status::invalid_argument);
  CHECK(bench.plan.next_step == 0);
  CHECK(other.recorder.open_plan() == nullptr);
  CHECK_FALSE(other.recorder.wants(0));
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  OpCounts counts[3];
  CHECK(other.session.count_ops(bench.plan, counts) == Status::invalid_argument);
  CHECK(other.session.unload_model(bench.plan) == Status::invalid_argument);
  CHECK(bench.session.unload_model(bench.plan) == Status::step_open);
  CHECK(bench.recorder.capture(0, {&bench.tensors.input, 1}, {}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(other.session.finalize() == Status::ok);
  CHECK(bench.session.counts().written == 1);
  CHECK(other.session.counts().wanted == 0);
  CHECK(bench.session.unload_model(bench.plan) == Status::ok);
  CHECK(other.recorder.begin_step(bench.plan) == Status::model_not_loaded);
}

TEST_CASE("session: two configs within one tick of the clock have journals of their own") {
  Bench bench;
  bench.clock.us_per_reading = 0;
  REQUIRE(bench.session.init() == Status::ok);
  REQUIRE(bench.session.set_config(everything()) == Status::ok);
  REQUIRE(bench.session.set_config(everything()) == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.session.init() == Status::ok);
  REQUIRE(bench.session.set_config(everything()) == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.journals.size() == 3);
}

TEST_CASE("session: recorders come and go while it drains; counts and sequence numbers go on") {
  Bench bench;
  bench.start(everything());
  alignas(8) std::byte ring[2][1024];
  for (int round = 0; round < 10; ++round) {
    auto& recorder = *bench.session.add_recorder(ring[round % 2]).value();
    REQUIRE(recorder.begin_step(bench.plan) == Status::ok);
    CHECK(recorder.capture(0, {&bench.tensors.input, 1}, {}) == Status::ok);
    CHECK(bench.session.remove_recorder(recorder) == Status::recorder_busy);
    REQUIRE(recorder.end_step() == Status::ok);
    CHECK(bench.session.remove_recorder(recorder) == Status::ok);
    CHECK(bench.session.remove_recorder(recorder) == Status::invalid_argument);
  }
  CHECK(bench.session.counts().written == 10);
  BasicRecorder<FakeMemory> foreign;
  CHECK(bench.session.remove_recorder(foreign) == Status::invalid_argument);
  REQUIRE(bench.session.finalize() == Status::ok);
  const std::string& text = bench.sink.journals.begin()->second;
  CHECK(text.find("from,1,9\nwritten,1,9,") != std::string::npos);
  CHECK(text.find("gap") == std::string::npos);
}

TEST_CASE("session: a look without a budget does not end a recorder that leaves") {
  Bench bench(WhenFull::drop);
  bench.start(everything());
  alignas(8) std::byte ring[1024];
  auto& recorder = *bench.session.add_recorder(ring).value();
  REQUIRE(recorder.begin_step(bench.plan) == Status::ok);
  CHECK(recorder.capture(0, {&bench.tensors.input, 1}, {}) == Status::ok);
  REQUIRE(recorder.end_step() == Status::ok);
  REQUIRE(bench.session.attach_drainer() == Status::ok);
  CHECK(bench.session.remove_recorder(recorder) == Status::recorder_busy);  // until somebody drains
  CHECK(bench.session.drain_some(0) == 0);
  CHECK(bench.session.drain_some(1 << 20) != 0);
  CHECK(bench.session.remove_recorder(recorder) == Status::ok);
  bench.session.detach_drainer();
  CHECK(bench.session.counts().written == 1);
  REQUIRE(bench.session.finalize() == Status::ok);
}

TEST_CASE("session: flush returns when all is in the sink") {
  Bench bench(WhenFull::block);
  bench.start(everything());
  bench.step();
  CHECK(bench.sink.objects.empty());
  CHECK(bench.session.flush(100) == Status::ok);
  CHECK(bench.sink.objects.size() == 3);
  bench.step();
  REQUIRE(bench.session.attach_drainer() == Status::ok);
  CHECK(bench.session.flush(100) == Status::timeout);  // nobody drains
  bench.session.detach_drainer();
  REQUIRE(bench.session.finalize() == Status::ok);
}

TEST_CASE("session: flush returns while the recorders go on, and no ring is ever seen empty") {
  struct Busy final : Waker {
    explicit Busy(Bench<4096>& on) : bench(on) {}
    void wake() override {
      if (!drains) return;
      ++turns;
      bench.step();
      bench.session.drain_some(1);
    }
    Bench<4096>& bench;
    bool drains = true;
    int turns = 0;
  };
  Bench<4096> bench(WhenFull::drop);
  const ModelDesc one_op = {.name = "one", .ops = std::span(kOps).first(1)};
  bench.start(everything(), one_op);
  Busy busy(bench);
  REQUIRE(bench.session.attach_drainer(&busy) == Status::ok);
  for (int i = 0; i < 4; ++i) bench.step();
  CHECK(bench.session.flush(100) == Status::ok);
  CHECK_FALSE(bench.recorder.sender().ring().drained());
  CHECK(bench.sink.objects.size() >= 4);
  CHECK(busy.turns < 20);
  // One that was given up does not answer for the next.
  busy.drains = false;
  CHECK(bench.session.flush(3) == Status::timeout);
  const std::uint32_t captured = bench.session.counts().captured;
  busy.drains = true;
  CHECK(bench.session.flush(100) == Status::ok);
  CHECK(bench.session.counts().written >= captured);
  bench.session.detach_drainer();
  REQUIRE(bench.session.finalize() == Status::ok);
}

TEST_CASE("session: recorders are limited, and refuse unusable memory") {
  Bench bench;
  alignas(8) std::byte memory[OPDUMP_MAX_RECORDERS][64];
  CHECK(bench.session.add_recorder(std::span(memory[0]).first(63)).status() == Status::invalid_argument);
  for (int i = 1; i < OPDUMP_MAX_RECORDERS; ++i) CHECK(bench.session.add_recorder(memory[i]).ok());
  CHECK(bench.session.add_recorder(memory[0]).status() == Status::no_free_recorder);
}

TEST_CASE("session: a config reaches models loaded after it, and the last one wins") {
  Bench bench;
  auto& session = bench.session;
  ModelPlan before, middle, after;
  std::uint8_t bits[3][3];
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.load_model(before, kModel, bits[0]) == Status::ok);
  DumpConfig first = everything();
  first.dump_path = "first";
  REQUIRE(session.set_config(first) == Status::ok);
  REQUIRE(session.load_model(middle, kModel, bits[1]) == Status::ok);
  bench.clock.now_us += 5'000'000;
  DumpConfig second = everything();
  second.dump_path = "second";
  second.mode = DumpMode::input;
  REQUIRE(session.set_config(second) == Status::ok);
  REQUIRE(session.load_model(after, kModel, bits[2]) == Status::ok);
  const DumpConfig inactive;
  CHECK(session.set_config(inactive) == Status::ok);  // switches nothing off

  const auto wants = [&](ModelPlan& plan) {
    REQUIRE(bench.recorder.begin_step(plan) == Status::ok);
    const bool wanted = bench.recorder.wants(0);
    if (wanted)
      CHECK(bench.recorder.capture(0, {&bench.tensors.input, 1}, {&bench.tensors.output, 1}) == Status::ok);
    REQUIRE(bench.recorder.end_step() == Status::ok);
    return wanted;
  };
  CHECK_FALSE(wants(before));
  CHECK(wants(middle));
  CHECK(wants(after));
  REQUIRE(session.finalize() == Status::ok);
  REQUIRE(bench.sink.order.size() == 2);
  CHECK(bench.sink.order[0].starts_with("first|20231114221320/"));
  CHECK(bench.sink.order[1].starts_with("second|20231114221325/"));

  // Off: the loaded models run on uncaptured, also after the next init, until they are loaded again.
  CHECK_FALSE(wants(after));
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config(second) == Status::ok);
  CHECK_FALSE(wants(after));
  REQUIRE(session.unload_model(after) == Status::ok);
  REQUIRE(session.load_model(after, kModel, bits[2]) == Status::ok);
  CHECK(after.next_step == 0);
  CHECK(wants(after));
  REQUIRE(session.finalize() == Status::ok);
  CHECK(bench.sink.order.size() == 3);
  check_adds_up(session.counts());
}

TEST_CASE("session: models may go while their records are still in the ring") {
  Bench bench;
  {
    std::string name = "short-lived";
    const OpDesc ops[] = {{.name = name, .type = "T"}};
    const ModelDesc model = {.name = name, .ops = ops};
    bench.start(everything(), model);
    bench.step();
    REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
    name.assign(name.size(), '#');
  }
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.sink.order.size() == 1);
  CHECK(bench.sink.order[0].find("/short-lived/0/0|T.short-lived.65535.65535.") != std::string::npos);
}

TEST_CASE("session: any number of configs one after the other, four with models loaded at once") {
  Bench bench;
  auto& session = bench.session;
  REQUIRE(session.init() == Status::ok);
  for (int i = 0; i < 20; ++i) CHECK(session.set_config(everything()) == Status::ok);
  ModelPlan plans[Targets::kMax];
  std::uint8_t bits[Targets::kMax][3];
  for (int i = 0; i < Targets::kMax; ++i) {
    REQUIRE(session.load_model(plans[i], kModel, bits[i]) == Status::ok);
    if (i + 1 < Targets::kMax) CHECK(session.set_config(everything()) == Status::ok);
  }
  CHECK(session.set_config(everything()) == Status::too_many_configs);
  REQUIRE(session.unload_model(plans[1]) == Status::ok);
  CHECK(session.set_config(everything()) == Status::ok);
  CHECK(session.set_config(everything()) == Status::ok);
  for (int i = 0; i < Targets::kMax; ++i) {
    if (i != 1) CHECK(session.unload_model(plans[i]) == Status::ok);
  }
  REQUIRE(session.finalize() == Status::ok);
  for (const auto& [name, text] : bench.sink.journals) CHECK(text.find("\nclosed,") != std::string::npos);
  CHECK(bench.sink.journals.size() == 20 + Targets::kMax + 1);
}

TEST_CASE("session: single operators go without model, id and step, and only when switched on") {
  Bench bench;
  REQUIRE(bench.session.init() == Status::ok);
  DumpConfig config = everything();
  config.models = {};
  REQUIRE(bench.session.set_config(config) == Status::ok);
  const OpDesc op = {.name = "add", .type = "Add"};
  const auto capture = [&] {
    return bench.recorder.capture_single_op(op, {&bench.tensors.input, 1}, {&bench.tensors.output, 1});
  };
  CHECK(capture() == Status::ok);
  CHECK(bench.session.counts().wanted == 0);
  config.single_ops = true;
  REQUIRE(bench.session.set_config(config) == Status::ok);
  CHECK(bench.recorder.wants_single_ops());
  CHECK(capture() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK_FALSE(bench.recorder.wants_single_ops());
  REQUIRE(bench.sink.order.size() == 1);
  CHECK(bench.sink.order[0].starts_with("/dump|20231114221320/2|Add.add.65535.65535.17"));

  const StepRange steps[] = {{0, 9}};
  config.steps = {steps};
  REQUIRE(bench.session.init() == Status::ok);
  REQUIRE(bench.session.set_config(config) == Status::ok);
  CHECK_FALSE(bench.recorder.wants_single_ops());
}

TEST_CASE("session: a recorder that never rests does not hold up another") {
  Bench<4096> bench(WhenFull::drop);
  alignas(8) std::byte ring[4096];
  auto& quiet = *bench.session.add_recorder(ring).value();
  const ModelDesc one_op = {.name = "one", .ops = std::span(kOps).first(1)};
  bench.start(everything(), one_op);
  ModelPlan plan;
  std::uint8_t bits[1];
  const ModelDesc other = {.name = "quiet", .ops = std::span(kOps).first(1)};
  REQUIRE(bench.session.load_model(plan, other, bits) == Status::ok);
  constexpr std::uint32_t kBudget = 500;
  for (std::uint32_t round = 0; round < 50; ++round) {
    while (bench.session.counts().lost() == round) bench.step();  // to the brim
    REQUIRE(quiet.begin_step(plan) == Status::ok);
    REQUIRE(quiet.capture(0, {&bench.tensors.input, 1}, {}) == Status::ok);
    REQUIRE(quiet.end_step() == Status::ok);
    const std::uint32_t used = bench.recorder.sender().ring().used();
    const std::uint32_t quiet_used = quiet.sender().ring().used();
    const std::size_t moved = bench.session.drain_some(kBudget);
    // One turn: the busy ring has had its budget, no more than the head of a record over, and the quiet one its own.
    CHECK(quiet.sender().ring().drained());
    CHECK_FALSE(bench.recorder.sender().ring().drained());
    CHECK(moved >= kBudget);
    CHECK(moved <= kBudget + 255 + 400 + quiet_used);
    CHECK(used - bench.recorder.sender().ring().used() <= kBudget + 800);
    CHECK(bench.sink.order.back().find("/quiet/") != std::string::npos);
  }
  REQUIRE(bench.session.finalize() == Status::ok);
  check_adds_up(bench.session.counts());
}

TEST_CASE("session: two operators that share a name at the same microsecond both survive") {
  const OpDesc ops[] = {{.name = "same", .type = "T", .task_id = 1},
                        {.name = "same", .type = "T", .task_id = 1}};
  const ModelDesc model = {.name = "m", .ops = ops};
  Bench bench;
  bench.clock.us_per_reading = 0;
  bench.start(everything(), model);
  bench.step();
  // A second recorder draws the same microsecond; only the sink can tell.
  alignas(8) std::byte ring[1024];
  auto& other = *bench.session.add_recorder(ring).value();
  ModelPlan plan;
  std::uint8_t bits[2];
  REQUIRE(bench.session.load_model(plan, model, bits) == Status::ok);
  REQUIRE(other.begin_step(plan) == Status::ok);
  CHECK(other.capture(0, {&bench.tensors.input, 1}, {}) == Status::ok);
  REQUIRE(other.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.objects.size() == 3);
  CHECK(bench.session.counts().written == 3);
}

TEST_CASE("session: two sessions with different configs do not see each other") {
  Bench a, b;
  DumpConfig only_pool = everything();
  const std::string_view layers[] = {"pool1"};
  const ModelRule rules[] = {{.model_name = "net", .all_layers = false, .layers = layers}};
  only_pool.models = rules;
  only_pool.dump_path = "b";
  a.start(everything());
  b.start(only_pool);
  a.step();
  b.step();
  a.step();
  REQUIRE(a.session.finalize() == Status::ok);
  b.step();
  REQUIRE(b.session.finalize() == Status::ok);
  CHECK(a.sink.objects.size() == 6);
  CHECK(b.sink.objects.size() == 2);
  for (const std::string& name : a.sink.order) CHECK(name.starts_with("/dump|"));
  for (const std::string& name : b.sink.order) CHECK(name.starts_with("b|"));
}

TEST_CASE("session: names that cannot become a path keep the model uncaptured, not unloaded") {
  const std::string long_name(2000, 'n');
  const OpDesc ops[] = {{.name = long_name, .type = "T"}};
  Bench bench;
  REQUIRE(bench.session.init() == Status::ok);
  REQUIRE(bench.session.set_config(everything()) == Status::ok);
  CHECK(bench.session.load_model(bench.plan, {.name = "m", .ops = ops}, bench.bits) == Status::name_too_long);
  CHECK(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK_FALSE(bench.recorder.wants(0));
  CHECK(bench.recorder.end_step() == Status::ok);
  CHECK(bench.session.unload_model(bench.plan) == Status::ok);
  const ModelDesc long_model = {.name = long_name, .ops = kOps};
  CHECK(bench.session.load_model(bench.plan, long_model, bench.bits) == Status::name_too_long);
  CHECK(bench.session.unload_model(bench.plan) == Status::ok);
  CHECK(bench.session.load_model(bench.plan, kModel, std::span(bench.bits).first(2)) == Status::no_memory);
}
