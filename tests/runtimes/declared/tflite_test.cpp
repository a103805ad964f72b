#include <doctest/doctest.h>

#include <array>

#include "platform/runtimes/tflite/tflite_tap.hpp"
#include "tests/runtimes/declared/dumped.hpp"
#include "tests/support/attach_run.hpp"

using namespace opdump::tests;  // opdump has a tflite of its own
namespace attach = opdump::attach;
using Records = std::map<std::string, std::string>;

namespace {

/// MUL (with an input left out), RELU in place, WHILE over a subgraph of one ADD, and a GATHER whose output
/// the interpreter makes as it runs, and whose input it takes back then.
struct Network {
  using Values = std::array<int, 2>;

  Network() {
    interpreter.subgraphs.resize(2);
    auto& main = interpreter.subgraphs[0];
    main.tensors = {of(image, "image"), of(product, "product"), of(product, "relu"),
                    of(state, "state"), of(looped, "looped"),   of(gathered, "gathered")};
    main.tensors[3].is_variable = true;
    main.tensors[4].allocation_type = main.tensors[5].allocation_type = kTfLiteDynamic;
    main.tensors[5].data.raw = nullptr;
    static TfLiteIntArray lists[] = {{2, {0, -1}}, {1, {1}}, {1, {2}}, {2, {2, 3}},
                                     {1, {4}},     {1, {5}}, {1, {0}}};
    main.nodes = {{{&lists[0], &lists[1]}, {}},
                  {{&lists[1], &lists[2]}, {}},
                  {{&lists[3], &lists[4]}, {}},
                  {{&lists[4], &lists[5]}, {}}};
    main.kernels = {{"MUL",
                     [this] {
                       product = {image[0] * 2, image[1] * 2};
                     }},
                    {"RELU", [this] { product[0] = 0; }},
                    {"WHILE",
                     [this] {
                       interpreter.run(1);
                       interpreter.run(1);
                       state = {9, 9};
                       looped = inner;
                     }},
                    {"GATHER", [this, &main] {
                       gathered = {looped[1], looped[0]};
                       main.tensors[5].data.raw = reinterpret_cast<char*>(gathered.data());
                       looped = {0, 0};
                     }}};
    auto& body = interpreter.subgraphs[1];
    body.tensors = {of(product, "product"), of(inner, "sum")};
    body.nodes = {{{&lists[6], &lists[1]}, {}}};
    body.kernels = {{"ADD", [this] { inner = {inner[0] + 1, inner[1] + product[1]}; }}};
  }

  TfLiteTensor of(Values& values, const char* name) {
    return {kTfLiteInt32,  {reinterpret_cast<char*>(values.data())},
            &dims,         kTfLiteArenaRw,
            sizeof values, name,
            false,         false,
            nullptr};
  }

  void run(int steps, opdump::tflite::Tap& tap) {
    for (int i = 0; i < steps; ++i) {
      image = {-i, i + 1};
      inner = state = {};
      interpreter.subgraphs[0].tensors[5].data.raw = nullptr;
      const auto step = tap.step();
      CHECK(interpreter.Invoke() == kTfLiteOk);
    }
  }

  TfLiteIntArray dims = {2, {1, 2}};
  Values image{}, product{}, state{}, looped{}, gathered{}, inner{};
  tflite::Interpreter interpreter;
};

}  // namespace

TEST_CASE("tflite: inputs and outputs are those of each node, at the steps that the config asks for") {
  AttachRun asked(R"("dump_mode": "all", "dump_step": "1", "dump_list": [{"model_name": "net"}])");
  Network network;
  {
    attach::Dump dump(asked.config().c_str(), asked.options());
    opdump::tflite::Tap tap(dump, "net", network.interpreter);
    network.run(3, tap);
    CHECK(dump.stop() == OPDUMP_OK);
    CHECK(dump.counts().failed_calls == 0);
  }
  CHECK(told(asked.records()) ==
        Records{
            {"1/MUL.product", "in0 int32[1,2] -1 2; in1 uint8[0]; out0 int32[1,2] -2 4"},
            {"1/RELU.relu", "in0 int32[1,2] -2 4; out0 int32[1,2] 0 4"},
            {"1/ADD.sum", "in0 int32[1,2] 0 4; out0 int32[1,2] 1 4"},
            {"1/ADD.sum#2", "in0 int32[1,2] 0 4; out0 int32[1,2] 2 8"},
            {"1/WHILE.looped", "in0 int32[1,2] 0 4; in1 int32[1,2] 0 0; out0 int32[1,2] 2 8"},
            {"1/GATHER.gathered", "in0 int32[1,2] 2 8; out0 int32[1,2] 8 2"},
        });
}

TEST_CASE("tflite: only operators that the config names are dumped, in the mode that it says") {
  AttachRun asked(R"("dump_step": "0|2", "dump_list": [{"model_name": "net", "layer": ["relu", "sum"]}])");
  Network network;
  {
    attach::Dump dump(asked.config().c_str(), asked.options());
    opdump::tflite::Tap tap(dump, "net", network.interpreter);
    network.run(3, tap);
  }
  CHECK(told(asked.records()) == Records{{"0/RELU.relu", "out0 int32[1,2] 0 2"},
                                         {"0/ADD.sum", "out0 int32[1,2] 1 2"},
                                         {"0/ADD.sum#2", "out0 int32[1,2] 2 4"},
                                         {"2/RELU.relu", "out0 int32[1,2] 0 6"},
                                         {"2/ADD.sum", "out0 int32[1,2] 1 6"},
                                         {"2/ADD.sum#2", "out0 int32[1,2] 2 12"}});
}

TEST_CASE("tflite: what a delegate keeps is fetched, what has no fixed size is lost and counted") {
  AttachRun asked(
      R"("dump_mode": "all", "dump_list": [{"model_name": "net", "layer": ["product", "relu"]}])");
  Network network;
  auto& main = network.interpreter.subgraphs[0];
  int fetched = 0;
  main.fetch = [&](int tensor) { fetched += tensor == 0 ? 1 : 100; };
  main.tensors[0].data_is_stale = true;
  main.tensors[2].type = kTfLiteString;
  {
    attach::Dump dump(asked.config().c_str(), asked.options());
    opdump::tflite::Tap tap(dump, "net", network.interpreter);
    network.run(1, tap);
    CHECK(dump.stop() != OPDUMP_OK);
    CHECK(dump.counts().failed_calls == 1);
  }
  CHECK(fetched == 1);
  CHECK(told(asked.records()) ==
        Records{{"0/MUL.product", "in0 int32[1,2] 0 1; in1 uint8[0]; out0 int32[1,2] 0 2"}});
}

TEST_CASE("tflite: without a config nothing is captured") {
  Network network;
  AttachRun asked;
  attach::Dump dump(attach::Dump::later, asked.options());
  opdump::tflite::Tap tap(dump, "net", network.interpreter);
  network.run(2, tap);
  CHECK(network.gathered == Network::Values{8, 2});
  CHECK(asked.records().empty());
}
