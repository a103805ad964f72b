// Saves operators of all kinds as ones that failed, each with inputs that count 0, 1, 2, ...
//
// usage: failing_op_maker DIRECTORY
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "src/tool/judge/diverge/one_node_model.hpp"
#include "src/tool/judge/diverge/save_failing.hpp"

using namespace opdump;
using namespace opdump::tool;

namespace {

std::size_t bytes_of(DType dtype, const std::vector<Dim>& dims) {
  std::size_t count = 1;
  for (const Dim dim : dims) count *= static_cast<std::size_t>(dim);
  return (count * info(dtype).bits + 7) / 8;
}

/// Bytes that count, whatever they are as elements.
ReplayTensor bytes(std::string name, DType dtype, std::vector<Dim> dims) {
  ReplayTensor tensor{std::move(name), dtype, std::move(dims), {}};
  tensor.bytes.resize(bytes_of(dtype, tensor.dims));
  for (std::size_t i = 0; i < tensor.bytes.size(); ++i) tensor.bytes[i] = static_cast<std::byte>(i);
  return tensor;
}

template <class Item>
ReplayTensor items(std::string name, DType dtype, std::vector<Dim> dims, const std::vector<Item>& values) {
  ReplayTensor tensor{std::move(name), dtype, std::move(dims), {}};
  tensor.bytes.resize(values.size() * sizeof(Item));
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

ReplayTensor counting(std::string name, std::vector<Dim> dims) {
  std::vector<float> values(bytes_of(DType::float32, dims) / sizeof(float));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return items(std::move(name), DType::float32, std::move(dims), values);
}

class Maker {
 public:
  explicit Maker(std::string directory) : directory_(std::move(directory)) {}

  void save(const ReplayOp& op, const std::vector<ReplayTensor>& expected,
            const std::vector<ReplayTensor>& device) {
    FailingOp failing{op,       failing_folder(number_++, op.name), expected, device,
                      "native", "output 0: too far\nfrom it"};
    std::string reason;
    if (save_failing(directory_, failing, reason)) return;
    std::printf("%s\n", reason.c_str());
  }

 private:
  std::string directory_;
  std::size_t number_ = 0;
};

void save_all(Maker& maker) {
  constexpr DType f32 = DType::float32;
  const std::vector<Dim> image = {1, 1, 4, 4};
  // 0: texts, numbers, a name to fear
  ReplayOp conv{"../../a\x1b[31m\xff/conv", "Conv", "", 11, {}, {}, {{"y", f32}}};
  conv.attributes = {{"auto_pad", std::string("SAME_UPPER")},
                     {"group", std::int64_t{1}},
                     {"strides", std::vector<std::int64_t>{1, 1}}};
  conv.inputs = {counting("x", image), counting("w", {1, 1, 3, 3})};
  maker.save(conv, {items<double>("y", DType::float64, image, std::vector<double>(16, 0.1))},
             {counting("y", image)});
  // 1: floats, and a number that is 0
  ReplayOp gemm{"gemm", "Gemm", "", 13, {}, {}, {{"y", f32}}};
  gemm.attributes = {
      {"alpha", 0.5f}, {"beta", 0.0f}, {"transA", std::int64_t{0}}, {"transB", std::int64_t{1}}};
  gemm.inputs = {counting("a", {2, 3}), counting("b", {4, 3}), counting("c", {4})};
  maker.save(gemm, {counting("y", {2, 4})}, {counting("y", {2, 4})});
  // 2: an input in the middle that is not given
  ReplayOp clip{"clip", "Clip", "", 13, {}, {}, {{"y", f32}}};
  clip.inputs = {counting("x", {5}), std::nullopt, items<float>("most", f32, {}, {3})};
  maker.save(clip, {counting("y", {5})}, {{}});
  // 3: a tensor
  ReplayOp filled{"filled", "ConstantOfShape", "", 9, {}, {}, {{"y", DType::int32}}};
  std::string seven, reason;
  tensor_proto(items<std::int32_t>("", DType::int32, {1}, {7}), seven, reason);
  ProtoMessage value;
  value.add_text(1, "value");
  value.add_bytes(5, seven);
  value.add_number(20, 4);
  filled.attributes = {{"value", {}, value.bytes()}};
  filled.inputs = {items<std::int64_t>("shape", DType::int64, {2}, {2, 3})};
  maker.save(filled, {items<std::int32_t>("y", DType::int32, {2, 3}, std::vector<std::int32_t>(6, 7))},
             {items<std::int32_t>("y", DType::int32, {2, 3}, std::vector<std::int32_t>(6, 8))});
  // 4: lists of texts and floats, and an output that is left out
  ReplayOp lstm{"lstm", "LSTM", "", 14, {}, {}, {{"", f32}, {"h", f32}, {"", f32}}};
  lstm.attributes = {{"hidden_size", std::int64_t{2}},
                     {"activations", std::vector<std::string>{"Sigmoid", "LeakyRelu", "Tanh"}},
                     {"activation_alpha", std::vector<float>{0.25f}}};
  lstm.inputs = {counting("x", {1, 1, 3}), counting("w", {1, 8, 3}), counting("r", {1, 8, 2}), std::nullopt};
  maker.save(lstm, {{}, counting("h", {1, 1, 2}), {}}, {{}, counting("h", {1, 1, 2}), {}});
  // 5: an attribute as it stood in a file, with a documentation that nothing here knows of
  ProtoMessage axis;
  axis.add_bytes(13, "kept");
  axis.add_number(20, 2);
  axis.add_number(3, static_cast<std::uint64_t>(std::int64_t{-1}));
  axis.add_text(1, "axis");
  ReplayOp softmax{"softmax", "Softmax",   "ai.onnx.not.known", 1, {{"axis", std::int64_t{5}, axis.bytes()}},
                   {},        {{"y", f32}}};
  softmax.inputs = {counting("x", {2, 2})};
  maker.save(softmax, {counting("y", {2, 2})}, {counting("y", {4})});
  // 6 and 7: what is rounded from float64
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> odd = {0,
                                   -0.0,
                                   1,
                                   1.0 / 3,
                                   65504,
                                   65519,
                                   65520,
                                   1e-8,
                                   2.98023223876953125e-8,
                                   3e-8,
                                   6.1e-5,
                                   -6.1035e-5,
                                   1e300,
                                   infinity,
                                   -infinity,
                                   std::numeric_limits<double>::quiet_NaN(),
                                   1.00048828125,
                                   1.00390625,
                                   1.01171875,
                                   3.4e38};
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    ReplayOp same{"same", "Identity", "", 13, {}, {bytes("x", dtype, {odd.size()})}, {{"y", dtype}}};
    maker.save(same, {items("y", DType::float64, {odd.size()}, odd)}, {bytes("y", dtype, {odd.size()})});
  }
  // from 8 on: dtypes, scalars, and no elements
  for (const DType dtype :
       {DType::int8, DType::uint8, DType::int16, DType::uint16, DType::int32, DType::uint32, DType::int64,
        DType::uint64, DType::boolean, DType::float64, DType::complex64}) {
    ReplayOp same{"same", "Identity", "", 13, {}, {}, {{"y", dtype}}};
    std::vector<Dim> dims = {2, 1};
    if (dtype == DType::int16) dims = {};
    if (dtype == DType::uint32) dims = {0, 3};
    ReplayTensor tensor = bytes("x", dtype, dims);
    same.inputs = {tensor};
    maker.save(same, {tensor}, {tensor});
  }
  // 19: later than the opset's own version
  ReplayOp four{"four", "DequantizeLinear", "", 21, {}, {}, {{"y", f32}}};
  four.inputs = {bytes("x", DType::int4, {5}), items<float>("scale", f32, {}, {0.5f})};
  maker.save(four, {counting("y", {5})}, {counting("y", {5})});
  // 20: ONNX has no such dtype
  ReplayOp other{"other", "Identity", "", 13, {}, {bytes("x", DType::hifloat8, {2})}, {{"y", f32}}};
  maker.save(other, {counting("y", {2})}, {counting("y", {2})});
  // 21: not rounded
  ReplayOp eight{"eight", "Cast", "", 19, {}, {counting("x", {2})}, {{"y", DType::float8_e5m2}}};
  maker.save(eight, {items<double>("y", DType::float64, {2}, {1, 2})}, {bytes("y", DType::float8_e5m2, {2})});
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  Maker maker(arguments[1]);
  save_all(maker);
  return 0;
}
