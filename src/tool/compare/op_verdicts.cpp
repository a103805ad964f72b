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
      set(place, verdict_of(place, alike && begun));
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

  /// A culprit that has only read what another one has miswritten is its victim.
  void set(std::size_t place, Verdict verdict) {
    OpVerdict& op = ops_[place];
    op.verdict = verdict;
    if (verdict != Verdict::culprit || !op.misread_from) return;
    op.verdict = op.bad_output ? Verdict::victim : Verdict::agrees;
    ops_[*op.misread_from].verdict = Verdict::culprit;
  }

  /// Of the first operator that diverges: an operator before it, within the limits, may be to blame.
  void find_beginning(std::size_t first, bool begun) {
    OpVerdict& diverging = ops_[first];
    if (diverging.bad_input || diverging.bad_constant || diverging.equal_inputs) return;
    std::optional<std::size_t> beginning;
    for (const std::size_t place : places_) {
      if (place == first) break;
      const OpVerdict& op = ops_[place];
      if (!op.unequal_output || op.inputs == 0 || (begun && !begins(op))) continue;
      if (!begun && (op.growth() < kOwnGrowth || op.growth() <= diverging.growth())) continue;
      const bool most = !beginning || (begun ? op.output_error > ops_[*beginning].output_error
                                             : op.growth() > ops_[*beginning].growth());
      if (most) beginning = place;
    }
    if (!beginning) return;
    diverging.verdict = Verdict::victim;
    set(*beginning, Verdict::culprit);
  }

  std::vector<OpVerdict>& ops_;
  const std::vector<std::size_t> places_;
  const std::vector<bool>& has_output_;
  const std::vector<bool>& computes_;
};

/// Of the operators of one step: which of them read what another one has written by a constant of its own.
class MisreadStep {
 public:
  MisreadStep(std::vector<OpVerdict>& ops, const std::vector<std::size_t>& places, const DumpSide& mine,
              const std::vector<PairResult>& results, const std::vector<std::vector<std::size_t>>& pairs)
      : ops_(ops), places_(places), mine_(mine), results_(results), pairs_(pairs) {}

  void find() {
    for (std::size_t turn = 0; turn < places_.size(); ++turn) {
      OpVerdict& op = ops_[places_[turn]];
      if (op.bad_input || !op.unequal_output || op.unequal_constant) continue;
      op.misread = find_misread_input(mine_, results_, pairs_[places_[turn]]);
      if (!op.misread) continue;
      op.misread_from = writer_of(tensor(op.misread->result), turn);
      if (op.misread_from) ops_[*op.misread_from].misread_by = places_[turn];
    }
  }

 private:
  const DumpTensor& tensor(std::size_t result) const { return mine_.tensors[*results_[result].pair.mine]; }

  /// Operators between that have no other constant pass on what they read.
  std::optional<std::size_t> writer_of(const DumpTensor& input, std::size_t turn) const {
    const DumpTensor* wanted = &input;
    while (wanted != nullptr && turn != 0) {
      const std::size_t place = places_[--turn];
      if (!has_output(place, wanted->name)) continue;
      if (ops_[place].unequal_constant) return place;
      wanted = passed_on(place, *wanted->quant);
    }
    return std::nullopt;
  }

  bool has_output(std::size_t place, std::string_view name) const {
    return !name.empty() && std::any_of(pairs_[place].begin(), pairs_[place].end(), [&](std::size_t result) {
      return tensor(result).is_output && tensor(result).name == name;
    });
  }

  const DumpTensor* passed_on(std::size_t place, const Quantisation& quant) const {
    for (const std::size_t result : pairs_[place]) {
      const DumpTensor& input = tensor(result);
      if (!input.is_output && input.quant != nullptr && input.quant->scales == quant.scales &&
          input.quant->zero_points == quant.zero_points)
        return &input;
    }
    return nullptr;
  }

  std::vector<OpVerdict>& ops_;
  const std::vector<std::size_t>& places_;
  const DumpSide& mine_;
  const std::vector<PairResult>& results_;
  const std::vector<std::vector<std::size_t>>& pairs_;
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
  std::vector<std::vector<std::size_t>> pairs;
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
      pairs.emplace_back();
    }
    OpVerdict& op = ops[place->second];
    if (!result.comparison) {
      if (tensor.is_output && op.problem.empty()) op.problem = result.problem;
      continue;
    }
    pairs[place->second].push_back(i);
    const DumpTensor& partner = golden.tensors[*result.pair.golden];
    if (!op.other_dtype && tensor.dtype != partner.dtype) op.other_dtype = i;
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
    if (tensor.constant || partner.constant) {
      if (!op.unequal_constant && !is_equal(result)) op.unequal_constant = i;
      continue;
    }
    op.equal_inputs &= is_equal(result);
    op.input_error = std::max(op.input_error, error_of(result));
  }
  for (auto& [step, step_ops] : steps) {
    MisreadStep(ops, step_ops, mine, results, pairs).find();
    StepJudge(ops, std::move(step_ops), has_output, computes).judge();
  }
  for (OpVerdict& op : ops) {
    if (op.verdict == Verdict::unpaired && op.problem.empty()) op.problem = "the dump has no output of it";
    if (op.verdict != Verdict::unpaired) op.problem.clear();
  }
  return ops;
}

}  // namespace opdump::tool
