#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <thread>

#include "platform/runtimes/mindspore_lite/mindspore_lite_tap.hpp"
#include "tests/runtimes/declared/dumped.hpp"
#include "tests/support/attach_run.hpp"

using namespace opdump::tests;
namespace attach = opdump::attach;
using mindspore::DataType;
using mindspore::MSTensor;
using Records = std::map<std::string, std::string>;

namespace {

/// Two lanes: conv, and relu in place; and one with a packed tensor, a text, one that is none and one on a
/// device.
struct Network {
  Network() {
    const MSTensor image(DataType::kNumberTypeFloat32, {1, 1, 2, 1}, pixels.data(), sizeof pixels);
    const MSTensor sums(DataType::kNumberTypeFloat32, {1, 2}, values.data(), sizeof values);
    const MSTensor packed(DataType::kNumberTypeInt8, {1, 3}, bytes.data(), 4, mindspore::NC4);
    const MSTensor text(DataType::kObjectTypeString, {1}, bytes.data(), 4);
    const MSTensor far(DataType::kNumberTypeInt8, {4}, nullptr, 4, mindspore::NHWC, true);
    const auto conv = [this] {
      meet();
      values = {pixels[0] + 1, pixels[1] + 2};
    };
    const auto pack = [this] {
      meet();
      bytes = {1, 2, 3, -1};
    };
    model.lanes = {{{{"conv", "Conv2DFusion"}, {image}, {sums}, conv},
                    {{"relu", "Activation"}, {sums}, {sums}, [this] { values[0] = 0; }}},
                   {{{"pack", "Custom"}, {text, MSTensor(nullptr), far}, {packed}, pack}}};
  }

  /// Both lanes have begun a kernel before either ends one.
  void meet() {
    const int goal = (arrived.fetch_add(1) / 2 + 1) * 2;
    while (arrived.load() < goal) std::this_thread::yield();
  }

  void run(opdump::mindspore_lite::Tap& tap, int steps) {
    std::vector<MSTensor> outputs;
    for (int i = 0; i < steps; ++i) {
      pixels = {static_cast<float>(i), static_cast<float>(-i)};
      bytes = {};
      CHECK(tap.predict(model, {}, &outputs).IsOk());
    }
  }

  std::array<float, 2> pixels{}, values{};
  std::array<signed char, 4> bytes{};
  std::atomic<int> arrived{0};
  mindspore::Model model;
};

}  // namespace

TEST_CASE("mindspore lite: kernels of all threads are dumped with their inputs as they were before") {
  AttachRun asked(R"("dump_mode": "all", "dump_step": "1", "dump_list": [{"model_name": "net"}])");
  Network network;
  {
    attach::Dump dump(asked.config().c_str(), asked.options());
    opdump::mindspore_lite::Tap tap(dump, "net");
    network.run(tap, 3);
    CHECK(dump.counts().failed_calls == 0);
  }
  CHECK(told(asked.records()) ==
        Records{{"1/Conv2DFusion.conv", "in0 float32[1,1,2,1] 1 -1; out0 float32[1,2] 2 1"},
                {"1/Activation.relu", "in0 float32[1,2] 2 1; out0 float32[1,2] 0 1"},
                {"1/Custom.pack", "in0 uint8[0]; in1 uint8[0]; in2 uint8[0]; out0 uint8[4] 1 2 3 255"}});
}

TEST_CASE("mindspore lite: steps and nodes of the config are obeyed") {
  AttachRun asked(R"("dump_step": "0|2", "dump_list": [{"model_name": "net", "layer": ["relu"]}])");
  Network network;
  {
    attach::Dump dump(asked.config().c_str(), asked.options());
    opdump::mindspore_lite::Tap tap(dump, "net");
    network.run(tap, 3);
  }
  CHECK(told(asked.records()) == Records{{"0/Activation.relu", "out0 float32[1,2] 0 2"},
                                         {"2/Activation.relu", "out0 float32[1,2] 0 0"}});
}

TEST_CASE("mindspore lite: without a config the model runs without callbacks") {
  AttachRun asked;
  Network network;
  attach::Dump dump(attach::Dump::later, asked.options());
  opdump::mindspore_lite::Tap tap(dump, "net");
  network.run(tap, 2);
  CHECK(network.bytes[3] == -1);
  CHECK(asked.records().empty());
}
