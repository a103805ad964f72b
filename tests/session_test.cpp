#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "opdump/nano_reader.hpp"
#include "opdump/session.hpp"
#include "opdump/statistics_reduction.hpp"
#include "support/fakes.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

const std::string_view kFused[] = {"conv1", "relu1"};
const OpDesc kOps[] = {
    {.name = "conv1_relu1", .type = "Conv2D", .task_id = 3, .stream_id = 1, .original_names = kFused},
    {.name = "pool1", .type = "MaxPool", .task_id = 4, .stream_id = 1},
    {.name = "fc", .type = "MatMul", .task_id = 5, .stream_id = 2},
};
const ModelDesc kModel = {.name = "net", .graph_name = "graph", .id = 9, .ops = kOps};

struct Tensors {
  Tensors() {
    for (std::size_t i = 0; i < 64; ++i) values[i] = static_cast<float>(i);
  }
  float values[64];
  Dim dims[2] = {4, 4};
  TensorView input{.address = address_of(values), .bytes = 64, .dtype = DType::float32, .shape = dims};
  TensorView output{.address = address_of(values + 16), .bytes = 64, .dtype = DType::float32, .shape = dims};
};

template <std::size_t RingBytes = 4096>
struct Bench {
  explicit Bench(WhenFull when_full = WhenFull::drain, std::uint32_t limit_ms = 50)
      : session({.memory = memory,
                 .sink = sink,
                 .clock = clock,
                 .scratch = scratch,
                 .device_id = 2,
                 .when_full = when_full,
                 .block_limit_ms = limit_ms}),
        recorder(*session.add_recorder(ring).value()) {}

  void start(const DumpConfig& config, const ModelDesc& model = kModel) {
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    REQUIRE(session.load_model(plan, model, bits) == Status::ok);
  }

  /// One step in which every wanted operator is captured with the same two tensors.
  void step() {
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    for (std::size_t op = 0; op < plan.model->ops.size(); ++op) {
      if (recorder.wants(op)) last = recorder.capture(op, {&tensors.input, 1}, {&tensors.output, 1});
    }
    REQUIRE(recorder.end_step() == Status::ok);
  }

  FakeMemory memory;
  FakeSink sink;
  FakeClock clock;
  std::byte scratch[1024];
  alignas(8) std::byte ring[RingBytes];
  BasicSession<FakeMemory> session;
  BasicRecorder<FakeMemory>& recorder;
  ModelPlan plan;
  std::uint8_t bits[16] = {};
  Tensors tensors;
  Status last = Status::ok;
};

const ModelRule kAnyModel[] = {{.any_model = true}};

DumpConfig everything() {
  return {.active = true, .dump_path = "/dump", .mode = DumpMode::all, .models = kAnyModel};
}

void check_adds_up(const DumpCounts& n) {
  CHECK(n.wanted == n.empty + n.invalid + n.ring_full + n.timed_out + n.too_large + n.device_failed +
                        n.captured + n.degraded);
  CHECK(n.captured + n.degraded == n.written + n.sink_failed);
}

}  // namespace

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
  REQUIRE(reader.next(tensor));
  CHECK(std::memcmp(file.data() + tensor.data_offset, bench.tensors.values, 64) == 0);
  REQUIRE(reader.next(tensor));
  CHECK(std::memcmp(file.data() + tensor.data_offset, bench.tensors.values + 16, 64) == 0);
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

TEST_CASE("plan: models by file name before graph name, layers by own or fused names, exactly") {
  const auto matched = [](std::span<const ModelRule> rules, DumpLevel level = DumpLevel::all) {
    DumpConfig config = everything();
    config.models = rules;
    config.level = level;
    ModelPlan plan;
    std::uint8_t bits[3];
    REQUIRE(resolve_plan(config, kModel, bits, plan) == Status::ok);
    std::string ops;
    for (std::size_t i = 0; i < plan.bits.size(); ++i) ops += plan.bits[i] != 0 ? kOps[i].name[0] : '-';
    return ops + "/" + std::string(plan.directory_name);
  };
  const std::string_view pool[] = {"pool1"};
  const std::string_view fused[] = {"relu1"};
  const std::string_view none[] = {"Pool1", "pool", "pool1 "};
  const auto rule = [](std::string_view name, std::span<const std::string_view> layers) {
    return ModelRule{
        .model_name = name, .any_model = name.empty(), .all_layers = layers.empty(), .layers = layers};
  };
  CHECK(matched(std::vector{rule("net", {})}) == "cpf/net");
  CHECK(matched(std::vector{rule("net", pool)}) == "-p-/net");
  CHECK(matched(std::vector{rule("net", fused)}) == "c--/net");
  CHECK(matched(std::vector{rule("net", none)}) == "/net");
  CHECK(matched(std::vector{rule("other", {})}) == "/net");
  CHECK(matched(std::vector{rule("graph", pool)}) == "-p-/graph");
  CHECK(matched(std::vector{rule("graph", {}), rule("net", pool)}) == "-p-/net");
  CHECK(matched(std::vector{rule("net", pool), rule("net", fused)}) == "c--/net");
  CHECK(matched(std::vector{rule("", pool)}) == "-p-/net");
  CHECK(matched(std::vector{rule("", pool), rule("net", fused)}) == "cp-/net");
  CHECK(matched({}) == "/net");
}

TEST_CASE("plan: a range takes what runs between its ends, and is added to the layers") {
  const OpDesc ops[] = {{.name = "a"}, {.name = "b"}, {.name = "c"},
                        {.name = "d"}, {.name = "b"}, {.name = "e"}};
  const ModelDesc model = {.name = "m", .ops = ops};
  const auto matched = [&](std::vector<OpRange> ranges, std::span<const std::string_view> layers = {}) {
    const ModelExtras extras = {.ranges = ranges};
    const ModelRule rule = {.model_name = "m", .all_layers = false, .layers = layers, .extras = &extras};
    DumpConfig config = everything();
    config.models = {&rule, 1};
    config.level = DumpLevel::op;
    ModelPlan plan;
    std::uint8_t bits[6] = {};
    REQUIRE(resolve_plan(config, model, bits, plan) == Status::ok);
    std::string taken;
    for (std::size_t i = 0; i < plan.bits.size(); ++i) taken += plan.bits[i] != 0 ? '1' : '0';
    CHECK(plan.matched_ops == std::count(taken.begin(), taken.end(), '1'));
    return taken;
  };
  CHECK(matched({{"b", "d"}}) == "011100");
  CHECK(matched({{"a", "e"}}) == "111111");
  CHECK(matched({{"c", "c"}}) == "001000");
  CHECK(matched({{"c", "d"}, {"a", "a"}}) == "101100");
  CHECK(matched({{"c", "none"}}) == "001111");
  CHECK(matched({{"none", "c"}}).empty());
  CHECK(matched({{"d", "c"}}).empty());      // ends before it begins
  CHECK(matched({{"b", "c"}}) == "011000");  // begins again after its end
  CHECK(matched({{"b", "b"}}) == "010000");
  const std::string_view layers[] = {"e", "c"};
  CHECK(matched({{"a", "b"}}, layers) == "111001");

  const OpRange range{"a", "b"};
  RangeWalk walk(range);
  CHECK(walk.takes("a"));
  CHECK_FALSE(walk.whole());
  CHECK(walk.takes("b"));
  CHECK(walk.whole());
  CHECK_FALSE(walk.takes("a"));
  CHECK_FALSE(walk.whole());
}

TEST_CASE("plan: dump_level takes operators, kernels, or both") {
  const OpDesc ops[] = {
      {.name = "both"}, {.name = "op", .level = OpLevel::op}, {.name = "k", .level = OpLevel::kernel}};
  const ModelDesc model = {.name = "m", .ops = ops};
  const auto matched = [&](DumpLevel level) {
    DumpConfig config = everything();
    config.level = level;
    ModelPlan plan;
    std::uint8_t bits[3];
    REQUIRE(resolve_plan(config, model, bits, plan) == Status::ok);
    return std::to_string(bits[0] != 0) + std::to_string(bits[1] != 0) + std::to_string(bits[2] != 0);
  };
  CHECK(matched(DumpLevel::all) == "111");
  CHECK(matched(DumpLevel::op) == "110");
  CHECK(matched(DumpLevel::kernel) == "101");
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

TEST_CASE("journal: tells every record, in order, and closes with the counts") {
  Bench<1024> bench;
  bench.start(everything());
  bench.step();
  std::vector<float> big(500);
  const Dim dims[] = {500};
  const TensorView tensor = {
      .address = address_of(big.data()), .bytes = 2000, .dtype = DType::float32, .shape = dims};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.capture(1, {}, {&tensor, 1}) == Status::ok);
  bench.memory.fail_at = bench.memory.copies;
  CHECK(bench.recorder.capture(2, {&tensor, 1}, {}) == Status::device_copy_failed);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.sink.journals.size() == 1);
  const auto& [name, text] = *bench.sink.journals.begin();
  CHECK(name == "/dump|20231114221320|opdump.2.1700000000000001.journal");
  CHECK(text ==
        "opdump-journal,1,records\n"
        "from,0,0\n"
        "written,0,0,375,2/net/9/0/Conv2D.conv1_relu1.3.1.1700000000000002\n"
        "written,0,1,369,2/net/9/0/MaxPool.pool1.4.1.1700000000000003\n"
        "written,0,2,366,2/net/9/0/MatMul.fc.5.2.1700000000000004\n"
        "begun,0,3,2/net/9/1/MaxPool.pool1.4.1.1700000000000005\n"
        "written,0,3,2137,\n"
        "begun,0,4,2/net/9/1/MatMul.fc.5.2.1700000000000006\n"
        "lost,0,4,copying from device memory failed,2/net/9/1/MatMul.fc.5.2\n"
        "to,0,5\n"
        "closed,5,4,0,0,0,0,0,1,4,0,0,4,1\n");
}

TEST_CASE("journal: what finds no room to be told is a gap") {
  Bench<1024> bench(WhenFull::drop);
  const ModelDesc one_op = {.name = "one", .ops = std::span(kOps).first(1)};
  bench.start(everything(), one_op);
  for (int i = 0; i < 9; ++i) bench.step();
  while (bench.session.drain_some(SIZE_MAX) != 0) {
  }
  bench.step();
  for (int i = 0; i < 9; ++i) bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  const std::string& text = bench.sink.journals.begin()->second;
  CAPTURE(text);
  CHECK(text.find("\nlost,0,") != std::string::npos);
  CHECK(text.find(",the ring is full,2/one/0/") != std::string::npos);
  CHECK(text.find("\ngap,0,") != std::string::npos);
  CHECK(text.find(",18\nto,0,19\nclosed,19,") != std::string::npos);
}

TEST_CASE("journal: losses of a recorder that never got anything through are told all the same") {
  Bench<64> bench(WhenFull::drop);
  bench.start(everything());
  bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.session.counts().too_large == 3);
  CHECK(bench.sink.journals.begin()->second ==
        "opdump-journal,1,records\nfrom,0,0\ngap,0,0,2\nto,0,3\nclosed,3,0,0,0,0,0,3,0,0,0,0,0,3\n");
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
  while (bench.session.drain_some(SIZE_MAX) != 0) {
  }
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

TEST_CASE("session: a policy that drains in the caller takes no drain thread") {
  Bench bench(WhenFull::drain);
  CHECK(bench.session.attach_drainer() == Status::invalid_argument);
}

TEST_CASE("session: a recorder that the drainer does not finish stays busy, and is free when it does") {
  Bench bench(WhenFull::drop);
  bench.start(everything());
  bench.step();
  REQUIRE(bench.session.attach_drainer() == Status::ok);
  CHECK(bench.session.remove_recorder(bench.recorder) == Status::recorder_busy);  // nobody drains
  CHECK(bench.session.remove_recorder(bench.recorder) == Status::recorder_busy);
  while (bench.session.drain_some(SIZE_MAX) != 0) {
  }
  CHECK(bench.session.remove_recorder(bench.recorder) == Status::invalid_argument);
  bench.session.detach_drainer();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.objects.size() == 3);
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

TEST_CASE("journal: less of it, or none") {
  for (const JournalDetail detail : {JournalDetail::none, JournalDetail::gaps}) {
    FakeMemory memory;
    FakeSink sink;
    FakeClock clock;
    std::byte scratch[1024];
    alignas(8) std::byte ring[1024];
    BasicSession<FakeMemory> session(
        {.memory = memory, .sink = sink, .clock = clock, .scratch = scratch, .journal = detail});
    auto& recorder = *session.add_recorder(ring).value();
    ModelPlan plan;
    std::uint8_t bits[3];
    Tensors tensors;
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(everything()) == Status::ok);
    REQUIRE(session.load_model(plan, kModel, bits) == Status::ok);
    recorder.begin_step(plan);
    CHECK(recorder.capture(0, {&tensors.input, 1}, {}) == Status::ok);
    recorder.end_step();
    REQUIRE(session.finalize() == Status::ok);
    CHECK(sink.objects.size() == 1);
    CHECK(sink.journals.size() == (detail == JournalDetail::none ? 0 : 1));
    for (const auto& [name, text] : sink.journals) {
      CHECK(text == "opdump-journal,1,gaps\nfrom,0,0\nto,0,1\nclosed,1,1,0,0,0,0,0,0,1,0,0,1,0\n");
    }
  }
}

TEST_CASE("recorder: degrade shrinks a record to its statistics, then to a count, and never waits") {
  FakeMemory memory;
  FakeSink sink;
  FakeClock clock;
  StatisticsReduction reduction(memory);
  std::byte scratch[1024];
  alignas(8) std::byte ring[4096];
  BasicSession<FakeMemory> session({.memory = memory,
                                    .sink = sink,
                                    .clock = clock,
                                    .scratch = scratch,
                                    .when_full = WhenFull::degrade,
                                    .reduction = &reduction});
  auto& recorder = *session.add_recorder(ring).value();
  ModelPlan plan;
  std::uint8_t bits[3];
  OpCounts op_counts[3];
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config(everything()) == Status::ok);
  REQUIRE(session.load_model(plan, kModel, bits) == Status::ok);
  plan.op_counts = op_counts;
  std::vector<float> data(400);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i) - 100;
  const Dim dims[] = {20, 20};
  const TensorView tensor = {
      .address = address_of(data.data()), .bytes = 1600, .dtype = DType::float32, .shape = dims};
  recorder.begin_step(plan);
  CHECK(recorder.capture(0, {}, {&tensor, 1}) == Status::ok);
  CHECK(recorder.capture(1, {}, {&tensor, 1}) == Status::ok);
  CHECK(recorder.capture(2, {}, {&tensor, 1}) == Status::degraded);
  while (recorder.capture(2, {}, {&tensor, 1}) == Status::degraded) {
  }
  recorder.end_step();
  CHECK(clock.pauses == 0);
  REQUIRE(session.finalize() == Status::ok);
  const DumpCounts counts = session.counts();
  check_adds_up(counts);
  CHECK(counts.captured == 2);
  CHECK(counts.degraded >= 1);
  CHECK(counts.ring_full == 1);
  CHECK(counts.written == sink.objects.size());
  CHECK(op_counts[2].degraded == counts.degraded);
  CHECK(op_counts[2].lost() == 1);
  const auto& csv = sink.objects.at(sink.order[2]);
  CHECK(sink.order[2].ends_with(".csv"));
  CHECK(as_text(csv) ==
        "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
        "Negative Inf Count,Positive Inf Count\n"
        "Output,0,1600,DT_FLOAT,ND,20x20,299,-100,99.5,400,0,0,0\n");
  CHECK(sink.journals.begin()->second.find("\nreduced,0,2,the ring is full," + std::to_string(csv.size()) +
                                           ",0/net/9/0/") != std::string::npos);
}

TEST_CASE(
    "recorder: degrade gives up what it has begun, and a reduced form that the sink refuses is counted") {
  FakeMemory memory;
  FakeSink sink;
  FakeClock clock;
  StatisticsReduction reduction(memory);
  std::byte scratch[1024];
  alignas(8) std::byte ring[2048];
  BasicSession<FakeMemory> session({.memory = memory,
                                    .sink = sink,
                                    .clock = clock,
                                    .scratch = scratch,
                                    .when_full = WhenFull::degrade,
                                    .reduction = &reduction});
  auto& recorder = *session.add_recorder(ring).value();
  ModelPlan plan;
  std::uint8_t bits[3];
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config(everything()) == Status::ok);
  REQUIRE(session.load_model(plan, kModel, bits) == Status::ok);
  std::vector<float> data(3000, 2.0f);
  const Dim dims[] = {3000};
  const TensorView tensor = {
      .address = address_of(data.data()), .bytes = 12000, .dtype = DType::float32, .shape = dims};
  recorder.begin_step(plan);
  CHECK(recorder.capture(0, {}, {&tensor, 1}) == Status::degraded);
  while (session.drain_some(SIZE_MAX) != 0) {
  }
  CHECK(sink.aborts == 1);
  CHECK(sink.objects.size() == 1);
  sink.fail_at = sink.calls;
  sink.fail_on = true;
  CHECK(recorder.capture(0, {}, {&tensor, 1}) == Status::degraded);
  recorder.end_step();
  CHECK(session.finalize() == Status::no_space);
  check_adds_up(session.counts());
  CHECK(session.counts().sink_failed == 1);
  CHECK(session.journal_failed());
  CHECK(sink.open_objects.empty());
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

TEST_CASE("plan: counts per operator, where the caller gives memory for them") {
  Bench<1024> bench(WhenFull::drop);
  bench.start(everything());
  OpCounts counts[3];
  bench.plan.op_counts = counts;
  for (int i = 0; i < 4; ++i) bench.step();
  CHECK(bench.plan.steps_seen == 4);
  CHECK(bench.plan.steps_wanted == 4);
  std::uint32_t captured = 0, lost = 0;
  for (const OpCounts& op : counts) {
    CHECK(op.wanted == 4);
    CHECK(op.captured + op.lost() == 4);
    CHECK(op.ring_full == op.lost());
    if (op.lost() != 0) CHECK(op.last_lost_step == 3);
    captured += op.captured;
    lost += op.lost();
  }
  CHECK(captured == bench.session.counts().captured);
  CHECK(lost == bench.session.counts().ring_full);
  CHECK(lost > 0);
  REQUIRE(bench.session.finalize() == Status::ok);
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
  while (bench.session.drain_some(SIZE_MAX) != 0) {
  }
  for (int i = 0; i < 8; ++i) bench.step();
  CHECK(waker.calls == 2);
  // One record that alone fills more than half, again and again.
  std::vector<float> data(650);
  const Dim dims[] = {650};
  const TensorView large = {
      .address = address_of(data.data()), .bytes = 2600, .dtype = DType::float32, .shape = dims};
  for (int i = 0; i < 5; ++i) {
    while (bench.session.drain_some(SIZE_MAX) != 0) {
    }
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    CHECK(bench.recorder.capture(0, {}, {&large, 1}) == Status::ok);
    REQUIRE(bench.recorder.end_step() == Status::ok);
    CHECK(waker.calls == 3 + i);
  }
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
  CHECK(std::memcmp(file.data() + tensor.data_offset, big.data(), 4 * big.size()) == 0);
  REQUIRE(reader.next(tensor));
  CHECK(tensor.bytes == 0);
  REQUIRE(reader.next(tensor));
  CHECK(std::memcmp(file.data() + tensor.data_offset, bench.tensors.values + 16, 64) == 0);
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
  while (bench.session.drain_some(SIZE_MAX) != 0) {
  }
  // A record larger than the ring begins, finds no room half way and is given up.
  std::vector<float> big(1000);
  const Dim dims[] = {1000};
  const TensorView tensor = {
      .address = address_of(big.data()), .bytes = 4000, .dtype = DType::float32, .shape = dims};
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.capture(0, {&tensor, 1}, {}) == Status::ring_full);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  while (bench.session.drain_some(SIZE_MAX) != 0) {
  }
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
  while (bench.session.drain_some(SIZE_MAX) != 0) {
  }
  for (int i = 0; i < 9; ++i) bench.step();
  CHECK(bench.clock.pauses == 100);
  CHECK(bench.session.counts().timed_out > first_losses);
  REQUIRE(bench.session.finalize() == Status::ok);
  check_adds_up(bench.session.counts());
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
  CHECK(bench.recorder.capture(0, {&tensor, 1}, {}) == Status::invalid_tensor);
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
      for (std::size_t op = 0; op < 3; ++op) {
        CHECK(bench.recorder.capture(op, {&tensor, 1}, {&bench.tensors.output, 1}) == Status::ok);
      }
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
