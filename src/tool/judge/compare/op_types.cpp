#include "src/tool/judge/compare/op_types.hpp"

#include <cmath>
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
    {"identity", "noop"},
    {"layernorm", "layernormalization norm"},
    {"leakyrelu", "qlinearleakyrelu"},
    {"matmul",
     "batchmatmul batchmatmulv2 dense fullyconnected fusedgemm fusedmatmul gemm innerproduct matmulv2 matmulv3 mulmat qlinearmatmul"},
    {"mul", "qlinearmul"},
    {"pad", "mirrorpad padv2"},
    {"pool",
     "averagepool averagepool2d avgpool avgpoolv2 globalaveragepool globalmaxpool maxpool maxpool2d maxpoolv3 pooling pooling2d qlinearaveragepool qlinearglobalaveragepool"},
    {"quantize", "quantizelinear"},
    {"reducemean", "mean qlinearreducemean reducemeand"},
    {"reducesum", "reducesumd sumd"},
    {"relu", "clip clipbyvalue relu6 reluv2"},
    {"reshape", "expanddims flatten squeeze unsqueeze view"},
    {"resize", "interp resizebilinear resizebilinearv2 resizenearestneighbor upsample"},
    {"sigmoid", "logistic qlinearsigmoid"},
    {"silu", "swish"},
    {"slice", "stridedslice stridedsliced"},
    {"softmax", "qlinearsoftmax softmaxv2"},
    {"transpose", "permute transposed"},
};
constexpr std::string_view kWithoutAlias = "div gelu lrn prelu rmsnorm rsqrt split sub tanh";

/// Its letters, small, and digits.
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

// Canonical types.
constexpr std::string_view kBySize =
    "batchnorm conv convtranspose dequantize layernorm matmul mul muls reducesum rmsnorm scale svdf";
constexpr std::string_view kByUnit =
    "abs add adds batchtospacend biasadd channelshuffle concat cont copy cpy crop cumsum depthtospace elu erf "
    "expand gather gelu hardsigmoid hardswish identity leakyrelu lrn lstm max maximum min minimum mish neg pad "
    "pool prelu quantize reducemax reducemean reducemin relu relun1to1 requantize reshape resize reversesequence "
    "roialign rope selu shape slice softplus softsign spacetobatchnd spacetodepth split sub tanh tile transdata "
    "transpose unpack";
constexpr std::string_view kByExponent = "exp sigmoid silu softmax";

}  // namespace

bool has_word(std::string_view words, std::string_view word) {
  if (word.empty()) return false;
  return (' ' + std::string(words) + ' ').find(' ' + std::string(word) + ' ') != std::string::npos;
}

std::string canonical_type(std::string_view type) {
  const std::string name = plain(type);
  return find_canonical(name).value_or(name);
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

std::string_view hidden_inputs(std::string_view type, std::size_t inputs) {
  // Of ONNX: the sequence, three kinds of weights, lengths and the state.
  constexpr std::size_t kWithState = 6;
  const std::string name = plain(type);
  const auto has = [&name](std::string_view part) { return name.find(part) != name.npos; };
  if (has_word(
          "call callonce case for if loop partitionedcall scan sequencemap statefulpartitionedcall statelesscase "
          "statelessif statelesswhile while",
          name))
    return "the operators that it runs may read more than its inputs";
  if (name.starts_with("rand") || has("bernoulli") || has("dropout") || has("multinomial") || has("random") ||
      has("truncatednormal"))
    return "its result is random";
  const bool recurs = has("lstm") || has("gru") || name.ends_with("rnn");
  if ((recurs && inputs < kWithState) ||
      has_word("kvcache readvariable readvariableop varhandle varhandleop variable variablev2", name))
    return "it may read a state that is none of its inputs";
  return {};
}

bool only_moves(std::string_view type) {
  return has_word(
      "batchtospacend channelshuffle cont copy crop depthtospace identity pad reshape reverse reversesequence slice "
      "spacetobatchnd spacetodepth split tile transpose",
      canonical_type(type));
}

bool keeps_scale(std::string_view type) {
  return only_moves(type) || has_word("gather pool resize", canonical_type(type));
}

bool ignores_order(std::string_view type) {
  return has_word(
      "abs cast dequantize elu erf exp gelu hardsigmoid hardswish identity leakyrelu log mish neg quantize relu requantize "
      "reshape rsqrt selu sigmoid silu softplus softsign sqrt tanh",
      canonical_type(type));
}

PassesErrors passes_errors(std::string_view type) {
  const std::string canonical = canonical_type(type);
  if (has_word(kBySize, canonical)) return PassesErrors::by_size;
  if (has_word(kByExponent, canonical)) return PassesErrors::by_exponent;
  return has_word(kByUnit, canonical) ? PassesErrors::by_unit : PassesErrors::without_bound;
}

std::optional<Domain> domain_of(std::string_view type) {
  const std::string canonical = canonical_type(type);
  if (has_word("div inv mod realdiv reciprocal", canonical)) return Domain{-HUGE_VAL, HUGE_VAL, true};
  if (has_word("lgamma log pow rsqrt sqrt", canonical)) return Domain{0, HUGE_VAL};
  if (has_word("acos asin atanh", canonical)) return Domain{-1, 1};
  if (canonical == "log1p") return Domain{-1, HUGE_VAL};
  return canonical == "acosh" ? std::optional(Domain{1, HUGE_VAL}) : std::nullopt;
}

std::size_t least_inputs(std::string_view type) {
  const std::string canonical = canonical_type(type);
  if (has_word("maskedfill select selectv2 where", canonical)) return 3;
  return has_word("add conv convtranspose div gather matmul max maximum min minimum mod mul pow realdiv sub",
                  canonical)
             ? 2
             : 1;
}

bool sums_channels(std::string_view type) {
  return has_word("conv convtranspose matmul", canonical_type(type));
}

bool has_weights(std::string_view type) {
  return has_word("batchnorm conv convtranspose layernorm lstm matmul prelu rmsnorm svdf",
                  canonical_type(type));
}

}  // namespace opdump::tool
