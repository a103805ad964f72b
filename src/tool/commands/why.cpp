#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/impl/stats/non_finite.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/interrupt.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/compare/dump_comparison.hpp"
#include "src/tool/judge/compare/error_shape.hpp"
#include "src/tool/judge/compare/healthy_error.hpp"
#include "src/tool/judge/compare/op_types.hpp"
#include "src/tool/judge/compare/side_content.hpp"
#include "src/tool/judge/compare/side_numbers.hpp"
#include "src/tool/judge/compare/value_range.hpp"
#include "src/tool/judge/compare/verdict_report.hpp"
#include "src/tool/judge/edges/edges.hpp"
#include "src/tool/page/journal_facts.hpp"

namespace opdump::tool {
namespace {

constexpr char kWhyHelp[] =
    R"(opdump why - says in one sentence which operator of a dump went wrong first, and how that is known

usage: opdump why MINE [-g GOLDEN] [-e EXPECTED] [--model CARD] [--json]

)";

constexpr char kWhyAbout[] =
    R"(      --json               the same as one JSON object

Without GOLDEN it says what the dump alone tells: the first NaN and infinity, saturated integers, outputs that were
overwritten before they were read, and what the journal says was lost.

The first line is the sentence to act on. Below it: the evidence, what else was found, and what could not be judged.

An operator is accused only where it is proved: all its inputs are in both dumps, and its error is ten times what
theirs accounts for, or, from equal inputs, more than a healthy operator of its dtype adds; or it is known by itself
what is wrong: the first NaN, saturated integers, another constant, swapped inputs or outputs. Else the sentence says
"not certain". It may also say that no operator is to blame: the model's inputs differ, an operator is missing, or all
is of another step. That needs inputs in both dumps ("dump_mode": "all"), and is sharper with the model's card.
Without a golden dump only the first NaN is a proof: infinities may be a mask, and saturated integers what was meant.

  $ opdump why dump -g golden
  first cause: Conv "conv1" at net/0, culprit: its input agrees, output 0 does not (cosine 0.93 < 0.99)
  18 operators: 3 agree, 1 culprit, 14 victims
  evidence:
    operator 4 of 18 at net/0
    input 0, which is output 0 of "relu0", is equal
    output 0 diverges: cosine 0.93, euclid 0.37; farthest at [7,2], 3.2 for 1.6
      36 of 288 elements are off, all of index 7 of axis 0, each 2 times golden's
  $ opdump why npu_int8 -g cpu_float --model net.json
  $ opdump why dump

Then 'opdump show --op NAME', 'opdump compare' and 'opdump report' show the same operator's numbers.

exit status
  0  nothing is wrong in what could be judged
  1  something is: the first line names it
  2  the command line is wrong, or the dumps are of different models
  3  nothing could be judged; the lines say why
)";

constexpr int kExitUnjudged = kExitInactive;

/// What is said, for people or programs.
struct WhyAnswer {
  std::string headline{};        ///< empty: nothing is wrong
  std::optional<DumpFile> op{};  ///< that the headline names
  std::string cause{};
  bool certain = false;
  std::string judged{};  ///< what it stands on, as "7 operators: 6 agree, 1 culprit"
  std::vector<std::string> evidence{};
  std::vector<std::string> others{};
  std::vector<std::string> unjudged{};
  bool any = false;  ///< something could be judged
};

void print_list(const char* title, const std::vector<std::string>& lines) {
  constexpr std::size_t kMost = 12;
  if (lines.empty()) return;
  print_line(title);
  for (std::size_t i = 0; i < std::min(lines.size(), kMost); ++i) print_line("  " + lines[i]);
  if (lines.size() > kMost) print_line("  and " + std::to_string(lines.size() - kMost) + " more");
}

int give(const WhyAnswer& answer, bool json) {
  const bool wrong = !answer.headline.empty();
  const std::string headline = wrong        ? answer.headline
                               : answer.any ? "nothing is wrong in what could be judged"
                                            : "nothing could be judged";
  if (json) {
    JsonWriter writer;
    writer.open('{').key("headline").text(headline);
    if (answer.op) {
      writer.key("op").text(answer.op->op);
      if (!answer.op->type.empty()) writer.key("type").text(answer.op->type);
      if (!answer.op->place.empty()) writer.key("place").text(answer.op->place);
      if (answer.op->boot) writer.key("boot").number(*answer.op->boot);
    }
    if (!answer.cause.empty()) writer.key("cause").text(answer.cause);
    writer.key("wrong").flag(wrong).key("certain").flag(answer.certain).key("judged").text(answer.judged);
    const auto list = [&](const char* key, const std::vector<std::string>& lines) {
      writer.line().key(key).open('[');
      for (const std::string& line : lines) writer.line(2).text(line);
      writer.close(']');
    };
    list("evidence", answer.evidence);
    list("others", answer.others);
    list("not_judged", answer.unjudged);
    writer.line().close('}');
    std::puts(writer.take().c_str());
  } else {
    print_line(headline);
    if (!answer.judged.empty()) print_line(answer.judged);
    print_list("evidence:", answer.evidence);
    print_list("also:", answer.others);
    print_list("not judged:", answer.unjudged);
  }
  return wrong ? kExitFailed : answer.any ? kExitOk : kExitUnjudged;
}

std::string tensor_text(const DumpTensor& tensor) {
  return (tensor.is_output ? "output " : "input ") + std::to_string(tensor.index);
}

std::string op_text(const DumpFile& file) {
  return (file.type.empty() ? "operator" : file.type) + " \"" + file.op + '"' +
         (file.place.empty() ? "" : " at " + file.place) +
         (file.boot ? " of boot " + std::to_string(*file.boot) : std::string());
}

/// "12 tensors of mine without golden, the first output 0 of Relu "relu"".
class Counted {
 public:
  void add(const DumpSide& side, const DumpTensor& tensor, const std::string& why = {}) {
    if (count_++ == 0)
      first_ =
          tensor_text(tensor) + " of " + op_text(side.files[tensor.file]) + (why.empty() ? "" : ": " + why);
  }
  void tell(const std::string& what, std::vector<std::string>& lines) const {
    if (count_ != 0) lines.push_back(count_text(count_, "tensor") + ' ' + what + ", the first " + first_);
  }

 private:
  std::uint64_t count_ = 0;
  std::string first_;
};

/// How the tensors of an operator compare, where its inputs come from, and what the elements that are off have in
/// common.
class Evidence {
 public:
  Evidence(const CompareReport& report, const VerdictReport& verdicts, const OpVerdict& op)
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
    if (tensor.is_output) return tensor_text(tensor);
    if (tensor.constant) return tensor_text(tensor) + ", a constant,";
    const std::optional<std::size_t> writer = content_.writer(*result.pair.mine);
    if (!writer) return tensor_text(tensor);
    const DumpTensor& output = report_.mine.tensors[*writer];
    return tensor_text(tensor) + ", which is " + tensor_text(output) + " of \"" +
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
              number_text(comparison.x_at_max) + " for " + number_text(comparison.y_at_max);
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
           (other.file == here.file
                ? "its own " + tensor_text(other)
                : tensor_text(other) + " of \"" + report_.mine.files[other.file].op + '"') +
           ", bit for bit";
  }

  const CompareReport& report_;
  const OpVerdict& op_;
  SideContent content_;
  std::vector<std::string> lines_;
  std::string kind_;
};

/// Of tensors that no verdict speaks of, and that say that something is wrong all the same.
void name_odd_tensors(const CompareReport& report, WhyAnswer& answer) {
  for (const PairResult& result : report.results) {
    if (!result.pair.mine || !result.pair.golden) continue;
    const DumpTensor& mine = report.mine.tensors[*result.pair.mine];
    const DumpTensor& golden = report.golden.tensors[*result.pair.golden];
    const bool unlike = !result.comparison && mine.problem.empty() && golden.problem.empty();
    if (!unlike && !(result.comparison && report.diverges(result))) continue;
    const DumpFile file = report.mine.files[mine.file];
    answer.headline = "not certain: " + op_text(file) + ": its " + tensor_text(mine) +
                      (unlike ? " cannot be compared: " + result.problem
                              : " diverges, and no output does (" + broken_limits(report, result) + ')');
    answer.op = file;
    answer.cause = unlike ? "unlike tensors" : "unclear";
    return;
  }
}

void judge_against_golden(const CompareReport& report, WhyAnswer& answer) {
  const VerdictReport verdicts(report);
  answer.headline = verdicts.headline();
  answer.judged = verdicts.counts();
  answer.others = verdicts.others();
  if (const std::optional<OpVerdict>& op = verdicts.first()) {
    answer.op = report.mine.files[op->file];
    answer.cause = to_string(op->cause);
    answer.certain = is_proof(op->cause);
    Evidence evidence(report, verdicts, *op);
    const bool own =
        op->cause == Cause::own_error || op->cause == Cause::saturated || op->cause == Cause::not_a_number;
    if (own && !evidence.kind().empty()) answer.headline += "; " + evidence.kind();
    answer.evidence = evidence.take();
  }
  Counted mine, golden, failed, unscaled;
  bool paired = false;
  for (const PairResult& result : report.results) {
    answer.any |= result.comparison.has_value();
    paired |= result.pair.mine && result.pair.golden;
    if (!result.pair.mine) {
      golden.add(report.golden, report.golden.tensors[*result.pair.golden]);
      continue;
    }
    const DumpTensor& tensor = report.mine.tensors[*result.pair.mine];
    if (!result.pair.golden) mine.add(report.mine, tensor);
    if (result.pair.golden && !result.comparison) failed.add(report.mine, tensor, result.problem);
    if (result.unscaled) unscaled.add(report.mine, tensor);
  }
  if (answer.headline.empty()) name_odd_tensors(report, answer);
  mine.tell("of mine without golden", answer.unjudged);
  golden.tell("of golden without mine", answer.unjudged);
  failed.tell("could not be compared", answer.unjudged);
  unscaled.tell("of integers against real numbers, whose scale no card tells (--model, --golden-model)",
                answer.unjudged);
  if (!paired) answer.unjudged.push_back(no_pair_text(report));
}

/// What a dump alone tells. Only the first NaN is a proof: infinities may be a mask, integers at their ends what was
/// meant, and who overwrites memory may be an operator that was not dumped.
class AloneJudge {
 public:
  AloneJudge(const DumpSide& side, WhyAnswer& answer) : side_(side), answer_(answer) {}

  void judge() {
    look();
    find_overwritten();
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.tensor < b.tensor; });
    auto first = std::find_if(found_.begin(), found_.end(), [](const Found& found) { return found.certain; });
    if (first == found_.end())
      first = std::find_if(found_.begin(), found_.end(), [](const Found& found) { return found.wrong; });
    for (auto found = found_.begin(); found != found_.end(); ++found) {
      const DumpFile file = side_.files[side_.tensors[found->tensor].file];
      const std::string text = op_text(file) + ": " + found->text;
      if (found != first) {
        answer_.others.push_back(text);
        continue;
      }
      answer_.headline = (found->certain ? "first to be wrong: " : "not certain: ") + text;
      answer_.op = file;
      answer_.cause = found->cause;
      answer_.certain = found->certain;
    }
  }

 private:
  struct Found {
    std::size_t tensor;
    bool certain;
    bool wrong;  ///< else it may well be meant so
    std::string cause;
    std::string text;
  };

  struct Odd {
    std::uint64_t nans = 0;
    std::uint64_t over = 0;   ///< positive infinities
    std::uint64_t under = 0;  ///< negative infinities
    bool counted = true;      ///< else 1 stands for some
  };

  /// Inputs stand before outputs, in the order of execution.
  void look() {
    Counted unread;
    std::uint64_t looked = 0;
    bool any_nan = false, any_infinity = false, any_saturated = false;
    std::optional<OpKey> op;
    std::string doubt;
    bool has_input = false;
    for (std::size_t i = 0; i < side_.tensors.size(); ++i) {
      const DumpTensor& tensor = side_.tensors[i];
      if (const OpKey here = key_of(side_.files[tensor.file], tensor.file); op != here) {
        op = here;
        doubt.clear();
        has_input = false;
      }
      const std::optional<Odd> odd = odd_elements(tensor);
      if (!odd) {
        unread.add(side_, tensor, tensor.problem);
        doubt = "its " + tensor_text(tensor) + " could not be looked at";
        continue;
      }
      ++looked;
      const auto are = [&](std::uint64_t count, const char* what) {
        if (!odd->counted) return tensor_text(tensor) + " has " + what;
        return std::to_string(count) + " of " + count_text(tensor.elements, "element") + " of " +
               tensor_text(tensor) + (count == 1 ? " is " : " are ") + what;
      };
      if (const std::uint64_t infinite = odd->over + odd->under; infinite != 0) {
        if (!any_infinity)
          found_.push_back({i, false, odd->over != 0, "not a number",
                            are(infinite, odd->over != 0 ? "infinity" : "negative infinity") +
                                ", the first of the dump; a mask may be so"});
        any_infinity = true;
      }
      if (odd->nans != 0 && !any_nan) {
        any_nan = true;
        const bool known = tensor.is_output && has_input && doubt.empty();
        found_.push_back(
            {i, known, true, "not a number",
             are(odd->nans, "NaN") + ", the first of the dump: " +
                 (known              ? "all inputs of it are finite"
                  : tensor.is_output ? (has_input ? doubt : std::string("its inputs are not in the dump")) +
                                           ", and it may be a victim"
                                     : "a constant, an input of the model, or the output of an "
                                       "operator that was not dumped")});
      }
      has_input |= !tensor.is_output;
      if (!tensor.is_output && odd->over + odd->under != 0) {
        doubt = "its " + tensor_text(tensor) + " has infinities";
      } else if (!tensor.is_output && !odd->counted) {
        doubt = "its " + tensor_text(tensor) + " is known by its range alone";
      }
      if (tensor.is_output && !any_saturated) any_saturated = add_saturated(i, tensor);
    }
    answer_.any = looked != 0;
    answer_.judged = count_text(looked, "tensor") + " looked at, without a golden dump; -g GOLDEN tells more";
    unread.tell("could not be looked at", answer_.unjudged);
  }

  bool add_saturated(std::size_t number, const DumpTensor& tensor) {
    constexpr double kSaturated = 0.5;
    constexpr std::string_view kSums[] = {"add", "batchnorm", "conv", "convtranspose", "matmul", "sub"};
    const double share = share_at_ends(side_, tensor).value_or(0);
    if (share < kSaturated) return false;
    const std::string type = canonical_type(side_.files[tensor.file].type);
    const bool wrong =
        tensor.quant != nullptr && std::find(std::begin(kSums), std::end(kSums), type) != std::end(kSums);
    found_.push_back({number, false, wrong, "saturated",
                      number_text(100 * share) + " % of the elements of " + tensor_text(tensor) +
                          " are at the ends of " + std::string(info(tensor.dtype).name) +
                          (tensor.quant == nullptr ? ", which may stand for 0: no card tells it" : "")});
    return true;
  }

  std::optional<Odd> odd_elements(const DumpTensor& tensor) const {
    if (tensor.summary) {
      const TensorSummary& told = *tensor.summary;
      if (told.nans && told.negative_infinities && told.positive_infinities)
        return Odd{*told.nans, *told.positive_infinities, *told.negative_infinities};
      if (!told.max || !told.min) return std::nullopt;
      const auto any = [&](auto is) { return is(*told.max) || is(*told.min) || is(told.mean.value_or(0)); };
      return Odd{any([](double v) { return std::isnan(v); }) ? 1U : 0U,
                 any([](double v) { return std::isinf(v) && v > 0; }) ? 1U : 0U,
                 any([](double v) { return std::isinf(v) && v < 0; }) ? 1U : 0U, false};
    }
    if (!tensor.problem.empty()) return std::nullopt;
    if (!can_be_non_finite(tensor.dtype)) return Odd{};
    Odd odd;
    const auto count = [&odd](std::span<const double> numbers) {
      for (const double number : numbers) {
        if (std::isfinite(number)) continue;
        ++(std::isnan(number) ? odd.nans : number > 0 ? odd.over : odd.under);
      }
    };
    return for_each_number(side_, tensor, count) ? std::optional(odd) : std::nullopt;
  }

  void find_overwritten() {
    std::vector<std::string> errors;
    for (const Edge& edge : find_edges(side_, nullptr, errors)) {
      const DumpTensor& from = side_.tensors[edge.from];
      const DumpTensor& to = side_.tensors[edge.to];
      // A view may lie in another order than what it is of.
      if (edge.bytes != EdgeBytes::differ || edge.source != EdgeSource::address || from.shape != to.shape)
        continue;
      found_.push_back({edge.to, false, true, "overwritten",
                        tensor_text(from) + " of \"" + side_.files[from.file].op +
                            "\" was overwritten before this one read it as " + tensor_text(to) + ": byte " +
                            std::to_string(edge.differs_at) +
                            " differs; or an operator that was not dumped has its memory since"});
    }
    answer_.unjudged.insert(answer_.unjudged.end(), errors.begin(), errors.end());
  }

  const DumpSide& side_;
  WhyAnswer& answer_;
  std::vector<Found> found_;
};

/// What nobody can judge, as it was lost or never kept.
void add_losses(const DumpComparison& dumps, WhyAnswer& answer) {
  for (const auto& [kept, count] : dumps.mine().kept)
    answer.unjudged.push_back(count_text(count, "tensor") + " of mine: " + kept_words(kept));
  const JournalFacts journal = read_journals(dumps.my_path(), nullptr);
  if (journal.journals == 0) {
    answer.unjudged.push_back("whether records were lost: the dump has no journal");
  } else if (journal.lost != 0 || !journal.complete) {
    answer.unjudged.push_back(
        "what the dump lacks: it is " + journal.verdict + ", " + std::to_string(journal.lost) + " of " +
        count_text(journal.written + journal.lost, "record") + " lost, and 'opdump verify' tells all");
  }
}

}  // namespace

int run_why(Words words) {
  CompareChoice choice;
  bool json = false;
  const std::string help = std::string(kWhyHelp).append(kCompareOptionsHelp).append(kWhyAbout);
  const std::vector<Option> options = compare_options(choice, {{"--json", {}, &json}});
  std::vector<std::string> rest;
  if (const std::optional<int> end = read_options({"why", help, options}, words, rest)) return *end;
  if (rest.empty()) return usage_error("why", "MINE, a dump, is missing");
  if (rest.size() > 1)
    return usage_error("why",
                       "one dump at a time, not also '" + rest[1] + "'; '-g GOLDEN' names the golden one");
  choice.mine = rest[0];
  WhyAnswer answer;
  DumpComparison dumps;
  std::string error;
  if (!dumps.choose(choice, error)) return usage_error("why", error);
  const SearchReport search = {
      .error = [&](const std::string& message) { answer.unjudged.push_back(message); },
      .note = [](const std::string& message) { say("opdump why: " + message); }};
  catch_interrupts();
  if (const std::optional<int> end = dumps.read(search)) {
    if (*end != kExitUsage) return give(answer, json);
    for (const std::string& message : answer.unjudged) say("opdump why: " + message);
    return *end;
  }
  const std::vector<const Measure*> measures;
  if (choice.golden) {
    dumps.compare(needs_detail(measures, dumps.thresholds()));
    if (interrupted()) die_of_interrupt();
    judge_against_golden(dumps.report(measures), answer);
  } else {
    AloneJudge(dumps.mine(), answer).judge();
  }
  if (interrupted()) die_of_interrupt();
  add_losses(dumps, answer);
  return give(answer, json);
}

}  // namespace opdump::tool
