#include "src/tool/judge/compare/healthy_error.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "opdump/impl/stats/non_finite.hpp"
#include "src/tool/judge/compare/msprobe_dump.hpp"
#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {

namespace {

/// Its letters, small, and digits.
std::string plain(std::string_view text) {
  std::string letters;
  for (const char letter : text) {
    if ((letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9')) letters += letter;
    if (letter >= 'A' && letter <= 'Z') letters += static_cast<char>(letter - 'A' + 'a');
  }
  return letters;
}

/// Half of the last place, relative; 0: no floating dtype.
double half_ulp_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 0x1p-53;
    case DType::float32:
      return 0x1p-24;
    case DType::float16:
      return 0x1p-11;
    case DType::bfloat16:
      return 0x1p-8;
    default:
      return is_complex(dtype) ? 0x1p-11 : can_be_non_finite(dtype) ? 0x1p-2 : 0;
  }
}

/// The greatest number of a floating dtype that others are rounded to; infinite: not known.
double greatest_of(DType dtype) {
  if (dtype == DType::float16) return 65504;
  if (dtype == DType::bfloat16) return 0x1.FEp127;
  return dtype == DType::float32 ? 0x1.FFFFFEp127 : HUGE_VAL;
}

/// The greatest step of integers that stand for real numbers; 0: not known.
double step_of(const Quantisation& quant) {
  double step = 0;
  for (const float scale : quant.scales) step = std::max(step, std::fabs(static_cast<double>(scale)));
  for (const std::int32_t exponent : quant.exponents) step = std::max(step, std::ldexp(1.0, exponent));
  return step;
}

bool is_narrow(DType dtype) {
  return dtype != DType::boolean && info(dtype).bits <= 16;
}

/// What rounding to the dtype of one side adds, relative to golden's size.
double step_error(const DumpTensor& tensor, double golden_rms) {
  constexpr double kBlocks = 0.06;
  const double subnormal = tensor.dtype == DType::float16 && golden_rms > 0 ? 0x1p-25 / golden_rms : 0;
  if (half_ulp_of(tensor.dtype) > 0) return half_ulp_of(tensor.dtype) + subnormal;
  if (tensor.quant == nullptr) return is_narrow(tensor.dtype) && golden_rms > 0 ? 1 / golden_rms : 0;
  const double step = step_of(*tensor.quant);
  if (step == 0) return kBlocks;
  return golden_rms > 0 ? step / golden_rms : HUGE_VAL;
}

// Canonical types.
constexpr std::string_view kBySize =
    "batchnorm conv convtranspose dequantize layernorm matmul mul muls reducesum rmsnorm scale svdf";
constexpr std::string_view kByUnit =
    "abs add adds batchtospacend biasadd channelshuffle clip concat cont copy cpy crop cumsum depthtospace dropout elu erf "
    "expand gather gelu hardsigmoid hardswish identity leakyrelu lrn lstm max maximum min minimum mish neg pad pool prelu "
    "quantize reducemax reducemean reducemin relu relun1to1 requantize reshape resize reversesequence roialign rope selu shape "
    "slice softplus softsign spacetobatchnd spacetodepth split sub tanh tile transdata transpose unpack";
constexpr std::string_view kByExponent = "exp sigmoid silu softmax";
// Those that change no element by more than one of an input, and those that weigh what they read.
constexpr std::string_view kSingle = "add concat gather pad pool relu reshape slice split sub tanh transpose";
constexpr std::string_view kWeighing = "batchnorm conv matmul mul";

}  // namespace

bool is_equal(const PairResult& result) {
  return result.comparison->equal == result.comparison->elements ||
         result.comparison->summary_distance == 0.0;
}

TensorError error_of(const PairResult& result) {
  const compare::Comparison& c = *result.comparison;
  TensorError error;
  error.golden_rms = std::hypot(c.y_mean, c.y_deviation);
  error.golden_deviation = c.y_deviation;
  if (is_equal(result)) return error;
  error.all = c.summary_distance.value_or(c.relative_euclidean_distance);
  if (std::isnan(error.all)) error.all = HUGE_VAL;
  error.rms = c.root_mean_square_error;
  error.most = c.max_absolute_error;
  error.elements = static_cast<double>(c.elements);
  error.offset = std::fabs(c.x_mean - c.y_mean);
  if (c.max_absolute_at && error.golden_rms > 0)
    error.peak = error.most / std::max(std::fabs(c.y_at_max), error.golden_rms);
  return error;
}

bool is_random(std::string_view type) {
  constexpr std::string_view kParts[] = {"bernoulli", "dropout", "multinomial", "random", "truncatednormal"};
  const std::string name = plain(type);
  return name.starts_with("rand") ||
         std::any_of(std::begin(kParts), std::end(kParts),
                     [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

bool reads_state(std::string_view type) {
  return has_word("kvcache readvariable readvariableop varhandle varhandleop variable variablev2",
                  plain(type));
}

bool is_recurrent(std::string_view type) {
  const std::string name = plain(type);
  return name.find("lstm") != name.npos || name.find("gru") != name.npos || name.ends_with("rnn");
}

bool moves_elements(std::string_view type) {
  return has_word(
      "batchtospacend channelshuffle concat crop depthtospace gather gatherelements gathernd im2col reshape reverse "
      "reversesequence roll scatter scatternd slice spacetobatchnd spacetodepth split sort tile transdata transpose",
      canonical_type(type));
}

PassesErrors passes_errors(std::string_view type) {
  const std::string canonical = canonical_type(type);
  if (has_word(kBySize, canonical)) return PassesErrors::by_size;
  if (has_word(kByExponent, canonical)) return PassesErrors::by_exponent;
  return has_word(kByUnit, canonical) ? PassesErrors::by_unit : PassesErrors::without_bound;
}

bool has_domain(std::string_view type) {
  return has_word("acos acosh asin atanh div inv lgamma log log1p mod pow realdiv reciprocal rsqrt sqrt",
                  canonical_type(type));
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

bool shows_single_elements(std::string_view type, const TensorError& input) {
  constexpr double kSpread = 8, kSpreadUnits = 16;
  const std::string canonical = canonical_type(type);
  const bool spread = input.peak <= kSpread * input.all && input.most <= kSpreadUnits * input.rms;
  return has_word(kSingle, canonical) || (spread && has_word(kWeighing, canonical));
}

TensorError explained_by(const TensorError& input, const TensorError& output, PassesErrors passes) {
  constexpr double kMostCancelled = 100;
  TensorError explained = input;
  if (input.all == 0) return explained;
  if (passes == PassesErrors::without_bound) {
    explained.all = explained.peak = HUGE_VAL;
    return explained;
  }
  // What all elements have in common may cancel out.
  if (input.golden_deviation > 0)
    explained.all =
        std::max(input.all, std::min(input.rms / input.golden_deviation, kMostCancelled * input.all));
  if (passes == PassesErrors::by_unit && output.golden_rms > 0) {
    explained.all = std::max(explained.all, input.rms / output.golden_rms);
    explained.peak = std::max(explained.peak, input.most / output.golden_rms);
  }
  // Weights of one sign add up what all elements are off by alike, where the signal cancels out.
  if (passes == PassesErrors::by_size && input.rms > 0) {
    // Of few elements, chance has as much in common.
    const double chance = 3 / std::sqrt(std::max(1.0, input.elements));
    const double alike = std::clamp(input.offset / input.rms - chance, 0.0, 1.0) * kMostCancelled;
    explained.all = std::max(explained.all, alike * input.all);
    explained.peak = std::max(explained.peak, alike * input.all);
  }
  if (passes == PassesErrors::by_exponent) explained.all = std::max(explained.all, std::expm1(input.most));
  if (std::isnan(explained.all)) explained.all = HUGE_VAL;
  return explained;
}

double healthy_error(const PairResult& output, const DumpTensor& mine, const DumpTensor& golden,
                     std::uint64_t terms, double size) {
  constexpr double kSpread = 4;  // of sums of as many roundings, by their deviation
  constexpr double kMost = 0.05;
  const double golden_rms = error_of(output).golden_rms;
  const double cancelled = golden_rms > 0 ? std::max(1.0, size / golden_rms) : size > 0 ? HUGE_VAL : 1;
  double healthy = 0;
  for (const DumpTensor* const tensor : {&mine, &golden}) {
    const double rounding = half_ulp_of(tensor->dtype);
    const double sum = kSpread * rounding * std::sqrt(static_cast<double>(terms) + 1);
    healthy =
        std::max(healthy, rounding > 0 ? std::min(kMost, sum) * cancelled : step_error(*tensor, golden_rms));
  }
  return healthy;
}

bool is_rounded(const PairResult& constant, const DumpSide& mine, const DumpSide& golden) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 24;
  const DumpTensor ours = mine.tensors[*constant.pair.mine], theirs = golden.tensors[*constant.pair.golden];
  const TensorError error = error_of(constant);
  const double step = 2 * std::max(step_error(ours, error.golden_rms), step_error(theirs, error.golden_rms));
  if (error.all <= step) return true;
  const double end = std::min(greatest_of(ours.dtype), greatest_of(theirs.dtype));
  if (greatest_of(ours.dtype) == greatest_of(theirs.dtype) || ours.elements > kMost) return false;
  std::vector<double> numbers;
  numbers.reserve(static_cast<std::size_t>(ours.elements));
  const auto keep = [&](std::span<const double> some) {
    numbers.insert(numbers.end(), some.begin(), some.end());
  };
  std::size_t at = 0;
  bool rounded = true;
  const bool read =
      for_each_number(mine, ours, keep) && for_each_number(golden, theirs, [&](std::span<const double> some) {
        for (const double number : some) {
          const double x = std::clamp(numbers[std::min(at++, numbers.size() - 1)], -end, end);
          const double y = std::clamp(number, -end, end);
          rounded &= std::fabs(x - y) <= 2 * step * std::fabs(y);
        }
      });
  return read && rounded && at == numbers.size();
}

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
