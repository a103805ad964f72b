#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "opdump/parts/overflow_scan.hpp"
#include "opdump/read/nano_reader.hpp"
#include "opdump/types/overflow.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

DumpConfig overflows() {
  return {.active = true, .dump_path = "/dump", .overflow = true};
}

struct OverflowBench : Bench<4096> {
  explicit OverflowBench(WhenFull when_full = WhenFull::inline_drain) : Bench(when_full) {}

  /// One step, in which the output of operator `op` is infinite.
  void step_with(std::size_t op) {
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    for (std::size_t i = 0; i < 3; ++i) {
      tensors.values[20] = i == op ? kInf : 1;
      if (recorder.wants(i)) last = recorder.capture(i, {&tensors.input, 1}, {&tensors.output, 1});
    }
    REQUIRE(recorder.end_step() == Status::ok);
  }

  /// `{step}/{file}` without time stamps, in the order in which they were committed.
  std::vector<std::string> files() const {
    std::vector<std::string> files;
    for (const std::string& path : sink.order) {
      const std::size_t file = path.rfind('|');
      const std::size_t step = path.rfind('/', file);
      std::string name = path.substr(file + 1);
      std::size_t dots = 0;
      for (std::size_t i = 0, seen = 0; i < name.size(); ++i) {
        if (name[i] == '.' && ++seen == 4) dots = i;
      }
      name = name.substr(0, dots) + name.substr(std::min(name.size(), dots + 17));
      files.push_back(path.substr(step + 1, file - step - 1) + "/" + name);
    }
    return files;
  }

  const std::vector<std::byte>& object(std::size_t index) const {
    return sink.objects.at(sink.order.at(index));
  }
};

std::vector<RecordTensor> tensors_of(const std::vector<std::byte>& file) {
  NanoReader reader;
  REQUIRE(reader.open(file, file.size()) == Status::ok);
  std::vector<RecordTensor> tensors;
  for (RecordTensor tensor; reader.next(tensor);) tensors.push_back(tensor);
  return tensors;
}

}  // namespace

TEST_CASE("overflow: the operator's file first, then what is known of it, and nothing of the others") {
  OverflowBench bench;
  bench.start(overflows());
  bench.step_with(3);
  bench.step_with(1);
  bench.step_with(2);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.files() == std::vector<std::string>{"1/MaxPool.pool1.4.1", "1/Opdebug.Node_OpDebug.65535.1",
                                                  "2/MatMul.fc.5.2", "2/Opdebug.Node_OpDebug.65535.2"});
  check_adds_up(bench.session.counts());
  CHECK(bench.session.counts().written == 4);
  CHECK(bench.session.overflows() == 2);
  const std::string& journal = bench.sink.journals.begin()->second;
  CHECK(journal.find("written,0,1,") != std::string::npos);
  CHECK(journal.find("gap") == std::string::npos);

  CHECK(tensors_of(bench.object(0)).size() == 2);
  const std::vector<RecordTensor> reported = tensors_of(bench.object(1));
  REQUIRE(reported.size() == 1);
  const RecordTensor& tensor = reported[0];
  CHECK(tensor.is_output);
  CHECK(tensor.dtype == DType::uint8);
  REQUIRE(tensor.bytes == kOpDebugBytes);
  const auto word = [&](std::size_t index) {
    return load_little_endian<std::uint64_t>(bench.object(1).data() + tensor.data_offset + index * 8);
  };
  CHECK(word(32) == 9);
  CHECK(word(33) == 1);
  CHECK(word(34) == 4);
  CHECK(word(130) == kOverflowFloat);
  CHECK(word(kSearchedWord) == 1);

  const FirstBadOp first = bench.session.first_bad_op();
  CHECK(first.status == 0);  // nothing reported one
  CHECK(first.name == "pool1");
  CHECK(first.step == 1);
  CHECK(first.op == 1);
}

TEST_CASE("overflow: the first bad operator is one whose inputs are clean") {
  OverflowBench bench;
  bench.start(overflows());
  bench.tensors.values[0] = kInf;
  bench.step_with(0);
  CHECK(bench.session.overflows() == 1);
  CHECK(bench.session.first_bad_op().unix_us == 0);
  bench.tensors.values[0] = 1;
  bench.step_with(2);
  CHECK(bench.session.first_bad_op().name == "fc");
  CHECK(bench.session.first_bad_op().step == 1);
  bench.step_with(0);
  CHECK(bench.session.first_bad_op().name == "fc");
  REQUIRE(bench.session.finalize() == Status::ok);
}

TEST_CASE("overflow: steps and the number of operators are honoured") {
  constexpr StepRange kSteps[] = {{1, 3}};
  DumpConfig config = overflows();
  config.steps = {kSteps};
  config.overflow_number = 2;
  OverflowBench bench;
  bench.start(config);
  for (std::size_t step = 0; step < 5; ++step) bench.step_with(0);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.files() ==
        std::vector<std::string>{"1/Conv2D.conv1_relu1.3.1", "1/Opdebug.Node_OpDebug.65535.1",
                                 "2/Conv2D.conv1_relu1.3.1", "2/Opdebug.Node_OpDebug.65535.1"});
  CHECK(bench.session.overflows() == 3);
  check_adds_up(bench.session.counts());
}

TEST_CASE("overflow: the runtime reports one itself") {
  OverflowBench bench;
  bench.start(overflows());
  OverflowReport report;
  report.unit = OverflowUnit::sdma;
  report.status[0] = 1;
  report.debug_task_id = 77;
  CHECK(bench.recorder.capture_overflow(0, {}, {}, report) == Status::step_not_open);
  bench.recorder.begin_step(bench.plan);
  CHECK(bench.recorder.capture_overflow(3, {}, {}, report) == Status::no_such_op);
  CHECK(bench.recorder.capture_overflow(0, {&bench.tensors.input, 1}, {}, report) == Status::ok);
  bench.recorder.end_step();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.files() == std::vector<std::string>{"0/Conv2D.conv1_relu1.3.1", "0/Opdebug.Node_OpDebug.77.1"});
}

TEST_CASE(
    "overflow: one that the runtime reports is captured as listed where the config asks for no overflows") {
  static constexpr std::string_view kLayers[] = {"pool1"};
  static constexpr ModelRule kRules[] = {{.any_model = true, .all_layers = false, .layers = kLayers}};
  OverflowBench bench;
  bench.start({.active = true, .dump_path = "/dump", .mode = DumpMode::output, .models = kRules});
  bench.recorder.begin_step(bench.plan);
  for (std::size_t op = 0; op < 3; ++op)
    CHECK(bench.recorder.capture_overflow(op, {&bench.tensors.input, 1}, {&bench.tensors.output, 1}, {}) ==
          Status::ok);
  bench.recorder.end_step();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.files() == std::vector<std::string>{"0/MaxPool.pool1.4.1"});
  REQUIRE(bench.sink.order.size() == 1);
  CHECK(tensors_of(bench.object(0)).size() == 1);
  check_adds_up(bench.session.counts());
  CHECK(bench.session.overflows() == 0);
}

TEST_CASE("overflow: one that the runtime reports is in the history besides, with all that is listed") {
  constexpr ModelRule kRules[] = {{.any_model = true}};
  DumpConfig config = overflows();
  config.models = kRules;
  config.options.history_steps = 2;
  OverflowBench told;
  told.start(config);
  told.recorder.begin_step(told.plan);
  CHECK(told.recorder.capture_overflow(1, {&told.tensors.input, 1}, {&told.tensors.output, 1}, {}) ==
        Status::ok);
  told.recorder.end_step();
  REQUIRE(told.session.finalize() == Status::ok);
  CHECK(told.files() == std::vector<std::string>{"0/MaxPool.pool1.4.1", "0/Opdebug.Node_OpDebug.65535.1",
                                                 "0/MaxPool.pool1.4.1"});
  check_adds_up(told.session.counts());
}

TEST_CASE("overflow: a check that fails is a record that is lost") {
  OverflowBench bench;
  bench.start(overflows());
  bench.memory.fail_at = 1;
  bench.step_with(2);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.session.counts().device_failed == 1);
  CHECK(bench.session.counts().wanted == 3);
  CHECK(bench.sink.journals.begin()->second.find("gap,0,0,0") != std::string::npos);
  check_adds_up(bench.session.counts());
}

TEST_CASE("overflow: both files or neither, whichever call of the sink fails") {
  for (int call = 0;; ++call) {
    CAPTURE(call);
    OverflowBench bench;
    bench.start(overflows());
    bench.sink.fail_at = call;
    bench.step_with(0);
    static_cast<void>(bench.session.finalize());
    if (call >= bench.sink.calls) {
      CHECK(bench.sink.order.size() == 2);
      break;
    }
    const DumpCounts counts = bench.session.counts();
    CHECK(counts.captured == 2);
    CHECK(counts.written == bench.sink.objects.size());
    CHECK(bench.sink.objects.size() % 2 == 0);
    CHECK(counts.sink_failed == 2 - bench.sink.objects.size());
    check_adds_up(counts);
    CHECK(bench.sink.open_objects.empty());
    CHECK(bench.sink.stray_aborts == 0);
    // The journal tells of both, unless it was the journal that failed.
    if (!bench.sink.objects.empty() || bench.session.journal_failed()) continue;
    const std::string& journal = bench.sink.journals.begin()->second;
    CHECK(journal.find("lost,0,0,") != std::string::npos);
    CHECK(journal.find("lost,0,1,") != std::string::npos);
  }
}

TEST_CASE("overflow: both files or neither, however little room there is") {
  for (std::size_t used = 0; used < 3000; used += 40) {
    CAPTURE(used);
    FakeMemory memory;
    FakeSink sink;
    FakeClock clock;
    OverflowScan<FakeMemory> overflow(memory);
    std::byte scratch[1024];
    alignas(8) std::byte ring[4096];
    BasicSession<FakeMemory> session({.memory = memory,
                                      .sink = sink,
                                      .clock = clock,
                                      .scratch = scratch,
                                      .when_full = WhenFull::drop,
                                      .overflow = &overflow});
    auto& recorder = *session.add_recorder(ring).value();
    ModelPlan plan;
    std::uint8_t bits[3];
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(overflows()) == Status::ok);
    REQUIRE(session.load_model(plan, kModel, bits) == Status::ok);
    std::vector<float> data(1000, kInf);
    const Dim filler[] = {used / 4 + 1};
    const Dim dims[] = {200};
    const TensorView first = {
        .address = address_of(data.data()), .bytes = filler[0] * 4, .dtype = DType::float32, .shape = filler};
    const TensorView second = {
        .address = address_of(data.data()), .bytes = 800, .dtype = DType::float32, .shape = dims};
    recorder.begin_step(plan);
    recorder.capture(0, {}, {&first, 1});
    recorder.capture(1, {}, {&second, 1});
    recorder.end_step();
    REQUIRE(session.finalize() == Status::ok);
    const DumpCounts counts = session.counts();
    check_adds_up(counts);
    CHECK(counts.wanted == 4);
    CHECK(counts.written % 2 == 0);
    CHECK(counts.written == sink.objects.size());
    CHECK(sink.open_objects.empty());
  }
}

TEST_CASE("overflow: without the means for it the config is not supported") {
  FakeMemory memory;
  FakeSink sink;
  FakeClock clock;
  std::byte scratch[1024];
  BasicSession<FakeMemory> session({.memory = memory, .sink = sink, .clock = clock, .scratch = scratch});
  REQUIRE(session.init() == Status::ok);
  CHECK(session.set_config(overflows()) == Status::not_supported);
}

TEST_CASE("overflow: MindSpore writes tensors alone kernel by kernel, and a text of each graph's") {
  DumpConfig config = overflows();
  config.form.layout = Layout::mindspore_kernel;
  config.form.file_format = FileFormat::npy;
  config.net_name = "net";
  OverflowBench kernels;
  kernels.start(config);
  kernels.step_with(1);
  REQUIRE(kernels.session.finalize() == Status::ok);
  CHECK(kernels.files() ==
        std::vector<std::string>{"0/MaxPool.pool1.0.1.input.0.DefaultFormat.float32.npy",
                                 "0/MaxPool.pool1.0.1.output.0.DefaultFormat.float32.npy"});

  config.form.layout = Layout::mindspore_graph;
  OverflowBench graphs;
  graphs.start(config);
  graphs.step_with(1);
  REQUIRE(graphs.session.finalize() == Status::ok);
  CHECK(graphs.files() == std::vector<std::string>{"0/MaxPool.pool1.4.1.input.0.ND.float32.npy",
                                                   "0/MaxPool.pool1.4.1.output.0.ND.float32.npy",
                                                   "0/Opdebug.Node_OpDebug.65535.1.output.0.json"});
  CHECK(std::string(as_text(graphs.object(2))).starts_with("{\"AI Core\":{\"block_idx\":0,"));
}

namespace {

/// A device that tells of overflows, for one stream.
struct TellingMemory final : DeviceMemory {
  Status copy(std::byte* to, Address from, std::size_t bytes) override {
    std::memcpy(to, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(from)), bytes);
    return Status::ok;
  }
  Result<bool> overflowed(std::uint32_t stream_id) {
    if (stream_id == 9) return Status::not_supported;
    const bool was = flag;
    flag = false;
    return was;
  }
  bool flag = false;
};

}  // namespace

TEST_CASE("overflow: the device goes before the outputs, and they before nothing") {
  TellingMemory memory;
  OverflowScan<TellingMemory> scan(memory);
  Tensors tensors;
  const CapturedTensors both = {{&tensors.input, 1}, {&tensors.output, 1}};
  OverflowReport report;
  tensors.values[16] = kInf;
  CHECK_FALSE(scan.overflowed({.stream_id = 1}, both, report).value());
  memory.flag = true;
  CHECK(scan.overflowed({.stream_id = 1}, both, report).value());
  CHECK(report.status[0] == kOverflowFloat);
  CHECK_FALSE(report.searched);
  CHECK(scan.overflowed({.stream_id = 9}, both, report).value());
  CHECK(report.searched);
  tensors.values[16] = 0;
  CHECK_FALSE(scan.overflowed({.stream_id = 9}, both, report).value());

  std::uint16_t half[16] = {0x7c00};
  const Dim dims[] = {16};
  const TensorView narrow = {
      .address = address_of(half), .bytes = 32, .dtype = DType::float16, .shape = dims};
  CHECK(scan.overflowed({.stream_id = 9}, {{&tensors.input, 1}, {&narrow, 1}}, report).value());
  CHECK(report.status[0] == kOverflowToFloat16);
  CHECK(scan.bad({&narrow, 1}).value());
  CHECK_FALSE(scan.bad({&tensors.input, 1}).value());
}
