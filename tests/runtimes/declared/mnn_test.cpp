#include <doctest/doctest.h>

#include <array>

#include "platform/runtimes/mnn/mnn_tap.hpp"
#include "tests/runtimes/declared/dumped.hpp"
#include "tests/support/attach_run.hpp"

using namespace opdump;
using namespace opdump::tests;
using Records = std::map<std::string, std::string>;

namespace {

constexpr halide_type_t kFloat = {halide_type_float, 32, 1};
constexpr halide_type_t kInt8 = {halide_type_int, 8, 1};
constexpr halide_type_t kText = {halide_type_handle, 64, 1};

/// conv in two commands of that name, the second in place; shape, which has a text and an input without
/// memory.
struct Network {
  Network() {
    session.commands = {{{"conv", "Convolution"},
                         {&image},
                         {&sums},
                         [this] {
                           values = {pixels[0] + 1, pixels[1] + 2};
                         }},
                        {{"conv", "ReLU"}, {&sums}, {&sums}, [this] { values[0] = 0; }},
                        {{"shape", "Shape"}, {&sums, &nothing, &text}, {&dims}, [this] {
                           numbers = {-1, 2};
                         }}};
  }

  void run(mnn::Tap& tap, int steps) {
    for (int i = 0; i < steps; ++i) {
      pixels = {static_cast<float>(-i), static_cast<float>(i)};
      CHECK(tap.run(interpreter, &session) == MNN::NO_ERROR);
    }
  }

  std::array<float, 2> pixels{}, values{};
  std::array<std::int8_t, 2> numbers{};
  MNN::Tensor image{{1, 1, 2, 1}, kFloat, MNN::Tensor::TENSORFLOW, pixels.data(), false};
  MNN::Tensor sums{{1, 1, 1, 2}, kFloat, MNN::Tensor::CAFFE, values.data(), true};
  MNN::Tensor nothing{{4}, kFloat, MNN::Tensor::CAFFE, nullptr, false};
  MNN::Tensor text{{1}, kText, MNN::Tensor::CAFFE, values.data(), false};
  MNN::Tensor dims{{2}, kInt8, MNN::Tensor::CAFFE, numbers.data(), false};
  MNN::Interpreter interpreter;
  MNN::Session session;
};

}  // namespace

TEST_CASE("mnn: commands are dumped by their operators' names, off the device, as they were before") {
  AttachRun asked(R"("dump_mode": "all", "dump_step": "1", "dump_list": [{"model_name": "net"}])");
  Network network;
  {
    attach::Dump dump(asked.config().c_str(), asked.options());
    mnn::Tap tap(dump, "net");
    network.run(tap, 3);
    CHECK(dump.counts().failed_calls == 0);
  }
  CHECK(
      told(asked.records()) ==
      Records{{"1/Convolution.conv", "in0 float32[1,1,2,1] -1 1; out0 float32[1,1,1,2] 0 3"},
              {"1/ReLU.conv#2", "in0 float32[1,1,1,2] 0 3; out0 float32[1,1,1,2] 0 3"},
              {"1/Shape.shape", "in0 float32[1,1,1,2] 0 3; in1 uint8[0]; in2 uint8[0]; out0 int8[2] -1 2"}});
}

TEST_CASE("mnn: a name of the config stands for all commands of it") {
  AttachRun asked(R"("dump_step": "0|2", "dump_list": [{"model_name": "net", "layer": ["conv"]}])");
  Network network;
  {
    attach::Dump dump(asked.config().c_str(), asked.options());
    mnn::Tap tap(dump, "net");
    network.run(tap, 3);
  }
  CHECK(told(asked.records()) == Records{{"0/Convolution.conv", "out0 float32[1,1,1,2] 1 2"},
                                         {"0/ReLU.conv#2", "out0 float32[1,1,1,2] 0 2"},
                                         {"2/Convolution.conv", "out0 float32[1,1,1,2] -1 4"},
                                         {"2/ReLU.conv#2", "out0 float32[1,1,1,2] 0 4"}});
}

TEST_CASE("mnn: without a config the session runs without callbacks") {
  AttachRun asked;
  Network network;
  attach::Dump dump(attach::Dump::later, asked.options());
  mnn::Tap tap(dump, "net");
  network.run(tap, 2);
  CHECK(network.numbers[1] == 2);
  CHECK(asked.records().empty());
}

TEST_CASE("mnn: dtypes") {
  CHECK(mnn::dtype_of({halide_type_uint, 1, 1}) == OPDUMP_BOOLEAN);
  CHECK(mnn::dtype_of({halide_type_bfloat, 16, 1}) == OPDUMP_BFLOAT16);
  CHECK(mnn::dtype_of({halide_type_float, 16, 1}) == OPDUMP_FLOAT16);
  CHECK(mnn::dtype_of({halide_type_int, 64, 1}) == OPDUMP_INT64);
  CHECK(mnn::dtype_of(kText) == OPDUMP_UNDEFINED);
}
