#include "src/tool/judge/compare/op_verdicts.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/op_key.hpp"
#include "src/tool/judge/compare/step_verdicts.hpp"
#include "src/tool/read/dump/spilled_sort.hpp"

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

ResultFact fact_in(std::string_view text) {
  return FieldReader(text).next<ResultFact>();
}

/// The operator, of which the step is the first part.
std::string_view op_in(std::string_view text) {
  return text.substr(sizeof(ResultFact));
}

std::string_view step_in(std::string_view text) {
  FieldReader fields(op_in(text));
  fields.next<std::uint64_t>();
  return op_in(text).substr(0, sizeof(std::uint64_t) + sizeof(std::uint32_t) + fields.text().size());
}

class OpJudge {
 public:
  OpJudge(const DumpSide& mine, const DumpSide& golden, const PairResults& results,
          const std::function<bool(const PairResult&)>& diverges)
      : mine_(mine),
        golden_(golden),
        results_(results),
        diverges_(diverges),
        progress_(3 * results.size(), "judging operators") {}

  OpVerdicts judge() {
    sort_facts();
    judge_steps();
    return in_order();
  }

  /// What is wrong with the temporary file; else empty.
  const std::string& error() const { return facts_.error().empty() ? judged_.error() : facts_.error(); }

 private:
  static bool by_op(std::string_view a, std::string_view b) { return op_in(a) < op_in(b); }
  static std::uint64_t first_in(std::string_view text) { return FieldReader(text).next<std::uint64_t>(); }
  static bool by_first(std::string_view a, std::string_view b) { return first_in(a) < first_in(b); }

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

  void sort_facts() {
    std::string text;
    std::uint64_t number = 0;
    for (const PairResult& result : results_) {
      const std::uint64_t here = number++;
      progress_.add();
      if (!result.pair.mine) continue;
      const DumpTensor tensor = mine_.tensors[*result.pair.mine];
      ResultFact fact = fact_of(result, tensor);
      fact.result = here;
      text.clear();
      FieldWriter(text).put(fact);
      write_op_key(mine_.files[tensor.file], tensor.file, text);
      static_cast<void>(facts_.add(text));
    }
    static_cast<void>(facts_.finish());
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

  void judge_steps() {
    SpilledSort::Reader reader(facts_);
    std::optional<SpilledSort> step;
    std::string last;
    StepOp op;
    const auto end_op = [&] {
      std::string text;
      FieldWriter fields(text);
      fields.put(std::uint64_t{op.op.first});
      write_fields(fields, op);
      static_cast<void>(step->add(text));
    };
    for (std::string_view text; reader.next(text);) {
      const ResultFact fact = fact_in(text);
      progress_.add();
      const bool same_op = !last.empty() && op_in(last) == op_in(text);
      if (!same_op) {
        if (!last.empty()) end_op();
        if (last.empty() || step_in(last) != step_in(text)) {
          if (step) end_step(*step);
          step.emplace(by_first);
        }
        op = {};
        op.op.file = static_cast<std::size_t>(fact.file);
        op.op.first = static_cast<std::size_t>(fact.result);
        last = text;
      }
      add(fact, op);
    }
    if (last.empty()) return;
    end_op();
    end_step(*step);
  }

  void end_step(SpilledSort& step) {
    static_cast<void>(step.finish());
    SpilledList<StepOp> ops;
    SpilledSort::Reader reader(step);
    StepOp op;
    for (std::string_view text; reader.next(text);) {
      FieldReader fields(text.substr(sizeof(std::uint64_t)));
      op = {};
      read_fields(fields, op);
      ops.push_back(op);
    }
    judge_step(ops, mine_, results_, [this](const OpVerdict& judged) {
      std::string text;
      FieldWriter fields(text);
      fields.put(std::uint64_t{judged.first});
      write_fields(fields, judged);
      static_cast<void>(judged_.add(text));
    });
  }

  OpVerdicts in_order() {
    OpVerdicts ops;
    static_cast<void>(judged_.finish());
    SpilledSort::Reader reader(judged_);
    for (std::string_view text; reader.next(text);) {
      OpVerdict op;
      FieldReader fields(text.substr(sizeof(std::uint64_t)));
      read_fields(fields, op);
      if (op.verdict == Verdict::unpaired && op.failed_output)
        op.problem = results_[*op.failed_output].problem;
      if (op.verdict == Verdict::unpaired && op.problem.empty()) op.problem = "the dump has no output of it";
      ops.push_back(op);
      progress_.add();
    }
    return ops;
  }

  const DumpSide& mine_;
  const DumpSide& golden_;
  const PairResults& results_;
  const std::function<bool(const PairResult&)>& diverges_;
  Progress progress_;
  SpilledSort facts_{by_op};
  SpilledSort judged_{by_first};
};

}  // namespace

std::string_view to_string(Verdict verdict) {
  constexpr std::string_view kWords[] = {"agrees", "culprit", "victim", "diverges", "unpaired"};
  return kWords[static_cast<std::size_t>(verdict)];
}

double OpVerdict::growth() const {
  return output_error / std::max(input_error, rounding);
}

void write_fields(FieldWriter& to, const OpVerdict& op) {
  to.put(op.verdict).put(op.first).put(op.file).put(op.inputs).put(op.bad_input).put(op.bad_constant);
  to.put(op.bad_output).put(op.unequal_output).put(op.unequal_constant).put(op.other_dtype);
  to.put(op.failed_output).put(op.equal_inputs).put(op.input_error).put(op.output_error).put(op.rounding);
  to.put(op.fed).text(op.problem).put(op.misread_from).put(op.misread_by).put(op.misread.has_value());
  if (op.misread) to.put(op.misread->result).text(op.misread->text);
}

void read_fields(FieldReader& from, OpVerdict& op) {
  from.get(op.verdict).get(op.first).get(op.file).get(op.inputs).get(op.bad_input).get(op.bad_constant);
  from.get(op.bad_output).get(op.unequal_output).get(op.unequal_constant).get(op.other_dtype);
  from.get(op.failed_output).get(op.equal_inputs).get(op.input_error).get(op.output_error).get(op.rounding);
  from.get(op.fed).get(op.problem).get(op.misread_from).get(op.misread_by);
  if (!from.next<bool>()) return;
  MisreadInput& misread = op.misread.emplace();
  from.get(misread.result).get(misread.text);
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
                     const std::function<bool(const PairResult&)>& diverges, std::string& error) {
  OpJudge judge(mine, golden, results, diverges);
  OpVerdicts ops = judge.judge();
  error = judge.error().empty() ? ops.error() : judge.error();
  return ops;
}

}  // namespace opdump::tool
