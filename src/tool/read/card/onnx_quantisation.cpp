#include "src/tool/read/card/onnx_quantisation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/read/card/onnx_tensor.hpp"
#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {

using namespace cards;

namespace {

/// A scale for each channel is a constant of at most as many elements.
constexpr std::size_t kMostQuantNumbers = 1 << 20;
/// A float64 tells each integer up to it.
constexpr double kMostQuantNumber = 0x1p53;

bool is_whole(double number) {
  return number == std::trunc(number);
}

bool is_axis(std::int64_t axis) {
  return axis >= 0 && axis < static_cast<std::int64_t>(kMaxRank);
}

/// Elements of a constant. None where the model does not hold them, or they are not finite, too many or too
/// large for scales.
struct ScaleNumbers {
  std::vector<double> all;
  bool whole = false;                                    ///< each of them
  const char* missing = "computed when the model runs";  ///< why there are none
};

/// What is said of the quantisation of a tensor.
struct Said {
  enum class What : std::uint8_t {
    nothing,
    coding,
    unknown,  ///< it is quantised, and nobody knows how, or not everybody says the same
  };

  What what = What::nothing;
  std::uint32_t scale = CardOp::kNoTensor;
  std::uint32_t zero_point = CardOp::kNoTensor;
  std::int64_t axis = -1;                         ///< of more than one scale
  const char* why = "not told by its operators";  ///< of what is unknown
};

class QuantisationFinder {
 public:
  QuantisationFinder(const std::unordered_map<std::uint32_t, Bytes>& constants, ModelCard& card,
                     CardBudget& budget)
      : constants_(constants), card_(card), budget_(budget), said_(card.tensors.size()) {}

  bool find(std::string& where) {
    for (const CardOp& op : card_.ops) {
      where = op.name;
      for (const QuantisedTensor& tensor : quantising_op(op).reads) add(tensor.tensor, coding(tensor, op));
      if (!good_) return false;
    }
    for (std::size_t i = card_.ops.size(); i-- != 0;) take_from_readers(card_.ops[i]);
    for (const CardOp& op : card_.ops) {
      where = op.name;
      follow(op);
      if (!good_) return false;
    }
    for (std::size_t i = 0; i < said_.size() && good_; ++i) tell(said_[i], card_.tensors[i].quant);
    for (const auto& [why, count] : left_out_)
      card_.left_out.push_back("scales of " + count_text(count, "tensor") + ", " + std::string(why));
    return good_;
  }

 private:
  Said coding(const QuantisedTensor& of, const CardOp& op) {
    Said said{.what = Said::What::unknown, .scale = of.scale, .zero_point = of.zero_point};
    const std::size_t count = numbers(of.scale).all.size();
    if (of.in_blocks)
      said.why = "of blocks";
    else if (count == 0)
      said.why = numbers(of.scale).missing;
    if (count == 0 || of.in_blocks) return said;
    if (of.zero_point != CardOp::kNoTensor) {
      const ScaleNumbers& zero_points = numbers(of.zero_point);
      if (!zero_points.whole || (zero_points.all.size() != 1 && zero_points.all.size() != count)) return said;
    }
    if (count > 1) {
      said.axis = of.axis < 0 ? of.axis + rank_of(of.tensor, op) : of.axis;
      const bool one_list = card_.tensors[of.scale].shape.size() == 1;
      if (!one_list || !is_axis(said.axis)) return said;
    }
    said.what = Said::What::coding;
    return said;
  }

  /// Of a tensor of `op`; 0: not known.
  std::int64_t rank_of(std::uint32_t tensor, const CardOp& op) const {
    if (tensor == CardOp::kNoTensor) return 0;
    const CardTensor* known = &card_.tensors[tensor];
    // These two keep the shape.
    if (!known->has_shape && op.type == "QuantizeLinear" && !op.inputs.empty() &&
        op.inputs[0] != CardOp::kNoTensor)
      known = &card_.tensors[op.inputs[0]];
    if (!known->has_shape && op.type == "DequantizeLinear" && !op.outputs.empty())
      known = &card_.tensors[op.outputs[0]];
    return static_cast<std::int64_t>(known->shape.size());
  }

  void add(std::uint32_t tensor, const Said& said) {
    if (tensor == CardOp::kNoTensor || said.what == Said::What::nothing) return;
    Said& before = said_[tensor];
    if (before.what == Said::What::nothing) before = said;
    if (same(before, said)) return;
    if (before.what == said.what) before.why = "told in several ways";
    before.what = Said::What::unknown;
  }

  /// Until then `said_` is what is said by who reads a tensor.
  void take_from_readers(const CardOp& op) {
    const QuantisingOp quantising = quantising_op(op);
    for (const std::uint32_t output : quantising.passed_to) {
      const Said moved = on_axis(said_[output], op, axis_taken_from);
      if (moved.what == Said::What::unknown && said_[output].what == Said::What::coding) continue;
      for (const std::uint32_t input : quantising.passes_on) add(input, moved);
    }
  }

  /// By now `said_` of its inputs is how they are written.
  void follow(const CardOp& op) {
    const QuantisingOp quantising = quantising_op(op);
    if (quantising.writes && quantising.writes->tensor != CardOp::kNoTensor)
      said_[quantising.writes->tensor] = coding(*quantising.writes, op);
    if (quantising.passed_to.empty()) return;
    std::optional<Said> of_all;
    for (const std::uint32_t input : quantising.passes_on) {
      if (input == CardOp::kNoTensor) continue;
      if (!of_all) of_all = said_[input];
      if (!same(*of_all, said_[input])) of_all->what = Said::What::unknown;
    }
    if (!of_all || of_all->what == Said::What::nothing) return;
    for (const std::uint32_t output : quantising.passed_to)
      said_[output] = on_axis(*of_all, op, axis_passed_on);
  }

  template <class Move>
  Said on_axis(Said said, const CardOp& op, Move&& move) {
    if (said.what != Said::What::coding || said.axis < 0) return said;
    const std::optional<std::int64_t> axis = move(op, said.axis);
    if (axis && is_axis(*axis))
      said.axis = *axis;
    else
      said.what = Said::What::unknown;
    return said;
  }

  bool same(const Said& a, const Said& b) {
    if (a.what != b.what || a.axis != b.axis) return false;
    if (a.what != Said::What::coding) return true;
    if (a.scale == b.scale && a.zero_point == b.zero_point) return true;
    const std::size_t count = numbers(a.scale).all.size();
    good_ = good_ && budget_.take(count);
    if (!good_ || numbers(a.scale).all != numbers(b.scale).all) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (zero_point(a, i) != zero_point(b, i)) return false;
    }
    return true;
  }

  double zero_point(const Said& of, std::size_t i) {
    if (of.zero_point == CardOp::kNoTensor) return 0;
    const std::vector<double>& all = numbers(of.zero_point).all;
    return all[all.size() == 1 ? 0 : i];
  }

  void tell(const Said& said, Quantisation& quant) {
    if (said.what == Said::What::unknown) ++left_out_[said.why];
    if (said.what != Said::What::coding) return;
    const std::vector<double>& scales = numbers(said.scale).all;
    good_ = good_ && budget_.take(scales.size());
    if (!good_) return;
    quant.scheme = QuantScheme::affine;
    for (const double scale : scales) quant.scales.push_back(static_cast<float>(scale));
    quant.axis = said.axis;
    if (said.zero_point == CardOp::kNoTensor) return;
    for (std::size_t i = 0; i < scales.size(); ++i)
      quant.zero_points.push_back(static_cast<std::int64_t>(zero_point(said, i)));
  }

  const ScaleNumbers& numbers(std::uint32_t place) {
    const auto [found, added] = numbers_.try_emplace(place);
    if (added && good_) read(place, found->second);
    return found->second;
  }

  void read(std::uint32_t place, ScaleNumbers& numbers) {
    const auto constant = constants_.find(place);
    const bool is_constant = place != CardOp::kNoTensor && card_.tensors[place].constant;
    if (is_constant) numbers.missing = "of a form that is not read";
    if (constant == constants_.end()) return;
    const ReadElements read = element_reader(card_.tensors[place].dtype);
    OnnxTensor tensor;
    good_ = budget_.take(constant->second.size() / 16);
    if (!good_ || read == nullptr) return;
    good_ = read_onnx_tensor(constant->second, tensor);
    const Result<std::uint64_t> count = element_count(tensor.dims);
    if (tensor.is_external) numbers.missing = "in another file";
    if (!good_ || tensor.is_external || !count.ok() || count.value() == 0 ||
        count.value() > kMostQuantNumbers)
      return;
    std::vector<std::byte> bytes;
    std::string reason;
    good_ = onnx_elements(tensor, bytes, reason);
    if (!good_) return;
    std::vector<double> values(static_cast<std::size_t>(count.value()));
    read(bytes.data(), values.size(), values.data());
    const auto fits = [](double value) { return std::fabs(value) <= kMostQuantNumber; };
    if (!std::all_of(values.begin(), values.end(), fits)) return;
    numbers.whole = std::all_of(values.begin(), values.end(), is_whole);
    numbers.all = std::move(values);
  }

  const std::unordered_map<std::uint32_t, Bytes>& constants_;
  ModelCard& card_;
  CardBudget& budget_;
  std::vector<Said> said_;
  std::unordered_map<std::uint32_t, ScaleNumbers> numbers_;
  std::map<std::string_view, std::size_t> left_out_;  ///< tensors, by why
  bool good_ = true;
};

}  // namespace

bool find_onnx_quantisation(const std::unordered_map<std::uint32_t, Bytes>& constants, ModelCard& card,
                            CardBudget& budget, std::string& where) {
  return QuantisationFinder(constants, card, budget).find(where);
}

using cards::CardAttribute;
using cards::CardOp;

namespace {

/// Elements are moved, left out, repeated, or compared with each other.
constexpr std::string_view kPassOneOn[] = {
    "Clip",     "Compress", "DepthToSpace", "Expand",          "Flatten",  "Gather",       "GatherElements",
    "GatherND", "Identity", "MaxPool",      "NhwcMaxPool",     "Pad",      "ReduceMax",    "ReduceMin",
    "Relu",     "Reshape",  "Resize",       "ReverseSequence", "Slice",    "SpaceToDepth", "Split",
    "Squeeze",  "Tile",     "Transpose",    "Trilu",           "Unsqueeze"};

/// Each index of an axis stays at the same one.
constexpr std::string_view kKeepAxes[] = {"Clip", "Identity", "MaxPool", "Relu"};

constexpr std::string_view kOfOneTensor[] = {"QLinearAveragePool", "QLinearGlobalAveragePool",
                                             "QLinearLeakyRelu",   "QLinearReduceMean",
                                             "QLinearSigmoid",     "QLinearSoftmax"};

template <std::size_t kCount>
bool is_one_of(const std::string_view (&types)[kCount], std::string_view type) {
  return std::find(std::begin(types), std::end(types), type) != std::end(types);
}

const CardAttribute* attribute_of(const CardOp& op, std::string_view name) {
  const auto found = std::find_if(op.attributes.begin(), op.attributes.end(),
                                  [&](const CardAttribute& each) { return each.name == name; });
  return found == op.attributes.end() ? nullptr : &*found;
}

std::int64_t integer_of(const CardOp& op, std::string_view name, std::int64_t without) {
  const CardAttribute* const found = attribute_of(op, name);
  return found == nullptr ? without : std::atoll(found->json.c_str());
}

/// The axis of the input for each of the output's; empty: the model does not say.
std::vector<std::int64_t> permutation_of(const CardOp& op) {
  std::vector<std::int64_t> axes;
  const CardAttribute* const found = attribute_of(op, "perm");
  if (found == nullptr) return axes;
  for (const char* at = found->json.c_str(); *at != '\0';) {
    char* end = nullptr;
    const long long axis = std::strtoll(at, &end, 10);
    if (end != at) axes.push_back(axis);
    at = end == at ? at + 1 : end;
  }
  return axes;
}

class OpInputs {
 public:
  explicit OpInputs(const CardOp& op) : op_(op) {}

  std::uint32_t at(std::size_t i) const { return i < op_.inputs.size() ? op_.inputs[i] : CardOp::kNoTensor; }

  QuantisedTensor scaled(std::uint32_t tensor, std::size_t scale, std::int64_t axis = 0) const {
    return {.tensor = tensor, .scale = at(scale), .zero_point = at(scale + 1), .axis = axis};
  }

  /// Scale and zero point are the next two inputs.
  QuantisedTensor scaled_input(std::size_t i, std::int64_t axis = 0) const {
    return scaled(at(i), i + 1, axis);
  }

  QuantisedTensor scaled_output(std::size_t scale, std::int64_t axis = 0) const {
    return scaled(op_.outputs.empty() ? CardOp::kNoTensor : op_.outputs[0], scale, axis);
  }

 private:
  const CardOp& op_;
};

/// QLinear operators and QGemm.
QuantisingOp of_quantised(const CardOp& op) {
  const OpInputs in(op);
  if (op.type == "QLinearConv")
    return {.reads = {in.scaled_input(0), in.scaled_input(3, 0)}, .writes = in.scaled_output(6)};
  if (op.type == "QLinearMatMul")
    return {.reads = {in.scaled_input(0, -2), in.scaled_input(3, -1)}, .writes = in.scaled_output(6, -2)};
  if (op.type == "QLinearAdd" || op.type == "QLinearMul")
    return {.reads = {in.scaled_input(0), in.scaled_input(3)}, .writes = in.scaled_output(6)};
  if (op.type == "QLinearWhere")
    return {.reads = {in.scaled_input(1), in.scaled_input(4)}, .writes = in.scaled_output(7)};
  if (op.type == "QLinearConcat") {
    QuantisingOp found{.writes = in.scaled_output(0)};
    for (std::size_t i = 2; i < op.inputs.size(); i += 3) found.reads.push_back(in.scaled_input(i));
    return found;
  }
  if (op.type == "QGemm") {
    const bool second_transposed = integer_of(op, "transB", 0) != 0;
    QuantisingOp found{.reads = {in.scaled_input(0), in.scaled_input(3, second_transposed ? 0 : 1)}};
    if (in.at(7) != CardOp::kNoTensor) found.writes = in.scaled_output(7);
    return found;
  }
  if (is_one_of(kOfOneTensor, op.type)) return {.reads = {in.scaled_input(0)}, .writes = in.scaled_output(3)};
  return {.writes = QuantisedTensor{.tensor = in.scaled_output(0).tensor}};
}

std::vector<std::uint32_t> passed_on(const CardOp& op) {
  const OpInputs in(op);
  if (is_one_of(kPassOneOn, op.type)) return {in.at(0)};
  if (op.type == "Concat" || op.type == "Max" || op.type == "Min") return op.inputs;
  if (op.type == "Where") return {in.at(1), in.at(2)};
  if (op.type == "ScatterElements" || op.type == "ScatterND") return {in.at(0), in.at(2)};
  return {};
}

}  // namespace

QuantisingOp quantising_op(const CardOp& op) {
  if (!op.domain.empty() && op.domain != "com.microsoft") return {};
  const OpInputs in(op);
  if (op.type == "QuantizeLinear" || op.type == "DequantizeLinear") {
    const bool writes = op.type == "QuantizeLinear";
    QuantisedTensor tensor = writes ? in.scaled_output(1) : in.scaled_input(0);
    tensor.axis = integer_of(op, "axis", 1);
    tensor.in_blocks = integer_of(op, "block_size", 0) != 0;
    return writes ? QuantisingOp{.writes = tensor} : QuantisingOp{.reads = {tensor}};
  }
  if (op.type == "DynamicQuantizeLinear")
    return {.writes = QuantisedTensor{.tensor = in.scaled_output(0).tensor}};
  if (op.type.starts_with("QLinear") || op.type == "QGemm") return of_quantised(op);
  QuantisingOp found{.passes_on = passed_on(op)};
  if (found.passes_on.empty() || op.outputs.empty()) return found;
  // But for Split's, a second output tells where elements were.
  found.passed_to = op.type == "Split" ? op.outputs : std::vector{op.outputs[0]};
  return found;
}

std::optional<std::int64_t> axis_passed_on(const CardOp& op, std::int64_t axis) {
  if (is_one_of(kKeepAxes, op.type)) return axis;
  if (op.type != "Transpose") return std::nullopt;
  const std::vector<std::int64_t> axes = permutation_of(op);
  const auto found = std::find(axes.begin(), axes.end(), axis);
  return found == axes.end() ? std::nullopt : std::optional<std::int64_t>(found - axes.begin());
}

std::optional<std::int64_t> axis_taken_from(const CardOp& op, std::int64_t axis) {
  if (is_one_of(kKeepAxes, op.type)) return axis;
  if (op.type != "Transpose") return std::nullopt;
  const std::vector<std::int64_t> axes = permutation_of(op);
  return static_cast<std::size_t>(axis) < axes.size() ? std::optional(axes[static_cast<std::size_t>(axis)])
                                                      : std::nullopt;
}

}  // namespace opdump::tool
