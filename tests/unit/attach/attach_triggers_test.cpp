#include <doctest/doctest.h>
#include <unistd.h>

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

std::string history(const std::string& trigger) {
  return R"("when_full": "block", "model_card": "off", "history_steps": 2, "trigger": [)" + trigger + "]";
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
  CHECK(dump.fire("window") == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_attach_fire(dump.handle(), nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_attach_fire(nullptr, "door") == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(dump.fire("door") == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(keys(asked.records()) == Named{"1/Relu.a", "2/Relu.a"});
  CHECK(asked.told("the call \"window\", which no trigger has") == 1);
}
