#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/judge/compare/error_shape.hpp"
#include "src/tool/judge/compare/healthy_error.hpp"
#include "src/tool/judge/compare/side_content.hpp"
#include "src/tool/judge/why/judgement.hpp"

namespace opdump::tool {
namespace {

/// How the tensors of an operator compare, where its inputs come from, and what the elements that are off have in
/// common.
class OpEvidence {
 public:
  OpEvidence(const CompareReport& report, const VerdictReport& verdicts, const OpVerdict& op)
      : report_(report), op_(op), content_(report.mine) {
    const DumpFile here = report.mine.files[op.file];
    std::size_t turn = 0, all = 0;
    for (const OpVerdict& other : verdicts.ops()) {
      const DumpFile& file = report.mine.files[other.file];
      if (file.place != here.place || file.boot != here.boot) continue;
      ++all;
      if (other.first <= op.first) ++turn;
    }
    lines_.push_back("operator " + std::to_string(turn) + " of " + std::to_string(all) +
                     (here.place.empty() ? "" : " at " + here.place));
    for (const bool outputs : {false, true}) {
      for (const std::size_t number : op.results) {
        const PairResult& result = report.results[number];
        if (report.mine.tensors[*result.pair.mine].is_output == outputs) add(result, name_of(result));
      }
    }
    if (op.fused) add(*op.fused, "against the output of golden's last operator that is fused in, its output");
  }

  std::vector<std::string> take() { return std::move(lines_); }
  /// What is known of the elements of the output that diverges; empty: nothing.
  const std::string& kind() const { return kind_; }

 private:
  std::string name_of(const PairResult& result) {
    const DumpTensor& tensor = report_.mine.tensors[*result.pair.mine];
    if (tensor.is_output) return role_text(tensor);
    if (tensor.constant) return role_text(tensor) + ", a constant,";
    const std::optional<std::size_t> writer = content_.writer(*result.pair.mine);
    if (!writer) return role_text(tensor);
    const DumpTensor& output = report_.mine.tensors[*writer];
    return role_text(tensor) + ", which is " + role_text(output) + " of \"" +
           report_.mine.files[output.file].op + "\",";
  }

  void add(const PairResult& result, const std::string& name) {
    if (!result.comparison) return lines_.push_back(name + " was not compared: " + result.problem);
    const compare::Comparison& comparison = *result.comparison;
    const bool equal = is_equal(result), diverges = report_.diverges(result);
    std::string line = name + (equal ? " is equal" : diverges ? " diverges: " : " agrees: ");
    if (!equal) line += measures_text(report_, result);
    if (!equal && comparison.max_absolute_at)
      line += "; farthest at " + position_text(*comparison.max_absolute_at, result.shape) + ", " +
              farthest_text(comparison);
    lines_.push_back(line);
    if (equal || !(diverges || report_.mine.tensors[*result.pair.mine].is_output)) return;
    std::string kind = error_shape(report_, result, share());
    if (const std::string same = same_as(*result.pair.mine, comparison); diverges && !same.empty())
      kind += (kind.empty() ? "" : "; ") + same;
    if (kind.empty()) return;
    lines_.push_back("  " + kind);
    if (result.pair.mine && op_.bad_output && is_of(result, *op_.bad_output)) kind_ = kind;
  }

  bool is_of(const PairResult& result, std::size_t number) const {
    return result.pair.mine == report_.results[number].pair.mine;
  }

  /// What differs by more is no rounding, and not what the operator's inputs account for.
  double share() const {
    constexpr double kSpread = 4, kLeast = 1e-5, kMost = 0.2;
    const double explained = op_.bad_input || op_.bad_constant ? 0 : op_.explained;
    return std::clamp(kSpread * std::max(op_.healthy, explained), kLeast, kMost);
  }

  /// The tensor of mine that has the same elements; empty: none, or all elements are one number.
  std::string same_as(std::size_t tensor, const compare::Comparison& comparison) {
    const DumpTensor& here = report_.mine.tensors[tensor];
    if (!here.is_output || comparison.x_deviation == 0 || here.elements < 2) return {};
    const std::vector<std::size_t> step = content_.of_step(tensor);
    for (const std::size_t other : content_.at_all_steps(tensor)) {
      if (other >= tensor || std::find(step.begin(), step.end(), other) != step.end()) continue;
      if (content_.has_same_elements(tensor, other))
        return "it is what it was at " + report_.mine.files[report_.mine.tensors[other].file].place +
               ", bit for bit, as if not written since";
    }
    std::optional<std::size_t> same;
    for (const std::size_t other : step) {
      if (other >= tensor) break;
      if (!content_.has_same_elements(tensor, other)) continue;
      const bool own = report_.mine.tensors[other].file == here.file;
      if (own || !same) same = other;
      if (own) break;
    }
    if (!same) return {};
    const DumpTensor& other = report_.mine.tensors[*same];
    return "it has the elements of " +
           (other.file == here.file ? "its own " + role_text(other)
                                    : role_text(other) + " of \"" + report_.mine.files[other.file].op + '"') +
           ", bit for bit";
  }

  const CompareReport& report_;
  const OpVerdict& op_;
  SideContent content_;
  std::vector<std::string> lines_;
  std::string kind_;
};

/// Of tensors that no verdict speaks of, and that say that something is wrong all the same.
void name_odd_tensors(const CompareReport& report, const VerdictReport& verdicts, Judgement& answer) {
  std::set<std::size_t> fused;
  for (const OpVerdict& op : verdicts.ops()) {
    if (op.fused) fused.insert(*op.fused->pair.mine);
  }
  for (const PairResult& result : report.results) {
    if (!result.pair.mine || !result.pair.golden || result.unscaled || fused.contains(*result.pair.mine))
      continue;
    const DumpTensor& mine = report.mine.tensors[*result.pair.mine];
    const DumpTensor& golden = report.golden.tensors[*result.pair.golden];
    const bool unlike = !result.comparison && mine.problem.empty() && golden.problem.empty();
    if (!unlike && !(result.comparison && report.diverges(result))) continue;
    const DumpFile file = report.mine.files[mine.file];
    answer.headline = "not certain: " + op_text(file) + ": its " + role_text(mine) +
                      (unlike ? " cannot be compared: " + result.problem
                              : " diverges, and no output does (" + broken_limits(report, result) + ')');
    answer.tensor = result.pair.mine;
    answer.cause = unlike ? "unlike tensors" : "unclear";
    return;
  }
}

Judgement judge_first(const CompareReport& report, const VerdictReport& verdicts) {
  Judgement answer;
  answer.headline = verdicts.headline();
  answer.judged = verdicts.counts();
  answer.others = verdicts.others();
  const std::optional<OpVerdict>& op = verdicts.first();
  if (!op) return answer;
  answer.tensor = op->first;
  answer.cause = to_string(op->cause);
  answer.certain = is_proof(op->cause);
  OpEvidence evidence(report, verdicts, *op);
  const bool own =
      op->cause == Cause::own_error || op->cause == Cause::saturated || op->cause == Cause::not_a_number;
  if (own && !evidence.kind().empty()) answer.headline += "; " + evidence.kind();
  answer.evidence = evidence.take();
  return answer;
}

/// The expected dump has operators that golden has not. What mine has as that dump does is of the precision; of two
/// proofs the earlier counts; and what is not certain only where golden does not say that it agrees.
void weigh_expected(const CompareReport& expected, const VerdictReport& by_golden, Judgement& answer) {
  const VerdictReport verdicts(expected);
  Judgement other = judge_first(expected, verdicts);
  const auto at = [](const VerdictReport& of, const Judgement& what) {
    return of.ops()[place_of(of.ops(), *what.tensor)];
  };
  answer.judged += "; by the expected dump, " + other.judged;
  if (answer.tensor) {
    const OpVerdict mine = at(by_golden, answer), same = at(verdicts, answer);
    const bool accuses = mine.verdict == Verdict::culprit || mine.cause == Cause::missing || !answer.certain;
    if (accuses && same.verdict == Verdict::agrees && !same.own_proof) {
      answer.others.insert(answer.others.begin(),
                           "as in the expected dump, so of its precision: " + answer.headline);
      answer = {.judged = answer.judged, .others = answer.others};
    }
  }
  if (!other.tensor) return;
  const bool counts = other.certain ? !answer.certain || *other.tensor < *answer.tensor
                                    : !answer.tensor && at(by_golden, other).verdict != Verdict::agrees;
  if (counts) std::swap(answer.headline, other.headline);
  if (!other.headline.empty())
    answer.others.push_back((counts ? "by golden: " : "by the expected dump: ") + other.headline);
  if (!counts) return;
  answer.headline += "; so by the expected dump";
  answer.tensor = other.tensor;
  answer.cause = other.cause;
  answer.certain = other.certain;
  answer.evidence = other.evidence;
}

}  // namespace

Judgement judge_against_golden(const CompareReport& report, const CompareReport* expected) {
  const VerdictReport verdicts(report);
  Judgement answer = judge_first(report, verdicts);
  if (expected != nullptr) weigh_expected(*expected, verdicts, answer);
  CountedTensors mine, golden, failed, unscaled, turned, by_other;
  bool paired = false;
  for (const PairResult& result : report.results) {
    const bool known =
        expected != nullptr && result.pair.mine && expected->results[*result.pair.mine].comparison;
    answer.any |= known || result.comparison;
    paired |= known || (result.pair.mine && result.pair.golden);
    if (!result.pair.mine) {
      golden.add(report.golden, report.golden.tensors[*result.pair.golden]);
      continue;
    }
    if (known) continue;
    const DumpTensor& tensor = report.mine.tensors[*result.pair.mine];
    if (!result.pair.golden) mine.add(report.mine, tensor);
    if (result.pair.golden && !result.comparison) failed.add(report.mine, tensor, result.problem);
    if (result.unscaled) unscaled.add(report.mine, tensor);
    if (tensor.by_other_card ||
        (result.pair.golden && report.golden.tensors[*result.pair.golden].by_other_card))
      by_other.add(report.mine, tensor);
    if (result.remark.starts_with("taken as ")) turned.add(report.mine, tensor, result.remark);
  }
  if (verdicts.headline().empty() && answer.headline.empty()) name_odd_tensors(report, verdicts, answer);
  turned.tell("in another layout than golden's", answer.others);
  by_other.tell("of integers taken on both sides by the card of one", answer.others);
  mine.tell("of mine without golden", answer.unjudged);
  golden.tell("of golden without mine", answer.unjudged);
  failed.tell("could not be compared", answer.unjudged);
  unscaled.tell("of integers against real numbers, whose scale no card tells (--model, --golden-model)",
                answer.unjudged);
  if (!paired) answer.unjudged.push_back(no_pair_text(report));
  return answer;
}

void judge_by_expected(DumpComparison& dumps, const CompareReport& report, VerdictReport& verdicts) {
  const auto expected =
      dumps.compare_expected(needs_detail(report.measures, report.thresholds), report.measures);
  if (!expected) return;
  const Judgement answer = judge_against_golden(report, &*expected);
  verdicts.judge({answer.headline, answer.tensor, answer.cause, answer.others});
}

void CountedTensors::add(const DumpSide& side, const DumpTensor& tensor, const std::string& why) {
  if (count_++ == 0)
    first_ = role_text(tensor) + " of " + op_text(side.files[tensor.file]) + (why.empty() ? "" : ": " + why);
}

void CountedTensors::tell(const std::string& what, std::vector<std::string>& lines) const {
  if (count_ != 0) lines.push_back(count_text(count_, "tensor") + ' ' + what + ", the first " + first_);
}

}  // namespace opdump::tool
