// A program with a runtime that attaches: `card_maker CONFIG` runs a model of two operators and one whose
// operators become known as they run, two steps each, with quantised tensors.
#include <cstdint>
#include <vector>

#include "opdump/attach.hpp"

using namespace opdump::attach;

int main(int, char** arguments) {
  Dump dump(arguments[1]);
  Model model(dump, "fixed", 1);
  OpDetails details;
  details.original_names = {"stem/conv", "stem/bn"};
  const std::uint32_t conv = model.add_op("conv", "Conv", details);
  const std::uint32_t relu = model.add_op("relu", "Relu");
  model.describe("maker 1.0", sha256("model", 5));
  model.describe(conv,
                 TensorInfos().add("x", OPDUMP_UINT8, {4}).quantised(Quantisation::affine({0.5f}, {128})),
                 TensorInfos().add("y", OPDUMP_INT8, {2, 2}).quantised(Quantisation::pow2({-2, 1}, 1)));
  model.describe(relu, TensorInfos().add("y"), TensorInfos().add("z", OPDUMP_FLOAT32, {-1}));
  DynamicModel dynamic(dump, "dynamic", 2);
  const std::vector<std::uint8_t> x = {0, 128, 130, 255};
  const std::vector<std::int8_t> y = {-128, 1, 2, 127};
  const std::vector<float> z = {1, 2};
  const std::vector<std::uint8_t> codes = {0, 1, 1, 3};
  for (int i = 0; i < 2; ++i) {
    const auto step = model.step();
    model.capture(conv, Tensors().add(x.data(), OPDUMP_UINT8, {4}),
                  Tensors().add(y.data(), OPDUMP_INT8, {2, 2}));
    model.capture(relu, Tensors().add(y.data(), OPDUMP_INT8, {2, 2}),
                  Tensors().add(z.data(), OPDUMP_FLOAT32, {2}));
    const auto other = dynamic.step();
    const std::uint32_t op = dynamic.see("lookup", "GatherND");
    if (op == kNoOp) continue;
    dynamic.describe(op, TensorInfos(),
                     TensorInfos().add("codes", OPDUMP_UINT8).quantised(Quantisation::table({1, 2, 4, 8})));
    dynamic.capture(op, Tensors().add(z.data(), OPDUMP_FLOAT32, {2}),
                    Tensors().add(codes.data(), OPDUMP_UINT8, {4}));
  }
  return dump.stop() == OPDUMP_OK && dump.counts().failed_calls == 0 ? 0 : 1;
}
