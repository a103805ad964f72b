#include <doctest/doctest.h>

#include <array>
#include <memory>

#include "platform/runtimes/executorch/executorch_tap.hpp"
#include "tests/runtimes/declared/dumped.hpp"
#include "tests/support/attach_run.hpp"

using namespace opdump::tests;  // opdump has an executorch of its own
namespace attach = opdump::attach;
using namespace executorch::runtime;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using Records = std::map<std::string, std::string>;

namespace {

/// add.out; topk.values with two outputs, one transposed; a delegate, which logs an input, an output and a
/// number, and of its inside a tensor and a scalar; in a second chain another add.out.
struct Network {
  Network() {
    const Tensor sum(values.data(), ScalarType::Float, {2, 2}, {2, 1}, 4);
    const Tensor turned(values.data(), ScalarType::Float, {2, 2}, {1, 2}, 4);
    const Tensor index(&best, ScalarType::Long, {}, {}, 8);
    const auto add = [this](EventTracer&) {
      for (float& value : values) value += 1;
      return works;
    };
    method.chains = {{{"add.out", add, {sum}},
                      {"topk.values", [this](EventTracer&) { return best = 3, true; }, {turned, index}},
                      {"",
                       [=](EventTracer& tracer) { return inside(tracer, sum); },
                       {std::vector<Tensor>{sum}, index, std::int64_t{7}}}},
                     {{"add.out", add, {sum}}}};
  }

  static bool inside(EventTracer& tracer, const Tensor& sum) {
    tracer.log_intermediate_output_delegate("conv", -1, sum);
    tracer.log_intermediate_output_delegate(nullptr, 5, 42);
    return true;
  }

  std::array<float, 4> values{};
  std::int64_t best = 0;
  bool works = true;
  Method method;
};

}  // namespace

TEST_CASE("executorch: outputs of kernels, arguments of delegates and what these log of their inside") {
  AttachRun asked(R"("dump_mode": "all", "dump_step": "1", "dump_list": [{"model_name": "net"}])");
  Network network;
  {
    attach::Dump dump(asked.config().c_str(), asked.options());
    const std::unique_ptr<EventTracer> tracer = std::make_unique<opdump::executorch::Tap>(dump, "net");
    for (int i = 0; i < 3; ++i) {
      network.values = {0, 1, 2, static_cast<float>(10 * i)};
      CHECK(network.method.execute(*tracer));
    }
    CHECK(dump.counts().failed_calls == 0);
  }
  CHECK(told(asked.records()) ==
        Records{{"1/add_out.add_out_0", "out0 float32[2,2] 1 2 3 11"},
                {"1/topk_values.topk_values_1", "out0 float32[2,2] 1 3 2 11; out1 int64[] 3"},
                {"1/DELEGATE_OUTPUT.conv", "out0 float32[2,2] 1 2 3 11"},
                {"1/DELEGATE_OUTPUT.DELEGATE_CALL_2_5", "out0 int32[] 42"},
                {"1/DELEGATE_CALL.DELEGATE_CALL_2", "out0 float32[2,2] 1 2 3 11; out1 int64[] 3"},
                {"1/add_out.add_out_1_0", "out0 float32[2,2] 2 3 4 12"}});
}

TEST_CASE("executorch: a step that fails ends with the next one, names and steps of the config are obeyed") {
  AttachRun asked(R"("dump_step": "1-2", "dump_list": [{"model_name": "net", "layer": ["add.out_1_0"]}])");
  Network network;
  {
    attach::Dump dump(asked.config().c_str(), asked.options());
    opdump::executorch::Tap tap(dump, "net");
    network.method.execute(tap);
    network.works = false;
    CHECK(!network.method.execute(tap));
    network.works = true;
    network.method.execute(tap);
    const attach::Step none_is_open = tap.step();
    CHECK(dump.counts().failed_calls == 0);
  }
  CHECK(told(asked.records()) == Records{{"2/add_out.add_out_1_0", "out0 float32[2,2] 5 5 5 5"}});
}

TEST_CASE("executorch: a dump that is off makes the runtime log nothing") {
  AttachRun asked;
  Network network;
  attach::Dump dump(attach::Dump::later, asked.options());
  opdump::executorch::Tap tap(dump, "net");
  CHECK(network.method.execute(tap));
  CHECK(tap.event_tracer_debug_level() == EventTracerDebugLogLevel::kNoLogging);
  CHECK(asked.records().empty());
}

TEST_CASE("executorch: dtypes") {
  CHECK(opdump::executorch::dtype_of(ScalarType::Half) == OPDUMP_FLOAT16);
  CHECK(opdump::executorch::dtype_of(ScalarType::UInt64) == OPDUMP_UINT64);
  CHECK(opdump::executorch::dtype_of(static_cast<ScalarType>(24)) == OPDUMP_FLOAT8_E4M3FN);
  CHECK(opdump::executorch::dtype_of(static_cast<ScalarType>(-1)) == OPDUMP_UNDEFINED);
}
