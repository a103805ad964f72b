#include "src/tool/compare/op_verdicts.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "src/tool/compare/op_key.hpp"

namespace opdump::tool {
namespace {

using Step = std::pair<std::optional<std::uint32_t>, std::string>;

/// An error that is so many times that of the inputs is an operator's own. Source: msprobe's warnings.
constexpr double kOwnGrowth = 10;
/// The same of the first operator that diverges: half of its error is its own.
constexpr double kFirstGrowth = 2;

bool is_equal(const PairResult& result) {
  return result.comparison->equal == result.comparison->elements ||
         result.comparison->summary_distance == 0.0;
}

double error_of(const PairResult& result) {
  if (is_equal(result)) return 0;
  const double error =
      result.comparison->summary_distance.value_or(result.comparison->relative_euclidean_distance);
  return std::isnan(error) ? HUGE_VAL : error;
}

/// What rounding alone makes in the sums of an operator, about.
double rounding_of_dtype(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 1e-3;
    case DType::bfloat16:
    case DType::int8:
    case DType::uint8:
      return 8e-3;
    default:
      return info(dtype).bits >= 16 ? 1e-6 : 0.06;
  }
}

/// Numbers that a network computes with, not those of shapes and places.
bool is_computed(DType dtype) {
  return dtype != DType::boolean &&
         (info(dtype).bits <= 16 || dtype == DType::float32 || dtype == DType::float64);
}

/// The operators of one step, in order.
class StepJudge {
 public:
  StepJudge(std::vector<OpVerdict>& ops, std::vector<std::size_t> places, const std::vector<bool>& has_output,
            const std::vector<bool>& computes)
      : ops_(ops), places_(std::move(places)), has_output_(has_output), computes_(computes) {}

  void judge() {
    const bool alike = computed_alike();
    bool fed = false, begun = false;
    for (const std::size_t place : places_) {
      OpVerdict& op = ops_[place];
      op.fed = fed;
      op.verdict = verdict_of(place, alike && begun);
      if (op.bad_output && !fed && op.inputs != 0) find_beginning(place, alike && begun);
      fed |= op.bad_output.has_value();
      begun |= begins(op);
    }
  }

 private:
  static bool begins(const OpVerdict& op) {
    return op.inputs != 0 && op.equal_inputs && op.unequal_output.has_value();
  }

  /// Whether both sides have the same dtypes, and operators with equal inputs mostly have equal outputs.
  bool computed_alike() const {
    std::size_t equal = 0, unequal = 0;
    for (const std::size_t place : places_) {
      const OpVerdict& op = ops_[place];
      if (op.other_dtype) return false;
      if (op.inputs == 0 || !op.equal_inputs || op.bad_constant || !computes_[place]) continue;
      ++(op.unequal_output ? unequal : equal);
    }
    return equal > 3 * unequal;
  }

  /// `begun`: the sides were computed alike, and it is known before this operator where they part.
  Verdict verdict_of(std::size_t place, bool begun) const {
    const OpVerdict& op = ops_[place];
    if (!op.bad_output) return has_output_[place] ? Verdict::agrees : Verdict::unpaired;
    if (op.bad_input) return Verdict::victim;
    if (op.inputs == 0) return Verdict::diverges;
    if (op.equal_inputs || op.bad_constant) return Verdict::culprit;
    if (begun) return Verdict::victim;
    return op.growth() >= (op.fed ? kOwnGrowth : kFirstGrowth) ? Verdict::culprit : Verdict::victim;
  }

  /// Of the first operator that diverges: an operator before it, within the limits, may be to blame.
  void find_beginning(std::size_t first, bool begun) {
    OpVerdict& diverging = ops_[first];
    if (diverging.bad_input || diverging.bad_constant || diverging.equal_inputs) return;
    OpVerdict* beginning = nullptr;
    for (const std::size_t place : places_) {
      if (place == first) break;
      OpVerdict& op = ops_[place];
      if (!op.unequal_output || op.inputs == 0 || (begun && !begins(op))) continue;
      if (!begun && (op.growth() < kOwnGrowth || op.growth() <= diverging.growth())) continue;
      const bool most = beginning == nullptr || (begun ? op.output_error > beginning->output_error
                                                       : op.growth() > beginning->growth());
      if (most) beginning = &op;
    }
    if (beginning != nullptr) beginning->verdict = Verdict::culprit;
    if (beginning != nullptr) diverging.verdict = Verdict::victim;
  }

  std::vector<OpVerdict>& ops_;
  const std::vector<std::size_t> places_;
  const std::vector<bool>& has_output_;
  const std::vector<bool>& computes_;
};

}  // namespace

std::string_view to_string(Verdict verdict) {
  constexpr std::string_view kWords[] = {"agrees", "culprit", "victim", "diverges", "unpaired"};
  return kWords[static_cast<std::size_t>(verdict)];
}

double OpVerdict::growth() const {
  return output_error / std::max(input_error, rounding);
}

std::vector<OpVerdict> judge_ops(const DumpSide& mine, const DumpSide& golden,
                                 const std::vector<PairResult>& results,
                                 const std::function<bool(const PairResult&)>& diverges) {
  std::vector<OpVerdict> ops;
  std::vector<bool> has_output, computes;
  std::map<OpKey, std::size_t> places;
  std::map<Step, std::vector<std::size_t>> steps;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const PairResult& result = results[i];
    if (!result.pair.mine) continue;
    const DumpTensor& tensor = mine.tensors[*result.pair.mine];
    const DumpFile& file = mine.files[tensor.file];
    const auto [place, added] = places.try_emplace(key_of(file, tensor.file), ops.size());
    if (added) {
      steps[{file.boot, file.place}].push_back(ops.size());
      ops.push_back({.file = tensor.file});
      has_output.push_back(false);
      computes.push_back(false);
    }
    OpVerdict& op = ops[place->second];
    if (!result.comparison) {
      if (tensor.is_output && op.problem.empty()) op.problem = result.problem;
      continue;
    }
    const DumpTensor& partner = golden.tensors[*result.pair.golden];
    op.other_dtype |= tensor.dtype != partner.dtype;
    op.rounding = std::max({op.rounding, rounding_of_dtype(tensor.dtype), rounding_of_dtype(partner.dtype)});
    if (tensor.is_output) {
      has_output[place->second] = true;
      if (is_computed(tensor.dtype)) computes[place->second] = true;
      op.output_error = std::max(op.output_error, error_of(result));
      if (!op.unequal_output && !is_equal(result)) op.unequal_output = i;
      if (!op.bad_output && diverges(result)) op.bad_output = i;
      continue;
    }
    ++op.inputs;
    std::optional<std::size_t>& bad = tensor.constant || partner.constant ? op.bad_constant : op.bad_input;
    if (!bad && diverges(result)) bad = i;
    if (tensor.constant || partner.constant) continue;
    op.equal_inputs &= is_equal(result);
    op.input_error = std::max(op.input_error, error_of(result));
  }
  for (auto& [step, step_ops] : steps) StepJudge(ops, std::move(step_ops), has_output, computes).judge();
  for (OpVerdict& op : ops) {
    if (op.verdict == Verdict::unpaired && op.problem.empty()) op.problem = "the dump has no output of it";
    if (op.verdict != Verdict::unpaired) op.problem.clear();
  }
  return ops;
}

}  // namespace opdump::tool
