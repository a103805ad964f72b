#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <initializer_list>

#include "platform/runtimes/tflite_micro/tflm_tap.hpp"
#include "tests/runtimes/declared/bench_records.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

TfLiteEvalTensor& at(TfLiteContext* context, const TfLiteIntArray* list, int i) {
  return *tflite::GetMicroContext(context)->GetEvalTensor(list->data[i]);
}

int* ints(const TfLiteEvalTensor& tensor) {
  return static_cast<int*>(tensor.data.data);
}

TfLiteStatus add(TfLiteContext* context, TfLiteNode* node) {
  for (int i = 0; i < 4; ++i)
    ints(at(context, node->outputs, 0))[i] = ints(at(context, node->inputs, 0))[i] + 10;
  return kTfLiteOk;
}

/// Counts how often it has run in a variable tensor, its last input.
TfLiteStatus svdf(TfLiteContext* context, TfLiteNode* node) {
  const int runs = ++*ints(at(context, node->inputs, 2));
  for (int i = 0; i < 4; ++i)
    ints(at(context, node->outputs, 0))[i] = ints(at(context, node->inputs, 0))[i] * runs;
  return kTfLiteOk;
}

TfLiteStatus branch(TfLiteContext* context, TfLiteNode* node) {
  if (tflite::GetMicroContext(context)->graph().InvokeSubgraph(1) != kTfLiteOk) return kTfLiteError;
  for (int i = 0; i < 4; ++i) ints(at(context, node->outputs, 0))[i] = -1;
  return kTfLiteOk;
}

TfLiteStatus negate_in_place(TfLiteContext* context, TfLiteNode* node) {
  for (int i = 0; i < 4; ++i) ints(at(context, node->outputs, 0))[i] = -ints(at(context, node->inputs, 0))[i];
  return kTfLiteOk;
}

class Resolver final : public tflite::MicroOpResolver {
 public:
  const TFLMRegistration* FindOp(tflite::BuiltinOperator op) const override {
    return op == tflite::BuiltinOperator_ADD ? &add_ : op == tflite::BuiltinOperator_SVDF ? &svdf_ : &if_;
  }
  const TFLMRegistration* FindOp(const char* op) const override {
    return std::string_view(op) == "Negate" ? &negate_ : nullptr;
  }
  tflite::TfLiteBridgeBuiltinParseFunction GetOpDataParser(tflite::BuiltinOperator) const override {
    return [](const tflite::Operator*, tflite::ErrorReporter*, tflite::BuiltinDataAllocator*, void**) {
      return kTfLiteOk;
    };
  }

  TFLMRegistration add_{nullptr, nullptr, nullptr, add, nullptr, tflite::BuiltinOperator_ADD, nullptr};
  TFLMRegistration svdf_{nullptr, nullptr, nullptr, svdf, nullptr, tflite::BuiltinOperator_SVDF, nullptr};
  TFLMRegistration if_{nullptr, nullptr, nullptr, branch, nullptr, tflite::BuiltinOperator_IF, nullptr};
  TFLMRegistration negate_{
      nullptr, nullptr, nullptr, negate_in_place, nullptr, tflite::BuiltinOperator_CUSTOM, "Negate"};
};

/// add, svdf (with a bias left out), negate (in place), if (which runs an add of a second subgraph).
struct Network {
  Network() {
    model.codes.items = {{0, tflite::BuiltinOperator_ADD, flatbuffers::String("")},
                         {27, tflite::BuiltinOperator_ADD, flatbuffers::String("")},
                         {32, tflite::BuiltinOperator_CUSTOM, flatbuffers::String("Negate")},
                         {118, tflite::BuiltinOperator_IF, flatbuffers::String("")}};
    model.graphs.items.resize(2);
    auto& main = model.graphs.items[0];
    for (const char* const name : {"image", "sum", "state", "count", "negated", "chosen"})
      main.all_tensors.items.push_back({flatbuffers::String(name), std::strcmp(name, "state") == 0});
    main.all_operators.items = {
        {0, {{0}}, {{1}}}, {1, {{1, -1, 2}}, {{3}}}, {2, {{3}}, {{4}}}, {3, {{4}}, {{5}}}};
    auto& then = model.graphs.items[1];
    then.all_tensors.items = {{flatbuffers::String("given"), false}, {flatbuffers::String("sum"), false}};
    then.all_operators.items = {{0, {{0}}, {{1}}}};
    for (int i = 0; i < 4; ++i) image[static_cast<std::size_t>(i)] = i;
    plan[0] = {of(image), of(sum),   {{.data = &state}, nullptr, kTfLiteInt32},
               of(count), of(count), of(chosen)};
    plan[1] = {of(image), of(inner)};
  }

  TfLiteEvalTensor of(std::array<int, 4>& values) { return {{.data = values.data()}, &dims, kTfLiteInt32}; }

  tflite::Model model;
  TfLiteIntArray dims = {2, {2, 2}};
  std::array<int, 4> image{}, sum{}, count{}, chosen{}, inner{};
  int state = 0;
  tflite::Plan plan{2};
};

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
                             "0/ADD.sum: in0 int32[2,2] 0 1 2 3; out0 int32[2,2] 10 11 12 13",
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
  CHECK(few_ops.load(run.bench.session, "net") == Status::no_memory);
  CHECK(few_types.load(run.bench.session, "net") == Status::no_memory);
  REQUIRE(run.interpreter.AllocateTensors() == kTfLiteOk);
  CHECK(run.tap.invoke(run.interpreter) == kTfLiteOk);
  CHECK(run.chosen == std::array<int, 4>{-1, -1, -1, -1});
  CHECK(run.bench.sink.objects.empty());
}
