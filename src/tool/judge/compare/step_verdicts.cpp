#include "src/tool/judge/compare/step_verdicts.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace opdump::tool {
namespace {

/// An error that is so many times that of the inputs is an operator's own. Source: msprobe's warnings.
constexpr double kOwnGrowth = 10;
/// The same of the first operator that diverges: half of its error is its own.
constexpr double kFirstGrowth = 2;

/// Which operators of one step read what another one has written by a constant of its own, by their turns.
struct Misreads {
  std::map<std::size_t, MisreadInput> inputs{};
  std::map<std::size_t, std::size_t> from{};  ///< who wrote it
  std::map<std::size_t, std::size_t> by{};    ///< by writer, who reads it so
};

class MisreadStep {
 public:
  MisreadStep(const std::vector<StepOp>& ops, const DumpSide& mine, const PairResults& results)
      : ops_(ops), mine_(mine), results_(results) {}

  Misreads find() {
    Misreads found;
    std::size_t turn = 0;
    for (const StepOp& step_op : ops_) {
      const std::size_t here = turn++;
      const OpVerdict& op = step_op.op;
      if (op.bad_input || !op.unequal_output || op.unequal_constant) continue;
      const std::optional<MisreadInput> misread = find_misread_input(mine_, results_, step_op.results);
      if (!misread) continue;
      found.inputs[here] = *misread;
      const std::optional<std::size_t> writer = writer_of(tensor(misread->result), here);
      if (!writer) continue;
      found.from[here] = *writer;
      found.by[*writer] = here;
    }
    return found;
  }

 private:
  DumpTensor tensor(std::size_t result) const { return mine_.tensors[*results_[result].pair.mine]; }

  /// Operators between that have no other constant pass on what they read.
  std::optional<std::size_t> writer_of(const DumpTensor& input, std::size_t turn) const {
    std::optional<DumpTensor> wanted = input;
    while (wanted && turn != 0) {
      const StepOp op = ops_[--turn];
      if (!has_output(op, wanted->name)) continue;
      if (op.op.unequal_constant) return turn;
      wanted = passed_on(op, *wanted->quant);
    }
    return std::nullopt;
  }

  bool has_output(const StepOp& op, std::string_view name) const {
    return !name.empty() && std::any_of(op.results.begin(), op.results.end(), [&](std::size_t result) {
      const DumpTensor output = tensor(result);
      return output.is_output && output.name == name;
    });
  }

  std::optional<DumpTensor> passed_on(const StepOp& op, const Quantisation& quant) const {
    for (const std::size_t result : op.results) {
      DumpTensor input = tensor(result);
      if (!input.is_output && input.quant != nullptr && input.quant->scales == quant.scales &&
          input.quant->zero_points == quant.zero_points)
        return input;
    }
    return std::nullopt;
  }

  const std::vector<StepOp>& ops_;
  const DumpSide& mine_;
  const PairResults& results_;
};

class StepJudge {
 public:
  StepJudge(const std::vector<StepOp>& ops, const Misreads& misreads)
      : ops_(ops), misreads_(misreads), verdicts_(ops.size()) {}

  void judge() {
    const bool alike = computed_alike();
    bool fed = false, begun = false;
    std::size_t turn = 0;
    for (const StepOp& step_op : ops_) {
      OpVerdict op = step_op.op;
      op.fed = fed;
      set(turn, op, verdict_of(step_op, op, alike && begun));
      if (op.bad_output && !fed && op.inputs != 0) find_beginning(turn, op, alike && begun);
      if (op.bad_output && !fed) first_bad_ = turn;
      fed |= op.bad_output.has_value();
      begun |= begins(op);
      ++turn;
    }
  }

  Verdict verdict(std::size_t turn) const { return verdicts_[turn]; }
  bool is_fed(std::size_t turn) const { return turn > first_bad_; }

 private:
  static bool begins(const OpVerdict& op) {
    return op.inputs != 0 && op.equal_inputs && op.unequal_output.has_value();
  }

  /// Whether both sides have the same dtypes, and operators with equal inputs mostly have equal outputs.
  bool computed_alike() const {
    std::size_t equal = 0, unequal = 0;
    for (const StepOp& step_op : ops_) {
      const OpVerdict& op = step_op.op;
      if (op.other_dtype) return false;
      if (op.inputs == 0 || !op.equal_inputs || op.bad_constant || !step_op.computes) continue;
      ++(op.unequal_output ? unequal : equal);
    }
    return equal > 3 * unequal;
  }

  /// `begun`: the sides were computed alike, and it is known before this operator where they part.
  static Verdict verdict_of(const StepOp& step_op, const OpVerdict& op, bool begun) {
    if (!op.bad_output) return step_op.has_output ? Verdict::agrees : Verdict::unpaired;
    if (op.bad_input) return Verdict::victim;
    if (op.inputs == 0) return Verdict::diverges;
    if (op.equal_inputs || op.bad_constant) return Verdict::culprit;
    if (begun) return Verdict::victim;
    return op.growth() >= (op.fed ? kOwnGrowth : kFirstGrowth) ? Verdict::culprit : Verdict::victim;
  }

  /// A culprit that has only read what another one has miswritten is its victim.
  void set(std::size_t turn, const OpVerdict& op, Verdict verdict) {
    verdicts_[turn] = verdict;
    const auto writer = misreads_.from.find(turn);
    if (verdict != Verdict::culprit || writer == misreads_.from.end()) return;
    verdicts_[turn] = op.bad_output ? Verdict::victim : Verdict::agrees;
    verdicts_[writer->second] = Verdict::culprit;
  }

  /// Of the first operator that diverges: an operator before it, within the limits, may be to blame.
  void find_beginning(std::size_t first, const OpVerdict& diverging, bool begun) {
    if (diverging.bad_input || diverging.bad_constant || diverging.equal_inputs) return;
    std::optional<std::size_t> beginning;
    OpVerdict most;
    std::size_t turn = 0;
    for (const StepOp& step_op : ops_) {
      const std::size_t here = turn++;
      if (here == first) break;
      const OpVerdict& op = step_op.op;
      if (!op.unequal_output || op.inputs == 0 || (begun && !begins(op))) continue;
      if (!begun && (op.growth() < kOwnGrowth || op.growth() <= diverging.growth())) continue;
      const bool more =
          !beginning || (begun ? op.output_error > most.output_error : op.growth() > most.growth());
      if (!more) continue;
      beginning = here;
      most = op;
    }
    if (!beginning) return;
    verdicts_[first] = Verdict::victim;
    set(*beginning, most, Verdict::culprit);
  }

  const std::vector<StepOp>& ops_;
  const Misreads& misreads_;
  std::vector<Verdict> verdicts_;     ///< by turn
  std::size_t first_bad_ = SIZE_MAX;  ///< the first operator whose output diverges
};

}  // namespace

void judge_step(const std::vector<StepOp>& ops, const DumpSide& mine, const PairResults& results,
                const std::function<void(const OpVerdict& op)>& take) {
  const Misreads misreads = MisreadStep(ops, mine, results).find();
  StepJudge judge(ops, misreads);
  judge.judge();
  std::size_t turn = 0;
  for (const StepOp& step_op : ops) {
    OpVerdict op = step_op.op;
    op.verdict = judge.verdict(turn);
    op.fed = judge.is_fed(turn);
    if (const auto found = misreads.inputs.find(turn); found != misreads.inputs.end())
      op.misread = found->second;
    if (const auto found = misreads.from.find(turn); found != misreads.from.end())
      op.misread_from = ops[found->second].op.first;
    if (const auto found = misreads.by.find(turn); found != misreads.by.end())
      op.misread_by = ops[found->second].op.first;
    take(op);
    ++turn;
  }
}

}  // namespace opdump::tool
