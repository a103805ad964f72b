// How the cost of a record grows with the number of recorders, operators, bytes and records, and how far
// memory rises meanwhile.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "rig.hpp"
#include "sinks.hpp"

namespace {

using namespace opdump;
using namespace opdump::bench;

/// A device whose memory repeats the same 64 KiB, so that a tensor may be larger than this machine.
class RepeatingMemory final : public DeviceMemory {
 public:
  Status copy(std::byte* to, Address, std::size_t bytes) override {
    for (std::size_t done = 0; done < bytes; done += sizeof pattern_)
      std::memcpy(to + done, pattern_, std::min(bytes - done, sizeof pattern_));
    return Status::ok;
  }

 private:
  std::byte pattern_[64 * 1024] = {};
};

/// Peak memory of the process in KiB since the last `forget_peak`.
double peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6));
  return 0;
}

void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

struct Case {
  std::size_t recorders = 1;
  std::size_t ops = 16;
  std::uint64_t bytes = 64;
  std::uint64_t records = 100'000;
  std::size_t known_heads = 16;  ///< operators whose heads the recorder has memory for
};

void run(benchmark::State& state, const Case& shape) {
  for (auto _ : state) {
    NullSink sink;
    Rig<RepeatingMemory> rig(sink, {.ring_bytes = 64 * 1024,
                                    .recorders = shape.recorders,
                                    .ops = shape.ops,
                                    .known_heads = shape.known_heads});
    const ByteTensor tensor(0, shape.bytes);
    const auto capture = [&](std::uint64_t i) {
      // A stride that visits all operators out of order.
      rig.recorder(i % shape.recorders).capture(i * 7919 % shape.ops, {}, {&tensor.view, 1});
    };
    // The first record of an operator brings its head.
    const std::uint64_t first = std::max<std::uint64_t>(shape.known_heads, 100);
    for (std::uint64_t i = 0; i < std::min(shape.records, first); ++i)
      if (shape.bytes < 1 << 20) capture(i);
    forget_peak();
    const double before_kib = peak_kib();
    const double start_ns = nanoseconds_now();
    for (std::uint64_t i = 0; i < shape.records; ++i) capture(i);
    rig.finish();
    const double took_ns = nanoseconds_now() - start_ns;
    const double records = static_cast<double>(shape.records);
    state.SetIterationTime(took_ns * 1e-9);
    state.counters["mean"] = took_ns / records;
    state.counters["per_byte"] = took_ns / (records * static_cast<double>(shape.bytes));
    state.counters["ram_kib"] = peak_kib() - before_kib;
  }
}

/// What a session does for a model of so many operators before the first is captured: it takes the model over
/// and holds each operator against the config. Then what asking whether one is wanted costs, out of order.
class Loading {
 public:
  explicit Loading(std::size_t ops) : bits_(ops), ring_(64 * 1024), heads_(head_memory_bytes(16)) {
    for (std::size_t i = 0; i < ops; ++i) names_.push_back("network/block/conv_" + std::to_string(i));
    for (const std::string& name : names_) ops_.push_back({.name = name, .type = "Conv2D"});
    model_ = {.name = "network", .id = 1, .ops = ops_};
    const auto recorder = session_.add_recorder(ring_.bytes(), heads_.bytes());
    expect_ok(recorder.status(), "add_recorder");
    recorder_ = recorder.value();
    expect_ok(session_.init(), "init");
    expect_ok(session_.set_config(config_), "set_config");
  }

  void load() { expect_ok(session_.load_model(plan_, model_, bits_), "load_model"); }

  /// How many of `calls` are wanted.
  std::uint64_t ask(std::uint64_t calls) {
    expect_ok(recorder_->begin_step(plan_), "begin_step");
    std::uint64_t wanted = 0;
    for (std::uint64_t i = 0; i < calls; ++i) wanted += recorder_->wants(i * 7919 % ops_.size()) ? 1 : 0;
    expect_ok(recorder_->end_step(), "end_step");
    return wanted;
  }

 private:
  HostMemory memory_;
  posix::CounterClock clock_;
  NullSink sink_;
  std::byte scratch_[4096];
  std::vector<std::uint8_t> bits_;
  RingMemory ring_;
  RingMemory heads_;
  std::vector<std::string> names_;
  std::vector<OpDesc> ops_;
  ModelDesc model_;
  ModelRule rule_ = {.any_model = true};
  DumpConfig config_ = {.active = true, .dump_path = "/dump", .models = {&rule_, 1}};
  ModelPlan plan_;
  BasicSession<HostMemory> session_{{.memory = memory_, .sink = sink_, .clock = clock_, .scratch = scratch_}};
  BasicRecorder<HostMemory>* recorder_ = nullptr;
};

enum class Part { load, wants };

void run_loading(benchmark::State& state, std::size_t ops, Part part) {
  constexpr std::uint64_t kCalls = 1'000'000;
  for (auto _ : state) {
    Loading loading(ops);
    forget_peak();
    const double before_kib = peak_kib();
    double start_ns = nanoseconds_now();
    loading.load();
    if (part == Part::wants) start_ns = nanoseconds_now();
    if (part == Part::wants && loading.ask(kCalls) != kCalls) std::abort();
    const double took_ns = nanoseconds_now() - start_ns;
    state.SetIterationTime(took_ns * 1e-9);
    state.counters["mean"] = took_ns / static_cast<double>(part == Part::load ? ops : kCalls);
    state.counters["ram_kib"] = peak_kib() - before_kib;
  }
}

void add_loading(const char* topic, std::size_t ops, Part part) {
  const std::string name = "growth/operators, " + std::string(topic) + "/" + std::to_string(ops);
  benchmark::RegisterBenchmark(name.c_str(), run_loading, ops, part)->Iterations(1)->UseManualTime();
}

void add(const char* topic, std::uint64_t value, const Case& shape) {
  const std::string name = "growth/" + std::string(topic) + "/" + std::to_string(value);
  benchmark::RegisterBenchmark(name.c_str(), run, shape)->Iterations(1)->UseManualTime();
}

}  // namespace

int main(int argc, char** argv) {
  pin_to(0);
  for (const std::size_t recorders : {1, 2, 4, 8, 16, 32, 64, 128, 254})
    add("recorders", recorders, {.recorders = recorders});
  // What a record costs depends on whether there is memory for its operator's head, not on their number.
  for (const std::size_t ops : {10, 100, 1'000, 10'000, 100'000, 1'000'000}) {
    add("operators, each head kept", ops, {.ops = ops, .known_heads = ops});
    add("operators, no head kept", ops, {.ops = ops, .known_heads = 0});
    add_loading("load and plan", ops, Part::load);
    add_loading("wants", ops, Part::wants);
  }
  for (int power = 0; power <= 30; power += 5) {
    const std::uint64_t bytes = std::uint64_t{1} << power;
    add("bytes", bytes,
        {.bytes = bytes, .records = std::clamp<std::uint64_t>((1u << 29) / bytes, 1, 20'000)});
  }
  for (const std::uint64_t records : {1, 10, 100, 1'000, 10'000, 100'000, 1'000'000})
    add("records", records, {.records = records});
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
