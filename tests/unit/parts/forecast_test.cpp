#include "opdump/parts/forecast.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "opdump/impl/plan/resolve_plan.hpp"
#include "opdump/parts/text_log.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

std::string text_of(const Forecast& forecast, std::uint64_t partition_bytes = 0) {
  char memory[kMaxForecastText];
  TextWriter text(memory);
  CHECK_FALSE(add_forecast(text, forecast, partition_bytes).overflowed());
  return std::string(text.text());
}

std::string bytes_text(std::uint64_t bytes) {
  char memory[32];
  TextWriter text(memory);
  return std::string(forecast::add_bytes(text, bytes).text());
}

/// kModel with tensors as `Bench::step` captures them.
struct SizedModel {
  explicit SizedModel(const Tensors& tensors)
      : ops(kModel.ops.size(), CapturedTensors{{&tensors.input, 1}, {&tensors.output, 1}}), desc(kModel) {
    desc.tensors = ops;
  }
  std::vector<CapturedTensors> ops;
  ModelDesc desc;
};

struct Step {
  Forecast forecast;
  std::uint64_t written = 0;
};

Step one_step(const DumpConfig& config) {
  Bench<> bench;
  const SizedModel model(bench.tensors);
  bench.start(config, model.desc);
  const Forecast forecast = forecast_of(config, bench.plan);
  bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.session.counts().lost() == 0);
  std::uint64_t written = 0;
  for (const auto& [name, bytes] : bench.sink.objects) written += bytes.size();
  for (const auto& [name, text] : bench.sink.journals) written += name.ends_with(".csv") ? text.size() : 0;
  return {forecast, written};
}

}  // namespace

TEST_CASE("forecast: says what the sink then gets, to the byte where there are only tensors") {
  const std::string_view pool[] = {"pool1"};
  const ModelRule rules[] = {{.any_model = true, .all_layers = false, .layers = pool}};
  for (const FileFormat format : {FileFormat::nano, FileFormat::protobuf, FileFormat::npy}) {
    for (const Layout layout : {Layout::cann, Layout::mindspore_kernel, Layout::mindspore_graph}) {
      for (const DumpMode mode : {DumpMode::input, DumpMode::output, DumpMode::all}) {
        for (const bool all : {true, false}) {
          DumpConfig config = everything();
          config.form.file_format = format;
          config.form.layout = layout;
          config.mode = mode;
          config.net_name = "net";
          if (!all) config.models = rules;
          const Step step = one_step(config);
          CHECK(step.forecast.matched == (all ? 3 : 1));
          CHECK(step.forecast.bytes_per_step == step.written);
        }
      }
    }
  }
}

TEST_CASE("forecast: of MindSpore Lite's layout, the tensors alone") {
  DumpConfig config = everything();
  config.form.file_format = FileFormat::bin;
  config.form.layout = Layout::mindspore_lite;
  const Step step = one_step(config);
  CHECK(step.written == 6 * 64);
  CHECK(step.forecast.bytes_per_step == step.written);
}

TEST_CASE("forecast: counts samples, and statistics about right") {
  for (const Layout layout : {Layout::cann, Layout::mindspore_kernel}) {
    for (const DumpData data : {DumpData::statistics, DumpData::full}) {
      for (const FileFormat format : {FileFormat::nano, FileFormat::npy}) {
        DumpConfig config = everything();
        config.form.layout = layout;
        config.form.file_format = format;
        config.form.data = data;
        config.net_name = "net";
        const Step step = one_step(config);
        CAPTURE(step.written);
        CHECK(step.forecast.bytes_per_step > step.written * 8 / 10);
        CHECK(step.forecast.bytes_per_step < step.written * 12 / 10);
      }
    }
  }
  DumpConfig config = everything();
  config.form.file_format = FileFormat::npy;
  config.form.layout = Layout::mindspore_kernel;
  config.sample_number = 5;
  const Step sampled = one_step(config);
  CHECK(sampled.forecast.bytes_per_step == sampled.written);
  CHECK(sampled.written == 6 * (128 + 20));
}

TEST_CASE("forecast: in words") {
  Forecast forecast = {.rules = 3, .ops = 214, .matched = 41, .bytes_per_step = 1'900'000};
  CHECK(text_of(forecast) == "3 rules, 41 of 214 ops match, about 1.9 MB per step");
  CHECK(text_of(forecast, 23'000'000) ==
        "3 rules, 41 of 214 ops match, about 1.9 MB per step; the partition lasts 12 steps");
  CHECK(text_of(forecast, 1'900'000).ends_with("lasts 1 step"));
  CHECK(text_of(forecast, 1'899'999).ends_with("lasts 0 steps"));
  forecast += {.rules = 3, .ops = 1, .matched = 1, .bytes_per_step = 100'000};
  CHECK(text_of(forecast) == "3 rules, 42 of 215 ops match, about 2.0 MB per step");
  CHECK(text_of({.rules = 1, .ops = 1, .matched = 1, .bytes_per_step = 27}) ==
        "1 rule, 1 of 1 op matches, about 27 B per step");
  CHECK(text_of({.rules = 1, .ops = 2}, 1000) == "1 rule, 0 of 2 ops match, about 0 B per step");
  const Forecast unsized = {.rules = 1, .ops = 2, .matched = 2, .sized = false};
  CHECK(
      text_of(unsized, 1000) ==
      "1 rule, 2 of 2 ops match; what a step takes shows as it runs, as the model does not tell its tensors");
  constexpr std::size_t kMost = SIZE_MAX;
  CHECK(text_of({.rules = kMost, .ops = kMost, .matched = kMost, .bytes_per_step = 1}, UINT64_MAX).size() <=
        kMaxForecastText);

  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(1000) == "1.0 kB");
  CHECK(bytes_text(999'949) == "999.9 kB");
  CHECK(bytes_text(999'950) == "1.0 MB");
  CHECK(bytes_text(UINT64_MAX) == "18.4 EB");
}

TEST_CASE(
    "text log: torchair's dump_layer does not bring Data operators where the model tells no producers") {
  std::string told;
  const auto add_line = [](void* to, std::string_view line) {
    static_cast<std::string*>(to)->append(line).append("\n");
  };
  TextLog log(add_line, &told);
  const std::uint32_t from_x[] = {0};
  const std::string_view conv[] = {"conv"};
  const ModelRule rules[] = {{.any_model = true, .all_layers = false, .layers = conv}};
  for (const bool tells : {false, true}) {
    const OpDesc ops[] = {
        {.name = "x", .type = "Data"},
        {.name = "conv", .type = "Conv2D", .producers = std::span(from_x).first(tells ? 1 : 0)}};
    const ModelDesc model = {.name = "net", .ops = ops};
    for (const std::uint32_t world_size : {0, 1}) {
      DumpConfig config = everything();
      config.models = rules;
      config.form.world_size = world_size;
      ModelPlan plan;
      std::uint8_t bits[2];
      REQUIRE(resolve_plan(config, model, bits, plan) == Status::ok);
      CHECK(plan.matched_ops == (tells ? 2 : 1));
      plan.model = &model;
      told.clear();
      log.model_loaded(config, plan);
      CHECK(
          (told.find("model \"net\": Data operators that feed the chosen ones are not captured, as the model "
                     "does not tell its producers\n") != told.npos) == (world_size == 1 && !tells));
    }
  }
}

TEST_CASE("text log: a session tells what a config asks for in vain, and what a model will cost") {
  std::vector<std::string> lines;
  TextLog log(&add_line, &lines, 10'000);
  FakeMemory memory;
  FakeSink sink;
  FakeClock clock;
  std::byte scratch[2048];
  BasicSession<FakeMemory> session(
      {.memory = memory, .sink = sink, .clock = clock, .scratch = scratch, .log = &log});
  REQUIRE(session.init() == Status::ok);
  Tensors tensors;
  const SizedModel model(tensors);
  ModelPlan plan;
  std::uint8_t bits[3];

  REQUIRE(session.load_model(plan, model.desc, bits) == Status::ok);
  CHECK(lines.empty());  // no config is in force
  REQUIRE(session.unload_model(plan) == Status::ok);

  DumpConfig config = everything();
  config.kernel_data = kKernelAll;
  REQUIRE(session.set_config(config) == Status::ok);
  CHECK(lines == std::vector<std::string>{"config: what kernels print is not captured"});
  lines.clear();
  REQUIRE(session.load_model(plan, model.desc, bits) == Status::ok);
  const std::uint64_t step = forecast_of(config, plan).bytes_per_step;
  CHECK(lines == std::vector<std::string>{
                     "model \"net\": 1 rule, 3 of 3 ops match, about 1.1 kB per step; the partition lasts " +
                     std::to_string(10'000 / step) + " steps"});
  REQUIRE(session.unload_model(plan) == Status::ok);

  lines.clear();
  REQUIRE(session.set_config({.asked = true}) == Status::ok);
  CHECK(lines ==
        std::vector<std::string>{"config: it switches nothing on, and what was set before stays in force"});
  lines.clear();
  config = everything();
  config.every_device = false;
  REQUIRE(session.set_config(config) == Status::ok);
  CHECK(lines == std::vector<std::string>{
                     "config: it leaves this device out, and what was set before stays in force"});

  lines.clear();
  const std::string long_name = "a\nb" + std::string(100, 'c');
  ModelDesc unsized = kModel;
  unsized.name = long_name;
  REQUIRE(session.load_model(plan, unsized, bits) == Status::ok);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("model \"a?b" + std::string(61, 'c') + "\": 1 rule, 3 of 3 ops match; what a"));
}

#if OPDUMP_FAULTS == 2
TEST_CASE("forecast: of what goes wrong, at most what a step takes when all of it does") {
  Bench<> bench;
  for (std::size_t i = 16; i < 32; ++i) bench.tensors.values[i] = std::numeric_limits<float>::infinity();
  const SizedModel model(bench.tensors);
  bench.start({.active = true, .dump_path = "/dump", .overflow = true}, model.desc);
  const Forecast forecast = forecast_of({.active = true, .overflow = true}, bench.plan);
  bench.step();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.objects.size() == 6);
  std::uint64_t written = 0;
  for (const auto& [name, bytes] : bench.sink.objects) written += bytes.size();
  CHECK(forecast.bytes_per_step == written);
  CHECK(text_of(forecast).find("3 of 3 ops match, at most ") != std::string::npos);
}

TEST_CASE("forecast: a failure takes at most the costliest operator") {
  const Tensors tensors;
  const SizedModel model(tensors);
  DumpConfig config = everything();
  config.exception = ExceptionDump::norm;
  std::uint8_t bits[3];
  ModelPlan plan;
  REQUIRE(resolve_plan(config, model.desc, bits, plan) == Status::ok);
  plan.model = &model.desc;
  const Forecast forecast = forecast_of(config, plan);
  CHECK(forecast.at_most);
  CHECK(forecast.bytes_per_step > 128);
  CHECK(forecast.bytes_per_step < 2 * 128 + 512);
}

TEST_CASE("forecast: a watched output is counted again for each suspect") {
  const Tensors tensors;
  const SizedModel model(tensors);
  const std::string_view watched[] = {"pool1"};
  const ModelExtras extras = {.watched = watched};
  const ModelRule rules[] = {{.any_model = true, .extras = &extras}};
  DumpConfig config = everything();
  config.models = rules;
  config.watch = true;
  std::uint8_t bits[3];
  ModelPlan plan;
  REQUIRE(resolve_plan(config, model.desc, bits, plan) == Status::ok);
  plan.model = &model.desc;
  const Forecast all = forecast_of(config, plan);
  CHECK_FALSE(all.at_most);
  config.watch_changes_only = true;
  const Forecast changes = forecast_of(config, plan);
  CHECK(changes.at_most);
  // Its own and two others', against those two.
  CHECK(all.bytes_per_step * 2 == changes.bytes_per_step * 3);
}
#endif
