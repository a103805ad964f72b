#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "opdump/attach.hpp"
#include "tests/support/attach_run.hpp"

using namespace opdump;
using namespace opdump::tests;
using attach::Tensors;

namespace {

using Named = std::vector<std::string>;

/// Steps of a model with a and b; b is given `low` at step 3.
template <class EachStep>
void run_ops(attach::Model& model, const EachStep& each) {
  const float low = 1;
  const float high = 9;
  for (int i = 0; i < 6; ++i) {
    const auto step = model.step();
    const float& value = i == 3 ? low : high;
    for (std::uint32_t op = 0; op < 2; ++op) {
      if (!model.wants(op)) continue;
      Tensors input, output;
      input.add(&value, OPDUMP_FLOAT32, {1});
      output.add(&high, OPDUMP_FLOAT32, {1});
      model.capture(op, input, output);
    }
    each(i);
  }
}

std::string history(const std::string& trigger, const std::string& more = "") {
  return R"("when_full": "block", "block_limit_ms": 60000, "model_card": "off", "history_steps": 2, "trigger": [)" +
         trigger + "]" + more;
}

/// Eight steps of a model with a, which makes the two values of each step, and b.
void run_values(attach::Dump& dump, const std::vector<std::pair<float, float>>& values) {
  attach::Model model(dump, "net");
  for (const char* name : {"a", "b"}) model.add_op(name, "Relu");
  for (const auto& [first, second] : values) {
    const auto step = model.step();
    const float both[] = {first, second};
    Tensors output;
    output.add(both, OPDUMP_FLOAT32, {2});
    for (std::uint32_t op = 0; op < 2; ++op) {
      if (model.wants(op)) model.capture(op, {}, output);
    }
  }
}

/// The steps of the journal's firings.
std::vector<int> fired(const AttachRun& run) {
  std::vector<int> steps;
  const std::string journal = run.journal();
  for (std::size_t at = journal.find("\nfired,"); at != journal.npos; at = journal.find("\nfired,", at + 1)) {
    std::size_t field = at;
    for (int commas = 0; commas < 3; ++commas) field = journal.find(',', field) + 1;
    steps.push_back(std::stoi(journal.substr(field)));
  }
  return steps;
}

constexpr char kOnlyA[] = R"("dump_list": [{"model_name": "net", "layer": ["a"]}])";

}  // namespace

TEST_CASE("attach: a trigger looks at a tensor that is not dumped") {
  AttachRun asked(kOnlyA, history(R"({"op": "b", "input": 0, "stat": "max", "below": 5})"));
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net");
  for (const char* name : {"a", "b"}) model.add_op(name, "Relu");
  CHECK(model.wanted_ops() == std::vector<std::uint32_t>{0, 1});
  run_ops(model, [](int) {});
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(keys(asked.records()) == Named{"2/Relu.a", "3/Relu.a"});
  CHECK(asked.journal().find("\nfired,0,max,3,1,<5,") != std::string::npos);
}

TEST_CASE("attach: a trigger looks at each operator of models with thousands of them") {
  AttachRun asked(R"("dump_list": [{}])",
                  history(R"({"op": "*", "stat": "max", "above": 5})", R"(, "history_bytes": 8000000)"));
  attach::Dump dump(asked.config().c_str(), asked.options());
  constexpr std::uint32_t kOps = 2500;
  attach::Model model(dump, "net", 1);
  attach::DynamicModel dynamic(dump, "dynamic", 2);
  for (std::uint32_t op = 0; op < kOps; ++op) model.add_op("op" + std::to_string(op), "Relu");
  const float low = 1, high = 9;
  {
    const auto step = model.step();
    for (std::uint32_t op = 0; op < kOps; ++op)
      model.capture(op, {}, Tensors().add(op == kOps - 1 ? &high : &low, OPDUMP_FLOAT32, {1}));
    model.capture(7, {}, Tensors().add(&high, OPDUMP_FLOAT32, {1}));
  }
  {
    const auto step = dynamic.step();
    for (std::uint32_t i = 0; i < kOps; ++i) {
      const std::uint32_t op = dynamic.see("op" + std::to_string(i), "Relu");
      dynamic.capture(op, {}, Tensors().add(i == kOps - 2 ? &high : &low, OPDUMP_FLOAT32, {1}));
    }
  }
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(dump.counts().failed_calls == 0);
  CHECK(asked.journal().find(",1,net/Relu.op2499\n") != std::string::npos);
  CHECK(asked.journal().find(",1,net/Relu.op7\n") != std::string::npos);
  CHECK(asked.journal().find(",2,dynamic/Relu.op2498\n") != std::string::npos);
  CHECK(fired(asked).size() == 3);
}

TEST_CASE("attach: the latency of a step is that from its begin to its end") {
  AttachRun asked(kOnlyA, history(R"({"stat": "latency_us", "above": 20000})"));
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net");
  for (const char* name : {"a", "b"}) model.add_op(name, "Relu");
  run_ops(model, [](int step) {
    if (step == 4) usleep(25000);
  });
  CHECK(dump.stop() == OPDUMP_OK);
  // A machine that is busy may be late at others too.
  CHECK(asked.records().count("3/Relu.a") == 1);
  CHECK(asked.records().count("4/Relu.a") == 1);
  CHECK(asked.journal().find("\nfired,0,latency_us,4,") != std::string::npos);
  CHECK(asked.journal().find("\ntrigger,0,latency_us,") != std::string::npos);
}

TEST_CASE("attach: a program fires by a call") {
  AttachRun asked(kOnlyA, history(R"({"call": "door"})"));
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net");
  for (const char* name : {"a", "b"}) model.add_op(name, "Relu");
  run_ops(model, [&](int step) {
    if (step == 2) CHECK(dump.fire("door") == OPDUMP_OK);
  });
  CHECK(asked.told("trigger 0 never fires but where the program calls opdump_attach_fire(\"door\")\n") == 1);
  CHECK(dump.fire("window") == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_attach_fire(dump.handle(), nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_attach_fire(nullptr, "door") == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(dump.fire("door") == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(keys(asked.records()) == Named{"1/Relu.a", "2/Relu.a"});
  CHECK(asked.told("the call \"window\", which no trigger has") == 1);
}

TEST_CASE("attach: each cause at a tensor fires at its steps, and for, cooldown and limits hold back") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kMax = std::numeric_limits<float>::max();
  struct Case {
    const char* trigger;
    std::vector<int> steps;
    const char* counts;
    const char* limits = "";
  };
  // Steps 1, 4, 5 and 6 are odd in their own way, and so is what follows them.
  const std::vector<std::pair<float, float>> values = {{1, 2},    {kNan, 2},     {1, 2}, {1, 2},
                                                       {kInf, 2}, {-kMax, kMax}, {9, 9}, {1, 2}};
  const Case cases[] = {
      {R"({"op": "a", "stat": "nan"})", {1}, "nan,1,0,0,0,0,0,0,8"},
      {R"({"op": "a", "stat": "inf"})", {4}, "inf,1,0,0,0,0,0,0,8"},
      {R"({"op": "a", "stat": "saturated", "above": 0.25})", {4, 5}, "saturated,2,0,0,0,0,0,0,8"},
      {R"({"op": "a", "stat": "saturated", "above": 0.5})", {5}, "saturated,1,0,0,0,0,0,0,8"},
      {R"({"op": "a", "stat": "change"})", {1, 2, 4, 5, 6, 7}, "change,6,0,0,0,0,0,0,8"},
      {R"({"op": "a", "stat": "change", "for": 2})", {2, 5, 6, 7}, "change,4,0,0,0,0,0,0,8"},
      {R"({"op": "a", "stat": "max", "above": 8, "for": 3})", {6}, "max,1,0,0,0,0,0,0,8"},
      {R"({"op": "a", "stat": "change", "cooldown_s": 3600})", {1}, "change,1,5,0,0,0,0,0,8"},
      {R"({"op": "a", "stat": "change"})", {1, 2}, "change,2,0,4,0,0,0,0,8", R"({"firings_per_boot": 2})"},
      {R"({"op": "a", "stat": "change"})", {}, "change,0,0,0,6,0,0,0,8", R"({"bytes_per_boot": 10})"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.trigger);
    const std::string limits = *one.limits == '\0' ? "" : R"(, "trigger_limits": )" + std::string(one.limits);
    AttachRun asked(R"("dump_list": [{}])", history(one.trigger, limits));
    attach::Dump dump(asked.config().c_str(), asked.options());
    REQUIRE(dump.is_on());
    run_values(dump, values);
    CHECK(dump.stop() == OPDUMP_OK);
    CHECK(fired(asked) == one.steps);
    CHECK(asked.journal().find("\ntrigger,0," + std::string(one.counts) + "\n") != std::string::npos);
    for (const int step : one.steps) CHECK(asked.records().count(std::to_string(step) + "/Relu.a") == 1);
  }
}

TEST_CASE("attach: the failure of an operator fires at it, and at no other") {
  struct Case {
    const char* trigger;
    std::uint32_t failing;
    bool fires;
    const char* where;
  };
  const Case cases[] = {
      {R"({"op": "b", "stat": "failure"})", 1, true, "net/Relu.b"},
      {R"({"op": "b", "stat": "failure"})", 0, false, ""},
      {R"({"op": "b", "stat": "failure"})", OPDUMP_NO_OP, false, ""},
      {R"({"stat": "failure"})", 0, true, "net"},
      {R"({"stat": "failure"})", OPDUMP_NO_OP, true, "net"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.trigger);
    AttachRun asked(kOnlyA, history(one.trigger));
    attach::Dump dump(asked.config().c_str(), asked.options());
    CHECK(asked.told("trigger 0 never fires but where the program calls opdump_attach_fail\n") == 1);
    attach::Model model(dump, "net");
    for (const char* name : {"a", "b"}) model.add_op(name, "Relu");
    CHECK(model.fail(0) == OPDUMP_ERR_STEP_NOT_OPEN);
    run_ops(model, [&](int step) {
      if (step == 2) CHECK(model.fail(one.failing) == OPDUMP_OK);
    });
    CHECK(dump.stop() == OPDUMP_OK);
    CHECK(model.fail(one.failing) == OPDUMP_OK);
    CHECK(keys(asked.records()) == (one.fires ? Named{"1/Relu.a", "2/Relu.a"} : Named{}));
    const std::string line = "\nfired,0,failure,2,,,0," + std::string(one.where) + "\n";
    CHECK((asked.journal().find(line) != std::string::npos) == one.fires);
  }
  CHECK(opdump_attach_fail(nullptr, 0, nullptr, 0, nullptr, 0) == OPDUMP_ERR_INVALID_ARGUMENT);
}

TEST_CASE(
    "attach: a failure counts although its tensors or its operator are none, and outside of wanted steps "
    "not") {
  AttachRun asked(R"("dump_step": "1-3", "dump_list": [{}])", history(R"({"op": "b", "stat": "failure"})"));
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net");
  for (const char* name : {"a", "b"}) model.add_op(name, "Relu");
  // Of no size that this library knows.
  const opdump_attach_tensor broken{};
  run_ops(model, [&](int step) {
    if (step == 0) CHECK(model.fail(1) == OPDUMP_OK);
    if (step == 1) CHECK(model.fail(7) == OPDUMP_ERR_NO_SUCH_OP);
    if (step == 2) CHECK(opdump_attach_fail(model.handle(), 1, &broken, 1, nullptr, 0) != OPDUMP_OK);
    if (step == 5) CHECK(model.fail(1) == OPDUMP_OK);
  });
  static_cast<void>(dump.stop());
  CHECK(fired(asked) == std::vector<int>{2});
  CHECK(asked.told("the failure of \"b\" of model \"net\"") == 1);
  CHECK(asked.told("the failure of operator 7 of the 2 of model \"net\"") == 1);
}

TEST_CASE("attach: the failure and the latency of a model of which nothing is dumped fire too") {
  for (const char* trigger : {R"({"stat": "failure"})", R"({"stat": "latency_us", "above": 500})"}) {
    CAPTURE(trigger);
    AttachRun asked(R"("dump_list": [{"model_name": "other"}])", history(trigger));
    attach::Dump dump(asked.config().c_str(), asked.options());
    attach::Model other(dump, "other");
    attach::Model model(dump, "net");
    for (attach::Model* const each : {&other, &model}) each->add_op("a", "Relu");
    const float value = 1;
    Tensors output;
    output.add(&value, OPDUMP_FLOAT32, {1});
    {
      const auto step = other.step();
      other.capture(0, {}, output);
    }
    {
      const auto step = model.step();
      CHECK_FALSE(model.wants(0));
      usleep(1000);
      CHECK(model.fail(0) == OPDUMP_OK);
    }
    CHECK(dump.stop() == OPDUMP_OK);
    CHECK(asked.journal().find(",0,net\n") != std::string::npos);
    CHECK(keys(asked.records()) == Named{"0/Relu.a"});
  }
}

TEST_CASE("attach: an exception dump has the operator that failed, with its tensors") {
  AttachRun asked(R"("dump_scene": "aic_err_norm_dump")",
                  R"("when_full": "block", "block_limit_ms": 60000, "model_card": "off")");
  attach::Dump dump(asked.config().c_str(), asked.options());
  REQUIRE(dump.is_on());
  attach::Model model(dump, "net");
  for (const char* name : {"a", "b"}) model.add_op(name, "Relu");
  const std::vector<float> value = {7};
  Tensors input;
  input.add(value.data(), OPDUMP_FLOAT32, {1});
  run_ops(model, [&](int step) {
    if (step == 2) CHECK(model.fail(1, input) == OPDUMP_OK);
  });
  CHECK(dump.stop() == OPDUMP_OK);
  const auto records = asked.records();
  REQUIRE(records.size() == 1);
  CHECK(records.begin()->first.find("Relu.b") != std::string::npos);
  CHECK(ends_with(records.begin()->second, value));
}
