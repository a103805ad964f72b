#include "src/tool/judge/compare/op_types.hpp"

#include <algorithm>

namespace opdump::tool {
namespace {

struct Alias {
  std::string_view type;
  std::string_view canonical;
};

/// In order. Source: the operators of ONNX, TensorFlow Lite, CANN, OpenCV, Arm NN and ggml.
constexpr Alias kAliases[] = {
    {"addv2", "add"},
    {"avgpool", "pool"},
    {"averagepool", "pool"},
    {"averagepool2d", "pool"},
    {"batchmatmul", "matmul"},
    {"batchmatmulv2", "matmul"},
    {"batchnorm", "batchnorm"},
    {"batchnormalization", "batchnorm"},
    {"bninference", "batchnorm"},
    {"clip", "relu"},
    {"clipbyvalue", "relu"},
    {"concatd", "concat"},
    {"concatenation", "concat"},
    {"concatv2", "concat"},
    {"concatv2d", "concat"},
    {"conv2d", "conv"},
    {"conv2dtranspose", "convtranspose"},
    {"convinteger", "conv"},
    {"convolution", "conv"},
    {"convolution2d", "conv"},
    {"deconvolution", "convtranspose"},
    {"dense", "matmul"},
    {"depthwiseconv2d", "conv"},
    {"depthwiseconv2dnative", "conv"},
    {"depthwiseconvolution2d", "conv"},
    {"dequantizelinear", "dequantize"},
    {"elementwiseadd", "add"},
    {"eltwise", "add"},
    {"expanddims", "reshape"},
    {"flatten", "reshape"},
    {"fullyconnected", "matmul"},
    {"fusedbatchnorm", "batchnorm"},
    {"fusedbatchnormv3", "batchnorm"},
    {"fusedconv", "conv"},
    {"fusedgemm", "matmul"},
    {"fusedmatmul", "matmul"},
    {"gatherv2", "gather"},
    {"gemm", "matmul"},
    {"getrows", "gather"},
    {"globalaveragepool", "pool"},
    {"globalmaxpool", "pool"},
    {"innerproduct", "matmul"},
    {"interp", "resize"},
    {"layernormalization", "layernorm"},
    {"logistic", "sigmoid"},
    {"matmulv2", "matmul"},
    {"matmulv3", "matmul"},
    {"maxpool", "pool"},
    {"maxpool2d", "pool"},
    {"maxpoolv3", "pool"},
    {"mean", "reducemean"},
    {"mirrorpad", "pad"},
    {"mulmat", "matmul"},
    {"padv2", "pad"},
    {"permute", "transpose"},
    {"pooling", "pool"},
    {"pooling2d", "pool"},
    {"qlinearadd", "add"},
    {"qlinearaveragepool", "pool"},
    {"qlinearconcat", "concat"},
    {"qlinearconv", "conv"},
    {"qlinearglobalaveragepool", "pool"},
    {"qlinearmatmul", "matmul"},
    {"qlinearmul", "mul"},
    {"qlinearsigmoid", "sigmoid"},
    {"quantizelinear", "quantize"},
    {"reducemeand", "reducemean"},
    {"relu6", "relu"},
    {"reluv2", "relu"},
    {"resizebilinear", "resize"},
    {"resizebilinearv2", "resize"},
    {"resizenearestneighbor", "resize"},
    {"rsqrt", "rsqrt"},
    {"softmaxv2", "softmax"},
    {"squeeze", "reshape"},
    {"stridedslice", "slice"},
    {"stridedsliced", "slice"},
    {"sum", "add"},
    {"swish", "silu"},
    {"transposeconv", "convtranspose"},
    {"transposed", "transpose"},
    {"unsqueeze", "reshape"},
    {"upsample", "resize"},
    {"view", "reshape"},
};

constexpr std::string_view kOthers[] = {
    "add",        "concat", "conv",    "convtranspose", "dequantize", "div",     "gather", "gelu",
    "layernorm",  "lrn",    "matmul",  "mul",           "pad",        "pool",    "prelu",  "quantize",
    "reducemean", "relu",   "reshape", "resize",        "rmsnorm",    "sigmoid", "silu",   "slice",
    "softmax",    "split",  "sub",     "tanh",          "transpose",
};

std::string plain(std::string_view text) {
  std::string letters;
  for (const char letter : text) {
    if ((letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9')) letters += letter;
    if (letter >= 'A' && letter <= 'Z') letters += static_cast<char>(letter - 'A' + 'a');
  }
  return letters;
}

const Alias* find_alias(std::string_view type) {
  const auto* const found = std::find_if(std::begin(kAliases), std::end(kAliases),
                                         [&](const Alias& alias) { return alias.type == type; });
  return found == std::end(kAliases) ? nullptr : found;
}

bool is_known(std::string_view type) {
  return find_alias(type) != nullptr ||
         std::find(std::begin(kOthers), std::end(kOthers), type) != std::end(kOthers);
}

}  // namespace

std::string canonical_type(std::string_view type) {
  std::string name = plain(type);
  const Alias* const alias = find_alias(name);
  return alias == nullptr ? name : std::string(alias->canonical);
}

std::string common_name(std::string_view name) {
  const std::size_t prefix = name.rfind('!');
  if (prefix != std::string_view::npos && prefix + 1 < name.size()) name.remove_prefix(prefix + 1);
  name = name.substr(0, name.find_first_of(";:"));
  while (name.starts_with('/')) name.remove_prefix(1);
  const std::size_t last = name.rfind('/');
  if (last != std::string_view::npos && is_known(plain(name.substr(last + 1)))) name = name.substr(0, last);
  std::string common;
  for (const char letter : name) {
    const bool capital = letter >= 'A' && letter <= 'Z';
    const bool kept = capital || (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    common += capital ? static_cast<char>(letter - 'A' + 'a') : kept ? letter : '_';
  }
  return common;
}

}  // namespace opdump::tool
