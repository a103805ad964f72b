#include <doctest/doctest.h>

#include "platform/runtimes/ncnn/ncnn_tap.hpp"
#include "tests/runtimes/declared/dumped.hpp"
#include "tests/support/attach_run.hpp"

using namespace opdump::tests;  // opdump has an ncnn of its own
namespace attach = opdump::attach;
using Records = std::map<std::string, std::string>;

namespace {

float* floats(const ncnn::Mat& mat) {
  return static_cast<float*>(mat.data);
}

struct Input final : ncnn::Layer {};

/// Makes four channels of 1 x 2 out of one, as one packed channel.
struct Convolution final : ncnn::Layer {
  int forward(const ncnn::Mat& in, ncnn::Mat& out, const ncnn::Option&) const override {
    out = ncnn::Mat(2, 1, 1, 16, 4, 2);
    for (int x = 0; x < 2; ++x) {
      for (int channel = 0; channel < 4; ++channel)
        floats(out)[x * 4 + channel] = floats(in)[x] * 10 + static_cast<float>(channel);
    }
    return 0;
  }
};

struct Relu final : ncnn::Layer {
  int forward_inplace(ncnn::Mat& mat, const ncnn::Option&) const override {
    for (int i = 0; i < 8; ++i) floats(mat)[i] = floats(mat)[i] < 0 ? 0 : floats(mat)[i];
    return 0;
  }
};

/// Two channels of 1 x 2, with a gap behind each, and the bits of the first eight elements.
struct Split final : ncnn::Layer {
  int forward(const std::vector<ncnn::Mat>& in, std::vector<ncnn::Mat>& out,
              const ncnn::Option&) const override {
    out[0] = ncnn::Mat(2, 1, 2, 4, 1, 4);
    for (int i = 0; i < 4; ++i) floats(out[0])[i / 2 * 4 + i % 2] = floats(in[0])[i];
    out[1] = ncnn::Mat(2, 1, 1, 1, 1, 4);
    static_cast<signed char*>(out[1].data)[1] = -7;
    return 0;
  }
};

template <class Kind>
void add(ncnn::Net& net, const char* name, const char* type, std::vector<int> bottoms,
         std::vector<int> tops) {
  auto* const layer = new Kind;
  layer->name = name;
  layer->type = type;
  layer->bottoms = bottoms;
  layer->tops = tops;
  layer->one_blob_only = bottoms.size() == 1 && tops.size() == 1;
  layer->support_inplace = std::string_view(type) == "ReLU";
  net.mutable_layers().push_back(layer);
}

void describe(ncnn::Net& net) {
  add<Input>(net, "data", "Input", {}, {0});
  add<Convolution>(net, "conv", "Convolution", {0}, {1});
  add<Relu>(net, "relu", "ReLU", {1}, {2});
  add<Split>(net, "split", "Split", {2}, {3, 4});
  net.mutable_blobs() = {{"data"}, {"conv"}, {"relu"}, {"first"}, {"second"}};
}

void run(ncnn::Net& net, opdump::ncnn::Tap& tap, int steps) {
  for (int i = 0; i < steps; ++i) {
    const auto step = tap.step();
    ncnn::Extractor extractor = net.create_extractor();
    ncnn::Mat in(2, 1, 1, 4, 1, 4), out;
    floats(in)[0] = static_cast<float>(-i);
    floats(in)[1] = static_cast<float>(i);
    extractor.input(0, in);
    CHECK(extractor.extract(4, out) == 0);
    CHECK(static_cast<signed char*>(out.data)[1] == -7);
  }
}

}  // namespace

TEST_CASE("ncnn: blobs are dumped without gaps, with their channels unpacked, and as they were before") {
  AttachRun asked(R"("dump_mode": "all", "dump_step": "1", "dump_list": [{"model_name": "net"}])");
  {
    ncnn::Net net;
    describe(net);
    attach::Dump dump(asked.config().c_str(), asked.options());
    opdump::ncnn::Tap tap(dump, "net", net);
    run(net, tap, 3);
    CHECK(dump.counts().failed_calls == 0);
    CHECK(tap.model().find("data") == attach::kNoOp);
  }
  CHECK(asked.told("never captured") == 0);
  CHECK(told(asked.records()) ==
        Records{
            {"1/Convolution.conv", "in0 float32[1,1,2] -1 1; out0 float32[1,4,1,2] -10 10 -9 11 -8 12 -7 13"},
            {"1/ReLU.relu",
             "in0 float32[1,4,1,2] -10 10 -9 11 -8 12 -7 13; out0 float32[1,4,1,2] 0 10 0 11 0 12 0 13"},
            {"1/Split.split",
             "in0 float32[1,4,1,2] 0 10 0 11 0 12 0 13; out0 float32[2,1,2] 0 0 0 0; out1 int8[1,1,2] 0 -7"},
        });
}

TEST_CASE("ncnn: only layers that the config names are tapped, and the net gets its own ones back") {
  AttachRun asked(R"("dump_step": "0|2", "dump_list": [{"model_name": "net", "layer": ["relu"]}])");
  ncnn::Net net;
  describe(net);
  const std::vector<ncnn::Layer*> own = net.layers();
  {
    attach::Dump dump(asked.config().c_str(), asked.options());
    opdump::ncnn::Tap tap(dump, "net", net);
    CHECK(net.layers()[1] == own[1]);
    CHECK(net.layers()[2] != own[2]);
    CHECK(net.layers()[2]->name == "relu");
    run(net, tap, 3);
  }
  CHECK(net.layers() == own);
  CHECK(told(asked.records()) == Records{{"0/ReLU.relu", "out0 float32[1,4,1,2] 0 0 1 1 2 2 3 3"},
                                         {"2/ReLU.relu", "out0 float32[1,4,1,2] 0 20 0 21 0 22 0 23"}});
}

TEST_CASE("ncnn: a dump that is off taps nothing") {
  AttachRun asked;
  ncnn::Net net;
  describe(net);
  const std::vector<ncnn::Layer*> own = net.layers();
  attach::Dump dump(attach::Dump::later, asked.options());
  opdump::ncnn::Tap tap(dump, "net", net);
  CHECK(net.layers() == own);
}

TEST_CASE("ncnn: 16 bits are those that ncnn stores under its options") {
  ncnn::Layer layer;
  ncnn::Option option;
  CHECK(opdump::ncnn::dtype_of(16, layer, option) == OPDUMP_FLOAT16);
  option.use_bf16_storage = true;
  CHECK(opdump::ncnn::dtype_of(16, layer, option) == OPDUMP_BFLOAT16);
  CHECK(opdump::ncnn::dtype_of(32, layer, option) == OPDUMP_FLOAT32);
  CHECK(opdump::ncnn::dtype_of(8, layer, option) == OPDUMP_INT8);
}
