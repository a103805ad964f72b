// What an operator costs that nobody wants, against other ways to ask.

#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <unordered_set>
#include <vector>

#include "rig.hpp"
#include "sinks.hpp"

namespace {

using namespace opdump;
using namespace opdump::bench;

constexpr std::size_t kOps = 120;

/// A model of 120 operators of which a config wants the last.
struct Model {
  Model() {
    for (std::size_t i = 0; i < kOps; ++i) names.push_back("network/block/conv_" + std::to_string(i));
    for (const std::string& name : names) ops.push_back({.name = name, .type = "Conv2D"});
    wanted = names.back();
    desc = {.name = "network", .id = 1, .ops = ops};
    expect_ok(session.init(), "init");
    expect_ok(session.set_config(
                  {.active = true, .dump_path = "/dump", .steps = {{&steps, 1}}, .models = {&rule, 1}}),
              "set_config");
    expect_ok(session.load_model(plan, desc), "load_model");
  }

  NullSink sink;
  HostMemory memory;
  posix::SystemClock clock;
  std::byte scratch[1024];
  RingMemory ring{4096};
  BasicSession<HostMemory> session{{.memory = memory, .sink = sink, .clock = clock, .scratch = scratch}};
  BasicRecorder<HostMemory>& recorder = *session.add_recorder(ring.bytes()).value();
  std::vector<std::string> names;
  std::vector<OpDesc> ops;
  std::string_view wanted;
  StepRange steps = {0, 0};
  ModelRule rule = {.model_name = "network", .all_layers = false, .layers = {&wanted, 1}};
  ModelDesc desc;
  ModelPlanFor<kOps> plan;
};

/// Runs a step of all operators but the wanted one, and asks for each.
template <class Wants>
void ask_for_each(benchmark::State& state, Wants wants) {
  std::size_t captured = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kOps - 1; ++i) {
      benchmark::DoNotOptimize(i);
      if (wants(i)) ++captured;
      benchmark::ClobberMemory();
    }
  }
  if (captured != 0) state.SkipWithError("an operator was wanted");
  state.counters["mean"] =
      benchmark::Counter(static_cast<double>(kOps - 1) * 1e-9,
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void loop_alone(benchmark::State& state) {
  ask_for_each(state, [](std::size_t) { return false; });
}

void with_opdump(benchmark::State& state, std::uint64_t step) {
  Model model;
  expect_ok(model.recorder.begin_step(model.plan, step), "begin_step");
  ask_for_each(state, [&](std::size_t i) { return model.recorder.wants(i); });
}

void with_set(benchmark::State& state) {
  Model model;
  const std::unordered_set<std::string> wanted = {std::string(model.wanted)};
  ask_for_each(state, [&](std::size_t i) { return wanted.contains(model.names[i]); });
}

void with_strcmp(benchmark::State& state) {
  Model model;
  const std::vector<std::string> wanted(12, std::string(model.wanted));
  ask_for_each(state, [&](std::size_t i) {
    for (const std::string& name : wanted)
      if (std::strcmp(name.c_str(), model.names[i].c_str()) == 0) return true;
    return false;
  });
}

}  // namespace

int main(int argc, char** argv) {
  pin_to(0);
  benchmark::RegisterBenchmark("off/loop alone/0", loop_alone);
  benchmark::RegisterBenchmark("off/opdump, operator not wanted/0", with_opdump, 0);
  benchmark::RegisterBenchmark("off/opdump, step not wanted/0", with_opdump, 1);
  benchmark::RegisterBenchmark("off/unordered_set of names/0", with_set);
  benchmark::RegisterBenchmark("off/strcmp with 12 names/0", with_strcmp);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
