#include <doctest/doctest.h>

#include <array>

#include "platform/runtimes/esp_dl/esp_dl_tap.hpp"
#include "tests/runtimes/declared/bench_records.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

using Bytes4 = std::array<std::int8_t, 4>;

Bytes4& values(dl::ModelContext& context, int index) {
  return *static_cast<Bytes4*>(context.get_tensor(index)->data);
}

int resets = 0;

/// Adds 1 to each element.
class Add final : public dl::module::Module {
 public:
  explicit Add(dl::module_inplace_t in_place) : Module(nullptr, in_place) {}
  std::vector<std::vector<int>> get_output_shape(std::vector<std::vector<int>>& shapes) override {
    return shapes;
  }
  void forward(dl::ModelContext* context, dl::runtime_mode_t) override {
    for (std::size_t i = 0; i < 4; ++i)
      values(*context, m_outputs_index[0])[i] =
          static_cast<std::int8_t>(values(*context, m_inputs_index[0])[i] + 1);
  }
  void reset() override { ++resets; }
};

dl::module::Module* make_conv(fbs::FbsModel*, std::string) {
  return new Add(dl::MODULE_NON_INPLACE);
}
dl::module::Module* make_relu(fbs::FbsModel*, std::string) {
  return new Add(dl::MODULE_INPLACE_CHANGED_BUFFER);
}

/// conv (with a bias left out), relu in place, and a gemm, which is not tapped.
struct Run {
  Run() {
    auto& creators = *dl::module::ModuleCreator::get_instance();
    creators.clear();
    creators.stock = {{"Conv", make_conv}, {"Relu", make_relu}, {"Gemm", make_conv}};
    context.m_variables = {&image, &sums, &sums_again, &result, nullptr};
    tap.add("Conv", make_conv);
    tap.add("Relu", make_relu);
    REQUIRE(bench.session.init() == Status::ok);
  }

  void run(dl::Model& model, int steps) {
    for (int i = 0; i < steps; ++i) {
      pixels = {static_cast<std::int8_t>(-i), 1, 2, 3};
      tap.run(model);
      CHECK(outcome[3] == 6);
    }
  }

  Bytes4 pixels{}, middle{}, outcome{};
  dl::TensorBase image{{1, 4}, dl::DATA_TYPE_INT8, pixels.data(), 4};
  dl::TensorBase sums{{2, 2}, dl::DATA_TYPE_INT8, middle.data(), 4};
  dl::TensorBase sums_again{{2, 2}, dl::DATA_TYPE_INT8, middle.data(), 4};
  dl::TensorBase result{{4}, dl::DATA_TYPE_INT8, outcome.data(), 4};
  dl::ModelContext context;
  fbs::FbsModel file{{{"conv1", "Conv", {0, 4}, {1}}, {"relu1", "Relu", {1}, {2}}, {"fc", "Gemm", {2}, {3}}}};
  Bench<8192> bench;
  esp_dl::Tap<FakeMemory, 4> tap{bench.recorder};
};

}  // namespace

TEST_CASE("esp-dl: modules are dumped with what they read and wrote, in place too") {
  Run run;
  REQUIRE(run.bench.session.set_config(everything()) == Status::ok);
  dl::Model model(run.file, run.context);
  REQUIRE(run.tap.load(run.bench.session, "net", 3) == Status::ok);
  run.run(model, 1);
  CHECK(run.tap.unload(run.bench.session) == Status::ok);
  CHECK(run.bench.session.finalize() == Status::ok);
  CHECK(told(run.bench.sink) ==
        std::vector<std::string>{"0/Conv.conv1: in0 int8[1,4] 0 1 2 3; in1 uint8[0]; out0 int8[2,2] 1 2 3 4",
                                 "0/Relu.relu1: in0 int8[2,2] 1 2 3 4",
                                 "0/Relu.relu1: out0 int8[2,2] 2 3 4 5"});
}

TEST_CASE("esp-dl: steps and modules of a config are obeyed; the modules of the model work as before") {
  Run run;
  constexpr std::string_view kWanted[] = {"relu1"};
  const ModelRule rules[] = {{.model_name = "net", .all_layers = false, .layers = kWanted}};
  static constexpr StepRange kSteps[] = {{1, 1}};
  const DumpConfig config{.active = true, .dump_path = "/dump", .steps = {kSteps}, .models = rules};
  REQUIRE(run.bench.session.set_config(config) == Status::ok);
  dl::Model model(run.file, run.context);
  REQUIRE(run.tap.load(run.bench.session, "net", 3) == Status::ok);
  CHECK(model.plan()[1]->inplace == dl::MODULE_INPLACE_CHANGED_BUFFER);
  model.plan()[1]->reset();
  CHECK(resets == 1);
  std::vector<std::vector<int>> shapes = {{7}};
  CHECK(model.plan()[0]->get_output_shape(shapes) == shapes);
  run.run(model, 3);
  dl::Model later(run.file, run.context);
  CHECK(dynamic_cast<Add*>(later.plan()[0]) != nullptr);
  run.run(later, 1);
  CHECK(run.tap.unload(run.bench.session) == Status::ok);
  CHECK(run.bench.session.finalize() == Status::ok);
  CHECK(told(run.bench.sink) == std::vector<std::string>{"1/Relu.relu1: out0 int8[2,2] 1 3 4 5"});
}

TEST_CASE("esp-dl: a model with too many modules is refused at load, and runs without a dump") {
  Run run;
  for (int i = 0; i < 3; ++i) run.file.nodes.insert(run.file.nodes.begin(), {"more", "Conv", {0}, {1}});
  REQUIRE(run.bench.session.set_config(everything()) == Status::ok);
  dl::Model model(run.file, run.context);
  CHECK(run.tap.load(run.bench.session, "net") == Status::no_memory);
  run.run(model, 1);
  CHECK(run.bench.sink.objects.empty());
}
