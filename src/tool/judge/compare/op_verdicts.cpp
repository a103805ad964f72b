#include "src/tool/judge/compare/op_verdicts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/op_key.hpp"
#include "src/tool/judge/compare/step_verdicts.hpp"

namespace opdump::tool {
namespace {

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

/// What one result says of its operator.
struct ResultFact {
  std::uint64_t result = 0;
  std::uint64_t file = 0;
  double error = 0;
  double rounding = 0;
  bool is_output = false;
  bool is_compared = false;
  bool is_constant = false;
  bool is_equal = false;
  bool diverges = false;
  bool other_dtype = false;
  bool is_computed = false;
};

class OpJudge {
 public:
  OpJudge(const DumpSide& mine, const DumpSide& golden, const PairResults& results,
          const std::function<bool(const PairResult&)>& diverges)
      : mine_(mine),
        golden_(golden),
        results_(results),
        diverges_(diverges),
        progress_(results.size(), "judging operators") {}

  OpVerdicts judge() {
    using Step = std::pair<std::optional<std::uint32_t>, std::string_view>;
    std::map<Step, std::vector<StepOp>> steps;
    std::map<OpKey, std::size_t> places;  // in the step
    for (std::size_t number = 0; number < results_.size(); ++number) {
      const PairResult& result = results_[number];
      progress_.add();
      if (!result.pair.mine) continue;
      const DumpTensor& tensor = mine_.tensors[*result.pair.mine];
      const DumpFile& file = mine_.files[tensor.file];
      std::vector<StepOp>& ops = steps[{file.boot, file.place}];
      const auto [at, is_new] = places.emplace(key_of(file, tensor.file), ops.size());
      if (is_new) {
        ops.emplace_back();
        ops.back().op.file = tensor.file;
        ops.back().op.first = number;
      }
      ResultFact fact = fact_of(result, tensor);
      fact.result = number;
      add(fact, ops[at->second]);
    }
    OpVerdicts judged;
    for (const auto& [step, ops] : steps)
      judge_step(ops, mine_, results_, [&](const OpVerdict& op) { judged.push_back(op); });
    std::sort(judged.begin(), judged.end(),
              [](const OpVerdict& a, const OpVerdict& b) { return a.first < b.first; });
    for (OpVerdict& op : judged) {
      if (op.verdict != Verdict::unpaired) continue;
      op.problem = op.failed_output ? results_[*op.failed_output].problem : "the dump has no output of it";
    }
    return judged;
  }

 private:
  ResultFact fact_of(const PairResult& result, const DumpTensor& tensor) const {
    ResultFact fact;
    fact.file = tensor.file;
    fact.is_output = tensor.is_output;
    fact.is_compared = result.comparison.has_value();
    if (!fact.is_compared) return fact;
    const DumpTensor partner = golden_.tensors[*result.pair.golden];
    fact.error = error_of(result);
    fact.rounding = std::max(rounding_of_dtype(tensor.dtype), rounding_of_dtype(partner.dtype));
    fact.is_constant = tensor.constant || partner.constant;
    fact.is_equal = is_equal(result);
    fact.diverges = diverges_(result);
    fact.other_dtype = tensor.dtype != partner.dtype;
    fact.is_computed = is_computed(tensor.dtype);
    return fact;
  }

  static void add(const ResultFact& fact, StepOp& to) {
    OpVerdict& op = to.op;
    const auto result = static_cast<std::size_t>(fact.result);
    if (!fact.is_compared) {
      if (fact.is_output && !op.failed_output) op.failed_output = result;
      return;
    }
    to.results.push_back(result);
    if (!op.other_dtype && fact.other_dtype) op.other_dtype = result;
    op.rounding = std::max(op.rounding, fact.rounding);
    if (fact.is_output) {
      to.has_output = true;
      to.computes |= fact.is_computed;
      op.output_error = std::max(op.output_error, fact.error);
      if (!op.unequal_output && !fact.is_equal) op.unequal_output = result;
      if (!op.bad_output && fact.diverges) op.bad_output = result;
      return;
    }
    ++op.inputs;
    std::optional<std::size_t>& bad = fact.is_constant ? op.bad_constant : op.bad_input;
    if (!bad && fact.diverges) bad = result;
    if (fact.is_constant) {
      if (!op.unequal_constant && !fact.is_equal) op.unequal_constant = result;
      return;
    }
    op.equal_inputs &= fact.is_equal;
    op.input_error = std::max(op.input_error, fact.error);
  }

  const DumpSide& mine_;
  const DumpSide& golden_;
  const PairResults& results_;
  const std::function<bool(const PairResult&)>& diverges_;
  Progress progress_;
};

}  // namespace

std::string_view to_string(Verdict verdict) {
  constexpr std::string_view kWords[] = {"agrees", "culprit", "victim", "diverges", "unpaired"};
  return kWords[static_cast<std::size_t>(verdict)];
}

double OpVerdict::growth() const {
  return output_error / std::max(input_error, rounding);
}

std::size_t place_of(const OpVerdicts& ops, std::size_t first) {
  std::size_t low = 0, high = ops.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    (ops[middle].first < first ? low : high) = ops[middle].first < first ? middle + 1 : middle;
  }
  return low;
}

OpVerdicts judge_ops(const DumpSide& mine, const DumpSide& golden, const PairResults& results,
                     const std::function<bool(const PairResult&)>& diverges) {
  return OpJudge(mine, golden, results, diverges).judge();
}

}  // namespace opdump::tool
