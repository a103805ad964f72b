#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "opdump/parts/text_log.hpp"
#include "platform/posix/impl/op_index_memory.hpp"
#include "tests/support/journal_account.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

std::vector<std::string> never_lines(const std::string& journal) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(journal, '\n')) {
    if (line.starts_with("never,")) lines.emplace_back(line);
  }
  return lines;
}

ModelRule rule_of(std::string_view model, std::span<const std::string_view> layers) {
  return {.model_name = model, .any_model = model.empty(), .all_layers = layers.empty(), .layers = layers};
}

struct AccountBench : Bench<> {
  explicit AccountBench(const DumpConfig& config, const ModelDesc& model = kModel) { start(config, model); }

  void step(std::vector<std::size_t> ops, bool inputs = true, bool outputs = true) {
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    for (const std::size_t op : ops)
      CHECK(recorder.capture(op, {&tensors.input, inputs ? 1u : 0u}, {&tensors.output, outputs ? 1u : 0u}) ==
            Status::ok);
    REQUIRE(recorder.end_step() == Status::ok);
  }

  std::vector<std::string> end() {
    REQUIRE(session.finalize() == Status::ok);
    REQUIRE(sink.journals.size() == 1);
    const std::string& journal = sink.journals.begin()->second;
    CHECK(account_of(journal).wrong == "");
    CHECK(account_of(journal).last_line.starts_with("closed,"));
    return never_lines(journal);
  }
};

DumpConfig config_of(std::span<const ModelRule> rules, DumpMode mode = DumpMode::output) {
  DumpConfig config = everything();
  config.mode = mode;
  config.models = rules;
  return config;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("account: a model that is refused when it is loaded is told, once for each time") {
  Bench<> bench;
  const DumpConfig config = everything();
  REQUIRE(bench.session.init() == Status::ok);
  REQUIRE(bench.session.set_config(config) == Status::ok);
  ModelDesc model = kModel;
  const std::string name(256, 'm');
  model.name = name;
  ModelPlanFor<8> plan;
  CHECK(bench.session.load_model(plan, model) == Status::name_too_long);
  std::uint8_t bits[8] = {};
  ModelPlan growing;
  CHECK(bench.session.load_growing_model(growing, model, bits) == Status::name_too_long);
  REQUIRE(bench.session.finalize() == Status::ok);
  const std::string line = "never,refused,0,0,9," + std::string(100, 'm') + "/_/";
  CHECK(never_lines(bench.sink.journals.begin()->second) == Lines{line, line, "never,no_model,0,0,0,_/_/"});
}

TEST_CASE("account: nothing is told of a dump that has all it asks for") {
  AccountBench bench(everything());
  bench.step({0, 1, 2});
  CHECK(bench.end().empty());
  CHECK(bench.sink.journals.begin()->second.find("never,") == std::string::npos);
}

TEST_CASE("account: a name that no operator has is told, of a named model and of any") {
  const std::string_view layers[] = {"pool1", "model/conv9", "relu1"};
  for (const std::string_view model : {"net", ""}) {
    CAPTURE(model);
    const ModelRule rules[] = {rule_of(model, layers)};
    AccountBench bench(config_of(rules));
    bench.step({0, 1});
    CHECK(bench.end() ==
          Lines{model.empty() ? "never,no_op,0,0,0,_/_/model/conv9" : "never,no_op,0,0,9,net/_/model/conv9"});
  }
}

TEST_CASE("account: a model that is never loaded is told, and that none is loaded") {
  const ModelRule rules[] = {rule_of("net", {}), rule_of("ne.t2", {})};
  {
    AccountBench bench(config_of(rules));
    bench.step({0, 1, 2});
    CHECK(bench.end() == Lines{"never,no_model,0,0,0,ne_t2/_/"});
  }
  Bench<> bench;
  REQUIRE(bench.session.init() == Status::ok);
  REQUIRE(bench.session.set_config(config_of(rules)) == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(never_lines(bench.sink.journals.begin()->second) == Lines{"never,no_model,0,0,0,_/_/"});
}

TEST_CASE("account: operators that did not run are told, whether the model is unloaded first or not") {
  for (const bool unload : {false, true}) {
    CAPTURE(unload);
    AccountBench bench(everything());
    bench.step({1});
    bench.step({1});
    if (unload) REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
    CHECK(bench.end() ==
          Lines{"never,not_run,0,0,9,net/Conv2D/conv1_relu1", "never,not_run,0,0,9,net/MatMul/fc"});
  }
  AccountBench none(everything());
  none.step({});
  CHECK(none.end() == Lines{"never,not_dumped,0,0,9,net/_/"});
}

TEST_CASE("account: a role that was asked for and never given is told") {
  const std::string_view layers[] = {"pool1"};
  const ModelRule rules[] = {rule_of("net", layers)};
  const auto lines = [&](DumpMode mode, bool inputs, bool outputs) {
    AccountBench bench(config_of(rules, mode));
    bench.step({1}, inputs, outputs);
    return bench.end();
  };
  const std::string no_inputs = "never,no_inputs,0,0,9,net/MaxPool/pool1";
  const std::string no_outputs = "never,no_outputs,0,0,9,net/MaxPool/pool1";
  CHECK(lines(DumpMode::all, true, true).empty());
  CHECK(lines(DumpMode::all, false, true) == Lines{no_inputs});
  CHECK(lines(DumpMode::all, true, false) == Lines{no_outputs});
  CHECK(lines(DumpMode::all, false, false) == Lines{no_inputs, no_outputs});
  CHECK(lines(DumpMode::input, false, true) == Lines{no_inputs});
  CHECK(lines(DumpMode::output, false, true).empty());
}

TEST_CASE("account: of an operator that the model says has no inputs, none are missed") {
  const Tensors tensors;
  const OpDesc ops[] = {{.name = "data", .type = "Data"}};
  const CapturedTensors known[] = {{.outputs = {&tensors.output, 1}}};
  const ModelDesc model = {.name = "net", .ops = ops, .tensors = known};
  AccountBench bench(everything(), model);
  bench.step({0}, false);
  CHECK(bench.end().empty());
}

TEST_CASE("account: what was refused is lost, and so was seen") {
  AccountBench bench(everything());
  bench.step({0, 1});
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.refuse(2, Status::invalid_tensor) == Status::invalid_tensor);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  CHECK(bench.end().empty());
}

TEST_CASE("account: steps that the model did not come to are told") {
  constexpr StepRange kSteps[] = {{0, 0}, {1, 4}, {7, 7}};
  DumpConfig config = everything();
  config.steps = {kSteps};
  AccountBench bench(config);
  for (int step = 0; step < 3; ++step) bench.step({0, 1, 2});
  CHECK(bench.end() == Lines{"never,steps,3,4,9,net/_/", "never,steps,7,7,9,net/_/"});
}

TEST_CASE("account: steps that the runtime's count goes past are told, and none that it goes back to") {
  constexpr StepRange kSteps[] = {{0, 0}, {6, 7}, {9, 9}};
  DumpConfig config = everything();
  config.steps = {kSteps};
  const auto lines = [&](std::vector<std::uint64_t> counted) {
    AccountBench bench(config);
    for (const std::uint64_t step : counted) {
      bench.plan.next_step = step;
      bench.step({0, 1, 2});
    }
    return bench.end();
  };
  CHECK(lines({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).empty());
  CHECK(lines({0, 5, 6, 7, 9}).empty());
  CHECK(lines({5, 6, 7, 9}) == Lines{"never,skipped,0,0,9,net/_/"});
  CHECK(lines({0, 6, 8, 9}) == Lines{"never,skipped,7,7,9,net/_/"});
  CHECK(lines({0, 6, 7}) == Lines{"never,steps,9,9,9,net/_/"});
  CHECK(lines({0, 6, 7, 9, 0, 1}).empty());
  // From the first to the last of them: journals tell of those between, and `verify` knows which are there.
  CHECK(lines({5, 6, 7, 12}) ==
        Lines{"never,skipped,0,0,9,net/_/", "never,skipped,6,7,9,net/_/", "never,skipped,9,9,9,net/_/"});
}

TEST_CASE("account: kernel types, patterns and marks that no operator has are told") {
  const OpDesc ops[] = {{.name = "Default/conv-op1", .type = "Conv2D"},
                        {.name = "Default/relu-op2", .type = "ReLU"}};
  const ModelDesc model = {.name = "net", .ops = ops};
  const std::string_view types[] = {"relu", "nope"};
  const NameStep never_ends[] = {{NameStep::Kind::byte, 'z'}, {NameStep::Kind::match}};
  const NamePattern patterns[] = {{.text = "z", .steps = never_ends}};
  const ModelExtras listed = {.type_parts = types, .patterns = patterns};
  const ModelExtras marks = {.marked = true};
  const ModelRule rules[] = {
      {.any_model = true, .all_layers = false, .extras = &listed},
      {.any_model = true, .all_layers = false, .extras = &marks},
  };
  for (const bool indexed : {false, true}) {
    CAPTURE(indexed);
    Bench<> bench;
    REQUIRE(bench.session.init() == Status::ok);
    REQUIRE(bench.session.set_config(config_of(rules)) == Status::ok);
    const posix::OpIndexMemory index(ops);
    REQUIRE(bench.session.load_model(bench.plan, model, bench.bits, indexed ? index.index() : OpIndex()) ==
            Status::ok);
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    CHECK(bench.recorder.capture(1, {}, {&bench.tensors.output, 1}) == Status::ok);
    REQUIRE(bench.recorder.end_step() == Status::ok);
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(never_lines(bench.sink.journals.begin()->second) ==
          Lines{"never,no_type,0,0,0,_/_/nope", "never,no_match,0,0,0,_/_/z", "never,no_mark,0,0,0,_/_/"});
  }
}

TEST_CASE("account: operators outside models are told when none came under the config, or none can") {
  constexpr StepRange kSteps[] = {{0, 3}};
  const OpDesc single = {.name = "alone", .type = "Relu"};
  DumpConfig config = everything();
  config.models = {};
  config.single_ops = true;
  Bench<> bench;
  const auto lines = [&] {
    const Lines told = never_lines(bench.sink.journals.rbegin()->second);
    bench.sink.journals.clear();
    return told;
  };
  for (const bool runs : {true, false}) {
    REQUIRE(bench.session.init() == Status::ok);
    REQUIRE(bench.session.set_config(config) == Status::ok);
    if (runs) CHECK(bench.recorder.capture_single_op(single, {}, {&bench.tensors.output, 1}) == Status::ok);
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(lines() == (runs ? Lines{} : Lines{"never,no_single_op,0,0,0,_/_/"}));
  }
  config.steps = {kSteps};
  REQUIRE(bench.session.init() == Status::ok);
  REQUIRE(bench.session.set_config(config) == Status::ok);
  CHECK(bench.recorder.capture_single_op(single, {}, {&bench.tensors.output, 1}) == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(lines() == Lines{"never,no_single_op,0,0,0,_/_/"});
}

TEST_CASE("account: what a blacklist names and no operator has is told") {
  constexpr TensorPosition kFirst[] = {{.output = true, .index = 0}};
  const TensorExclusion exclusions[] = {{.name = "pool1", .positions = kFirst},
                                        {.name = "POOL1", .positions = kFirst},
                                        {.by_type = true, .name = "MatMul", .positions = kFirst},
                                        {.by_type = true, .name = "pool1", .positions = kFirst}};
  const ModelExtras extras = {.exclusions = exclusions};
  for (const std::string_view name : {"net", ""}) {
    for (const bool indexed : {false, true}) {
      CAPTURE(name);
      CAPTURE(indexed);
      const ModelRule rules[] = {{.model_name = name, .any_model = name.empty(), .extras = &extras}};
      Bench<> bench;
      REQUIRE(bench.session.init() == Status::ok);
      REQUIRE(bench.session.set_config(config_of(rules)) == Status::ok);
      const posix::OpIndexMemory index(kModel.ops);
      REQUIRE(bench.session.load_model(bench.plan, kModel, bench.bits, indexed ? index.index() : OpIndex()) ==
              Status::ok);
      bench.step();
      REQUIRE(bench.session.finalize() == Status::ok);
      const std::string model = name.empty() ? "0,_/_/" : "9,net/_/";
      CHECK(never_lines(bench.sink.journals.begin()->second) ==
            Lines{"never,no_excluded_op,0,0," + model + "POOL1",
                  "never,no_excluded_type,0,0," + model + "pool1"});
    }
  }
}

TEST_CASE("account: what dump_level leaves out though the config lists it is told") {
  const OpDesc ops[] = {{.name = "model/a", .level = OpLevel::op}, {.name = "b", .level = OpLevel::kernel}};
  const std::string_view layers[] = {"model_a", "b"};
  const auto lines = [&](std::string_view name, bool list, bool indexed, DumpLevel level, std::size_t count) {
    const ModelRule rules[] = {rule_of(name, {layers, list ? 2u : 0u})};
    DumpConfig config = config_of(rules);
    config.level = level;
    const ModelDesc loaded = {.name = "net", .id = 9, .ops = {ops, count}};
    Bench<> bench;
    REQUIRE(bench.session.init() == Status::ok);
    REQUIRE(bench.session.set_config(config) == Status::ok);
    const posix::OpIndexMemory index(loaded.ops);
    REQUIRE(bench.session.load_model(bench.plan, loaded, bench.bits, indexed ? index.index() : OpIndex()) ==
            Status::ok);
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    for (std::size_t op = 0; op < count; ++op)
      CHECK(bench.recorder.capture(op, {}, {&bench.tensors.output, 1}) == Status::ok);
    REQUIRE(bench.recorder.end_step() == Status::ok);
    REQUIRE(bench.session.finalize() == Status::ok);
    return never_lines(bench.sink.journals.begin()->second);
  };
  for (const std::string_view name : {"net", ""}) {
    for (const bool indexed : {false, true}) {
      CAPTURE(name);
      CAPTURE(indexed);
      CHECK(lines(name, true, indexed, DumpLevel::all, 2).empty());
      CHECK(lines(name, true, indexed, DumpLevel::kernel, 2) == Lines{"never,level,0,0,9,net/_/model_a"});
      CHECK(lines(name, true, indexed, DumpLevel::op, 2) == Lines{"never,level,0,0,9,net/_/b"});
      CHECK(lines(name, false, indexed, DumpLevel::kernel, 2).empty());
      CHECK(lines(name, false, indexed, DumpLevel::kernel, 1) == Lines{"never,level,0,0,9,net/_/"});
    }
  }
}

TEST_CASE("account: names behind the 256th are told only when no model has all of them") {
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) texts.push_back("op" + std::to_string(i));
  std::vector<OpDesc> ops;
  for (const std::string& text : texts) ops.push_back({.name = text});
  const ModelDesc whole = {.name = "net", .ops = ops};
  const ModelDesc part = {.name = "net", .ops = {ops.data(), 280}};
  const std::vector<std::string_view> layers(texts.begin(), texts.end());
  const ModelRule rules[] = {rule_of("", layers)};
  const auto unmet = [&](std::vector<const ModelDesc*> models) {
    AskedNames asked;
    for (const ModelDesc* const model : models) asked.meet(config_of(rules), *model);
    Lines told;
    asked.for_each_unmet(config_of(rules), [&](const NeverCaptured& what) {
      told.push_back(std::string(kind_of(what.cause).word) + ' ' + std::string(what.name));
    });
    return told;
  };
  CHECK(unmet({&whole}).empty());
  CHECK(unmet({&part, &whole, &part}).empty());
  CHECK(unmet({&part}) == Lines{"uncounted op280"});
}

TEST_CASE("account: each config tells its own when another one comes") {
  const std::string_view layers[] = {"pool1", "gone"};
  const ModelRule first[] = {rule_of("", layers)};
  const ModelRule second[] = {rule_of("net", {})};
  AccountBench bench(config_of(first));
  bench.step({1});
  REQUIRE(bench.session.set_config(config_of(second)) == Status::ok);
  REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
  REQUIRE(bench.session.load_model(bench.plan, kModel, bench.bits) == Status::ok);
  bench.step({0, 1, 2});
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.sink.journals.size() == 2);
  const auto& journals = bench.sink.journals;
  CHECK(never_lines(journals.begin()->second) == Lines{"never,no_op,0,0,0,_/_/gone"});
  CHECK(never_lines(journals.rbegin()->second).empty());
}

TEST_CASE("account: overflow dumps ask for what goes wrong, and miss nothing") {
  DumpConfig config = everything();
  config.overflow = true;
  AccountBench bench(config);
  bench.step({0});
  CHECK(bench.end().empty());
}

TEST_CASE("account: a drain thread writes the lines of what is loaded and unloaded meanwhile") {
  const std::string_view layers[] = {"pool1", "gone", "fc"};
  const ModelRule rules[] = {rule_of("net", layers)};
  Bench<> bench(WhenFull::drop, 2'000'000'000);
  REQUIRE(bench.session.init() == Status::ok);
  REQUIRE(bench.session.set_config(config_of(rules)) == Status::ok);
  REQUIRE(bench.session.attach_drainer() == Status::ok);
  std::atomic<bool> stop{false};
  std::thread drainer([&] {
    while (!stop) {
      static_cast<void>(bench.session.drain_some(4096));
      std::this_thread::yield();
    }
  });
  for (int turn = 0; turn < 20; ++turn) {
    REQUIRE(bench.session.load_model(bench.plan, kModel, bench.bits) == Status::ok);
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    CHECK(bench.recorder.capture(1, {}, {&bench.tensors.output, 1}) == Status::ok);
    REQUIRE(bench.recorder.end_step() == Status::ok);
    REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
  }
  stop = true;
  drainer.join();
  bench.session.detach_drainer();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(never_lines(bench.sink.journals.begin()->second).size() == 40);
}

TEST_CASE("account: the log tells it in words") {
  std::vector<std::string> said;
  TextLog log(&add_line, &said);
  log.never_captured({.cause = NeverCause::no_op, .model = "net", .name = "conv9"});
  log.never_captured({.cause = NeverCause::steps, .model = "net", .steps = {3, 4}});
  log.never_captured({});
  log.never_captured({.cause = NeverCause::no_match, .name = "name-regex(z)"});
  log.never_captured({.cause = NeverCause::no_mark});
  CHECK(said ==
        Lines{"never captured: operator \"conv9\" of model \"net\": the model has no operator of that name",
              "never captured: steps 3 to 4 of model \"net\": the model did not come to them",
              "never captured: all that is asked for: no such model was loaded under the config, which only "
              "those see that are loaded after it",
              "never captured: pattern \"name-regex(z)\": no operator's name matches it",
              "never captured: marked operators: the program has marked no operator"});
}

TEST_CASE("account: of a model that is loaded again, the log says in which loading something is missing") {
  std::vector<std::string> said;
  TextLog log(
      [](void* to, std::string_view line) {
        if (line.starts_with("never")) add_line(to, line);
      },
      &said);
  Bench<> bench(WhenFull::inline_drain, 50, JournalDetail::records, &log);
  constexpr StepRange kSteps[] = {{0, 1}};
  DumpConfig config = everything();
  config.steps = {kSteps};
  bench.start(config);
  bench.step();
  REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
  CHECK(said ==
        Lines{"never captured: steps 1 to 1 of model \"net\" in loading 1: the model did not come to them"});
  REQUIRE(bench.session.load_model(bench.plan, kModel, bench.bits) == Status::ok);
  bench.step();
  bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(said.size() == 1);
}

TEST_CASE("account: each fault of a tensor has a cause of its own in the journal") {
  const Dim negative[] = {4, static_cast<Dim>(-1)};
  const Dim many[33] = {};
  AccountBench bench(everything());
  const auto capture = [&](auto spoil) {
    TensorView tensor = bench.tensors.input;
    spoil(tensor);
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    const Status status = bench.recorder.capture(0, {&tensor, 1}, {});
    REQUIRE(bench.recorder.end_step() == Status::ok);
    return status;
  };
  const std::pair<Status, std::string_view> all[] = {
      {capture([](TensorView& tensor) { tensor.bytes = 63; }),
       "holds fewer bytes than its shape and dtype need"},
      {capture([](TensorView& tensor) { tensor.dtype = DType::undefined; }),
       "has no dtype or one that is none"},
      {capture([&](TensorView& tensor) { tensor.shape = negative; }), "has a negative dim"},
      {capture([&](TensorView& tensor) { tensor.shape = many; }), "has too many dims"},
  };
  static_cast<void>(bench.end());
  const std::string& journal = bench.sink.journals.begin()->second;
  for (const auto& fault : all) {
    const std::string_view told = to_string(fault.first);
    CAPTURE(fault.second);
    CHECK(told.find(fault.second) != std::string_view::npos);
    CHECK(journal.find(",invalid:" + std::string(told) + ",") != std::string::npos);
  }
  CHECK(bench.session.counts().invalid == 4);
  for (int code = 0; code < 256; ++code)
    CHECK(to_string(static_cast<Status>(code)).find(',') == std::string_view::npos);
}

TEST_CASE("account: a tensor that makes no sense is lost, and told once per operator with the numbers") {
  std::vector<std::string> said;
  TextLog log(
      [](void* to, std::string_view line) {
        if (line.starts_with("lost") || line.starts_with("doubt")) add_line(to, line);
      },
      &said);
  FakeMemory memory;
  FakeSink sink;
  FakeClock clock;
  alignas(8) std::byte ring[4096];
  std::byte scratch[1024];
  BasicSession<FakeMemory> session({.memory = memory,
                                    .sink = sink,
                                    .clock = clock,
                                    .scratch = scratch,
                                    .when_full = WhenFull::inline_drain,
                                    .log = &log});
  BasicRecorder<FakeMemory>& recorder = *session.add_recorder(ring).value();
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config(everything()) == Status::ok);
  ModelPlanFor<3> plan;
  REQUIRE(session.load_model(plan, kModel) == Status::ok);
  Tensors tensors;
  const auto capture = [&](std::size_t op, TensorView input, TensorView output) {
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    const Status status = recorder.capture(op, {&input, 1}, {&output, 1});
    REQUIRE(recorder.end_step() == Status::ok);
    return status;
  };
  TensorView few = tensors.output;
  few.bytes = 63;
  CHECK(capture(0, tensors.input, few) == Status::invalid_tensor);
  CHECK(capture(0, tensors.input, few) == Status::invalid_tensor);
  CHECK(said ==
        Lines{"lost: output 0 of operator \"conv1_relu1\" of model \"net\" at step 0: 63 bytes given, "
              "float32 [4,4] takes 64"});
  said.clear();
  CHECK(capture(0, tensors.input, tensors.output) == Status::ok);

  TensorView untyped = tensors.input;
  untyped.dtype = DType::undefined;
  CHECK(capture(1, untyped, tensors.output) == Status::unknown_dtype);
  CHECK(
      said ==
      Lines{"lost: input 0 of operator \"pool1\" of model \"net\" at step 3: 64 bytes given, and no dtype"});
  said.clear();
  untyped.bytes = 0;
  const Dim none = 0;
  untyped.shape = {&none, 1};
  CHECK(capture(1, untyped, tensors.output) == Status::ok);

  const Dim negative[] = {4, static_cast<Dim>(-1)};
  TensorView unsized = tensors.input;
  unsized.shape = negative;
  CHECK(capture(2, unsized, tensors.output) == Status::uncountable_shape);
  CHECK(
      said ==
      Lines{"lost: input 0 of operator \"fc\" of model \"net\" at step 5: 64 bytes given, float32 [4,-1] has "
            "no size"});
  CHECK(session.counts().invalid == 4);
  REQUIRE(session.unload_model(plan) == Status::ok);

  // Each loading tells anew, and a tensor that says less than it holds is told of, and captured.
  said.clear();
  REQUIRE(session.load_model(plan, kModel) == Status::ok);
  CHECK(capture(0, tensors.input, few) == Status::invalid_tensor);
  CHECK(said.size() == 1);
  said.clear();
  TensorView shapeless = tensors.output;
  shapeless.bytes = 16;
  shapeless.shape = {};
  CHECK(capture(1, tensors.input, shapeless) == Status::ok);
  CHECK(capture(1, tensors.input, shapeless) == Status::ok);
  CHECK(
      said ==
      Lines{"doubtful: output 0 of operator \"pool1\" of model \"net\" at step 1: 16 bytes given, float32 [] "
            "takes 4; all are captured: is a shape missing, or the dtype another?"});
  said.clear();
  const OpDesc single = {.name = "alone", .type = "Relu"};
  CHECK(session.finalize() == Status::ok);
  DumpConfig singles = everything();
  singles.single_ops = true;
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config(singles) == Status::ok);
  for (int i = 0; i < 2; ++i)
    CHECK(recorder.capture_single_op(single, {&few, 1}, {}) == Status::invalid_tensor);
  CHECK(said.size() == 1);
  CHECK(session.counts().invalid == 7);
}
