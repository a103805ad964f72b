#include <doctest/doctest.h>

#include <array>
#include <string_view>
#include <vector>

#include "platform/runtimes/tflite_micro/tflm_tap.hpp"
#include "tests/runtimes/declared/bench_records.hpp"
#include "tests/runtimes/declared/tflite_micro/network.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

struct Run : Network {
  void start(const DumpConfig& config) {
    REQUIRE(bench.session.init() == Status::ok);
    REQUIRE(bench.session.set_config(config) == Status::ok);
    REQUIRE(tap.load(bench.session, "net", 3) == Status::ok);
    REQUIRE(interpreter.AllocateTensors() == kTfLiteOk);
  }
  void finish() {
    CHECK(tap.unload(bench.session) == Status::ok);
    CHECK(bench.session.finalize() == Status::ok);
  }

  std::vector<std::string> records() const { return told(bench.sink); }

  Resolver resolver;
  Bench<8192> bench;
  tflm::Tap<FakeMemory, 8, 4> tap{resolver, model, bench.recorder};
  tflite::MicroInterpreter interpreter{&model, tap, plan};
};

}  // namespace

TEST_CASE("tflite micro: inputs and outputs are what the kernels read and wrote") {
  Run run;
  run.start(everything());
  CHECK(run.tap.invoke(run.interpreter) == kTfLiteOk);
  run.finish();
  CHECK(run.records() == std::vector<std::string>{
                             "0/ADD.sum: in0 int32[2,2] 0 1 2 3; out0 int32[2,2] 10 11 12 13",
                             "0/SVDF.count: in0 int32[2,2] 10 11 12 13; in1 uint8[0]; in2 int32[] 0",
                             "0/SVDF.count: out0 int32[2,2] 10 11 12 13",
                             "0/Negate.negated: in0 int32[2,2] 10 11 12 13",
                             "0/Negate.negated: out0 int32[2,2] -10 -11 -12 -13",
                             "0/ADD.inner: in0 int32[2,2] 0 1 2 3; out0 int32[2,2] 10 11 12 13",
                             "0/IF.chosen: in0 int32[2,2] -10 -11 -12 -13; out0 int32[2,2] -1 -1 -1 -1",
                         });
}

TEST_CASE("tflite micro: steps and operators of a config are obeyed, other types are not tapped") {
  Run run;
  constexpr std::string_view kWanted[] = {"count", "absent"};
  const ModelRule rules[] = {{.model_name = "net", .all_layers = false, .layers = kWanted}};
  constexpr StepRange kSteps[] = {{1, 1}};
  run.start({.active = true, .dump_path = "/dump", .steps = {kSteps}, .models = rules});
  CHECK(run.interpreter.registration(0) == &run.resolver.add_);
  CHECK(run.interpreter.registration(1) != &run.resolver.svdf_);
  CHECK(run.interpreter.registration(3) == &run.resolver.if_);
  for (int step = 0; step < 3; ++step) CHECK(run.tap.invoke(run.interpreter) == kTfLiteOk);
  run.finish();
  CHECK(run.records() == std::vector<std::string>{"1/SVDF.count: out0 int32[2,2] 20 22 24 26"});
}

TEST_CASE("tflite micro: an operator whose output has no name has that of its type") {
  Run run;
  run.model.graphs.items[0].all_tensors.items[1].text = flatbuffers::String("");
  run.start(everything());
  CHECK(run.tap.ops()[0].name == "ADD");
  CHECK(run.tap.ops()[1].name == "count");
  run.finish();
}

TEST_CASE("tflite micro: a tensor without a fixed size is refused and counted, inference goes on") {
  Run run;
  run.plan[0][0].type = kTfLiteString;
  run.start(everything());
  CHECK(run.tap.invoke(run.interpreter) == kTfLiteOk);
  CHECK(run.chosen == std::array<int, 4>{-1, -1, -1, -1});
  run.finish();
  CHECK(run.bench.session.counts().invalid == 1);
}

TEST_CASE("tflite micro: a model that is too large is refused at load, and runs without a dump") {
  Run run;
  tflm::Tap<FakeMemory, 4, 4> few_ops(run.resolver, run.model, run.bench.recorder);
  tflm::Tap<FakeMemory, 8, 3> few_types(run.resolver, run.model, run.bench.recorder);
  REQUIRE(run.bench.session.init() == Status::ok);
  REQUIRE(run.bench.session.set_config(everything()) == Status::ok);
  for (int i = 0; i < 2; ++i) CHECK(few_ops.load(run.bench.session, "net") == Status::no_memory);
  CHECK(few_types.load(run.bench.session, "net") == Status::no_memory);
  REQUIRE(run.interpreter.AllocateTensors() == kTfLiteOk);
  CHECK(run.tap.invoke(run.interpreter) == kTfLiteOk);
  CHECK(run.chosen == std::array<int, 4>{-1, -1, -1, -1});
  CHECK(run.bench.sink.objects.empty());
}
