#include "src/tool/judge/compare/op_types.hpp"

#include <optional>

namespace opdump::tool {
namespace {

struct Aliases {
  std::string_view canonical;
  std::string_view types;  ///< with spaces between
};

/// Source: the operators of ONNX, TensorFlow Lite, CANN, OpenCV, Arm NN and ggml.
constexpr Aliases kAliases[] = {
    {"add", "addv2 elementwiseadd eltwise qlinearadd sum"},
    {"batchnorm", "batchnormalization bninference fusedbatchnorm fusedbatchnormv3"},
    {"concat", "concatd concatenation concatv2 concatv2d qlinearconcat"},
    {"conv",
     "conv2d convinteger convolution convolution2d depthwiseconv2d depthwiseconv2dnative depthwiseconvolution2d fusedconv qlinearconv"},
    {"convtranspose", "conv2dtranspose deconvolution transposeconv"},
    {"dequantize", "dequantizelinear"},
    {"gather", "gatherv2 getrows"},
    {"layernorm", "layernormalization"},
    {"matmul",
     "batchmatmul batchmatmulv2 dense fullyconnected fusedgemm fusedmatmul gemm innerproduct matmulv2 matmulv3 mulmat qlinearmatmul"},
    {"mul", "qlinearmul"},
    {"pad", "mirrorpad padv2"},
    {"pool",
     "averagepool averagepool2d avgpool globalaveragepool globalmaxpool maxpool maxpool2d maxpoolv3 pooling pooling2d qlinearaveragepool qlinearglobalaveragepool"},
    {"quantize", "quantizelinear"},
    {"reducemean", "mean reducemeand"},
    {"relu", "clip clipbyvalue relu6 reluv2"},
    {"reshape", "expanddims flatten squeeze unsqueeze view"},
    {"resize", "interp resizebilinear resizebilinearv2 resizenearestneighbor upsample"},
    {"sigmoid", "logistic qlinearsigmoid"},
    {"silu", "swish"},
    {"slice", "stridedslice stridedsliced"},
    {"softmax", "softmaxv2"},
    {"transpose", "permute transposed"},
};
constexpr std::string_view kWithoutAlias = "div gelu lrn prelu rmsnorm rsqrt split sub tanh";

std::string plain(std::string_view text) {
  std::string letters;
  for (const char letter : text) {
    if ((letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9')) letters += letter;
    if (letter >= 'A' && letter <= 'Z') letters += static_cast<char>(letter - 'A' + 'a');
  }
  return letters;
}

/// Nothing: the type is not known.
std::optional<std::string> find_canonical(const std::string& type) {
  for (const Aliases& aliases : kAliases) {
    if (aliases.canonical == type || has_word(aliases.types, type)) return std::string(aliases.canonical);
  }
  return has_word(kWithoutAlias, type) ? std::optional(type) : std::nullopt;
}

}  // namespace

bool has_word(std::string_view words, std::string_view word) {
  if (word.empty()) return false;
  return (' ' + std::string(words) + ' ').find(' ' + std::string(word) + ' ') != std::string::npos;
}

std::string canonical_type(std::string_view type) {
  const std::string name = plain(type);
  return find_canonical(name).value_or(name);
}

bool runs_others(std::string_view type) {
  return has_word(
      "call callonce case for if loop partitionedcall scan sequencemap statefulpartitionedcall statelesscase "
      "statelessif statelesswhile while",
      canonical_type(type));
}

std::uint32_t real_input(std::string_view type, std::uint32_t index) {
  constexpr std::uint32_t kBeyond = 1000, kTriple = 3;
  if (!type.starts_with("QLinear") && type != "QGemm") return index;
  if (type == "QLinearConcat") return index >= 2 && index % kTriple == 2 ? index / kTriple : kBeyond + index;
  if (index == (type == "QLinearConv" ? 8U : 6U) && (type == "QLinearConv" || type == "QGemm")) return 2;
  const bool second = index == kTriple && type != "QLinearSigmoid" && type != "QLinearLeakyRelu" &&
                      type != "QLinearSoftmax" && !type.ends_with("Pool");
  return index == 0 ? 0 : second ? 1 : kBeyond + index;
}

std::string common_name(std::string_view name) {
  const std::size_t prefix = name.rfind('!');
  if (prefix != std::string_view::npos && prefix + 1 < name.size()) name.remove_prefix(prefix + 1);
  name = name.substr(0, name.find_first_of(";:"));
  while (name.starts_with('/')) name.remove_prefix(1);
  const std::size_t last = name.rfind('/');
  if (last != std::string_view::npos && find_canonical(plain(name.substr(last + 1))))
    name = name.substr(0, last);
  std::string common;
  for (const char letter : name) {
    const bool capital = letter >= 'A' && letter <= 'Z';
    const bool kept = capital || (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    common += capital ? static_cast<char>(letter - 'A' + 'a') : kept ? letter : '_';
  }
  return common;
}

}  // namespace opdump::tool
