#include "src/tool/judge/compare/verdict_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "opdump/impl/stats/non_finite.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/judge/compare/healthy_error.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kVerdicts = 5;

/// What no measure tells: NaNs that only one side has, and elements of another dtype.
std::string oddity_of(const DumpTensor& mine, const DumpTensor& golden,
                      const compare::Comparison& comparison) {
  std::string text;
  if (comparison.detail && comparison.detail->unlike != 0) {
    const compare::PairDetail& detail = *comparison.detail;
    const auto counts = [](std::uint64_t nan, std::uint64_t infinite) {
      return std::to_string(nan) + " NaN and " + std::to_string(infinite) + " Inf";
    };
    text += ", " + counts(detail.mine_nan, detail.mine_infinite) + " for " +
            counts(detail.golden_nan, detail.golden_infinite);
  }
  if (mine.dtype != golden.dtype && mine.quant == nullptr && golden.quant == nullptr)
    text += ", " + std::string(info(mine.dtype).name) + " for " + std::string(info(golden.dtype).name);
  return text;
}

}  // namespace

VerdictReport::VerdictReport(const CompareReport& report)
    : report_(report),
      ops_(judge_ops(report.mine, report.golden, report.results,
                     [&report](const PairResult& result) { return report.diverges(result); })) {
  for (const OpVerdict& op : ops_) {
    if (!first_ && op.bad_output) first_ = op;
    if (!proof_ && is_proof(op.cause)) proof_ = op;
    if (!unequal_ && (op.unequal_output || op.misread_by)) unequal_ = op;
    const bool grows = op.bad_output && op.inputs != 0 && op.growth() > 1;
    if (grows && (!grown_ || op.growth() > grown_->growth())) grown_ = op;
  }
}

DumpTensor VerdictReport::my_tensor(std::size_t result) const {
  return report_.mine.tensors[*report_.results[result].pair.mine];
}

std::string VerdictReport::name_of(const OpVerdict& op) const {
  return op_text(report_.mine.files[op.file]);
}

std::string VerdictReport::bad_text(std::size_t index) const {
  const PairResult result = report_.results[index];
  const DumpTensor mine = report_.mine.tensors[*result.pair.mine];
  const DumpTensor golden = report_.golden.tensors[*result.pair.golden];
  return role_text(mine) + " does not (" + broken_limits(report_, result) +
         oddity_of(mine, golden, *result.comparison) + ')';
}

std::string VerdictReport::measured_text(std::size_t index) const {
  const PairResult result = report_.results[index];
  return role_text(report_.mine.tensors[*result.pair.mine]) + " is not (" + measures_text(report_, result) +
         ')';
}

std::string VerdictReport::unequal_text(const OpVerdict& op) const {
  if (!op.unequal_output) return miswritten_text(op);
  const std::string output = measured_text(*op.unequal_output);
  if (op.inputs == 0 || !op.equal_inputs) return output;
  if (op.unequal_constant)
    return "its constant " + role_text(my_tensor(*op.unequal_constant)) + " is not equal, " + output;
  return (op.inputs == 1 ? "its input is equal, "
                         : "its " + std::to_string(op.inputs) + " inputs are equal, ") +
         output;
}

std::string VerdictReport::growth_text(const OpVerdict& op) const {
  const auto sqnr = [](double error) { return number_text(-20 * std::log10(error)) + " dB"; };
  std::string text = "its error is " + number_text(op.growth()) + " times that of its inputs";
  if (op.input_error > 0 && op.output_error > 0 && std::isfinite(op.output_error))
    text += ", whose signal is " + sqnr(op.input_error) + " above it, that of its output " +
            sqnr(op.output_error);
  return text;
}

std::string VerdictReport::misread_text(const OpVerdict& op) const {
  const DumpTensor input = my_tensor(op.misread->result);
  return "it takes " + role_text(input) + " by " + op.misread->text + ": ";
}

std::string VerdictReport::miswritten_text(const OpVerdict& op) const {
  const OpVerdict reader = ops_[place_of(ops_, *op.misread_by)];
  const DumpTensor constant = my_tensor(*op.unequal_constant);
  return "its constant " + role_text(constant) + " is another: its output is equal by that, but " +
         name_of(reader) + " takes it by " + reader.misread->text;
}

std::string VerdictReport::golden_name_of(std::size_t golden_tensor) const {
  const DumpFile file = report_.golden.files[report_.golden.tensors[golden_tensor].file];
  return (file.type.empty() ? "operator" : file.type) + " \"" + file.op + '"';
}

std::string VerdictReport::output_text(const OpVerdict& op) const {
  if (op.fused)
    return "its output is that of golden's " + golden_name_of(*op.golden_op) + ", and is off (" +
           broken_limits(report_, *op.fused) + ')';
  if (op.bad_output) return bad_text(*op.bad_output);
  if (op.unequal_output) return measured_text(*op.unequal_output);
  return {};
}

std::string VerdictReport::fused_text(const OpVerdict& op) const {
  if (!op.fused) return {};
  return "its output is that of golden's " + golden_name_of(*op.golden_op) + ", which is fused into it";
}

std::string VerdictReport::own_text(const OpVerdict& op) const {
  const std::string output = output_text(op);
  const bool equal = op.input_error == 0;
  const bool told_equal = equal && !op.bad_output;
  const std::string inputs =
      op.inputs == 1
          ? std::string("its input ") + (told_equal ? "is equal, " : "agrees, ")
          : "its " + std::to_string(op.inputs) + " inputs " + (told_equal ? "are equal, " : "agree, ");
  if (op.fused && !op.bad_output) return fused_text(op);
  std::string text = inputs + output;
  if (op.channel) {
    const std::string channel = "channel " + std::to_string(op.channel->channel) + " of " +
                                std::to_string(op.channel->channels) + " (axis " +
                                std::to_string(op.channel->axis) + ')';
    return inputs + channel + " of " + role_text(my_tensor(*op.bad_output)) + " is " +
           number_text(op.channel->times) +
           " times golden's, and most others are not; as a whole it is off by " +
           number_text(op.output_error);
  }
  if (op.one_element) {
    text += "; so far off are single elements";
  } else if (!equal && std::isfinite(op.output_error)) {
    text += "; its error is " + number_text(op.growth()) + " times what that of its inputs accounts for";
  }
  if (op.bad_output || op.fused) return text;
  if (op.inexact && only_moves(report_.mine.files[op.file].type))
    return text + ", within the limits; such an operator only moves elements";
  return text + (op.inexact ? ", within the limits; whatever else has equal inputs has equal outputs"
                            : ", within the limits, and that grows");
}

std::string VerdictReport::cause_text(const OpVerdict& op) const {
  const std::string output = output_text(op);
  const auto input = [&] { return role_text(my_tensor(*op.at)); };
  switch (op.cause) {
    case Cause::not_a_number:
      return "it is the first with NaN or infinity: " + own_text(op);
    case Cause::saturated:
      return "its integers are saturated, they end where golden's numbers go on: " + own_text(op);
    case Cause::layout:
      return "its output is golden's in another layout, with the axes in the order " + op.axes + ": " +
             own_text(op);
    case Cause::constant:
      return "its constant " + input() + " is another, " +
             (output.empty() ? measures_text(report_, report_.results[*op.at]) : output);
    case Cause::misread:
      return misread_text(op) + output;
    case Cause::miswritten:
      return op.unequal_output ? own_text(op) : miswritten_text(op);
    case Cause::swapped_inputs:
    case Cause::swapped_outputs:
      return std::string(op.cause == Cause::swapped_inputs ? "its inputs " : "its outputs ") +
             std::to_string(my_tensor(*op.at).index) + " and " + std::to_string(my_tensor(*op.other).index) +
             " are swapped: each agrees with the other one of golden";
    case Cause::other_input: {
      const DumpFile file = report_.mine.files[report_.mine.tensors[*op.other].file];
      return "it reads another tensor: its " + input() + " is the output of \"" + file.op +
             "\", which in golden it is not" +
             (op.golden_op ? "; golden's " + golden_name_of(*op.golden_op) + " runs behind it" : "");
    }
    default:
      return own_text(op);
  }
}

std::string VerdictReport::uncompared_text(const OpVerdict& op) const {
  if (op.uncompared.empty() || op.cause > Cause::saturated) return {};
  std::string inputs;
  for (const std::size_t result : op.uncompared) {
    const TensorPair& pair = report_.results[result].pair;
    inputs += (inputs.empty() ? "" : ", ") +
              role_text(pair.mine ? my_tensor(result) : report_.golden.tensors[*pair.golden]);
  }
  return "; or a constant of it is another: " + inputs + " could not be compared";
}

std::string VerdictReport::victim_text(const OpVerdict& op) const {
  if (op.misread_from) return misread_text(op) + output_text(op);
  if (!op.bad_input)
    return "its inputs agree within the limits, but are not equal, and its error is " +
           number_text(op.growth()) + " times what theirs accounts for: " + output_text(op);
  const DumpTensor input = my_tensor(op.at.value_or(*op.bad_input));
  if (op.other && op.cause == Cause::none)
    return "its " + role_text(input) + " diverges already, which \"" +
           report_.mine.files[report_.mine.tensors[*op.other].file].op +
           "\" writes, an operator without one of golden's to compare it with";
  return "its " + role_text(input) + " diverges already" +
         (op.fed || is_proof(op.cause)
              ? ""
              : ", and no operator of the dump before it does: a constant, an input of the model, or an "
                "operator that was not dumped");
}

std::string VerdictReport::uncertain_text(const OpVerdict& op) const {
  const std::string output = output_text(op);
  switch (op.cause) {
    case Cause::ambiguous:
      return "several operators of one type are called so at one step, and which of them is golden's is not known: " +
             output;
    case Cause::overwritten:
      return "its " + role_text(my_tensor(*op.at)) +
             " is not what the operator before it has written, which agrees: overwritten in between, or read "
             "too early";
    case Cause::unscaled:
      return output + "; " +
             (op.doubt.empty() ? "integers against real numbers, and no scale is known: --model CARD tells it"
                               : op.doubt);
    case Cause::unknown_inputs:
      if (op.failed_input && op.inputs != 0) {
        const PairResult result = report_.results[*op.failed_input];
        return output + "; its " +
               role_text(result.pair.mine ? my_tensor(*op.failed_input)
                                          : report_.golden.tensors[*result.pair.golden]) +
               " could not be compared: " +
               (result.unscaled ? "no scale is known of its integers"
                : result.problem.empty()
                    ? "a dump has none of its elements, over which its operator may write"
                    : result.problem);
      }
      return output + "; " +
             (op.inputs != 0 ? op.doubt : "without its inputs in both dumps it may be a victim");
    default: {
      if (!op.doubt.empty()) return output + "; " + op.doubt;
      if (!op.equal_inputs && passes_errors(report_.mine.files[op.file].type) == PassesErrors::without_bound)
        return output + "; its inputs are not equal, and such an operator may make much of little";
      const bool unscaled = std::any_of(op.results.begin(), op.results.end(), [&](std::size_t result) {
        const PairResult& paired = report_.results[result];
        if (!paired.comparison || can_be_non_finite(my_tensor(result).dtype)) return false;
        return my_tensor(result).quant == nullptr;
      });
      return output + "; its error is " + number_text(op.growth()) +
             " times what that of its inputs accounts for, and " +
             (op.growth() < kOwnGrowth        ? number_text(kOwnGrowth) + " times would prove it"
              : op.output_error <= op.healthy ? "a healthy operator of its dtypes may add as much"
                                              : "that is no proof here") +
             (unscaled ? "; no card tells the steps of its integers" : "");
    }
  }
}

std::string VerdictReport::dtype_text(const OpVerdict& op) const {
  if (!op.other_dtype) return {};
  const PairResult result = report_.results[*op.other_dtype];
  const DumpTensor mine = report_.mine.tensors[*result.pair.mine];
  const DumpTensor golden = report_.golden.tensors[*result.pair.golden];
  return role_text(mine) + " is " + std::string(info(mine.dtype).name) + " for " +
         std::string(info(golden.dtype).name);
}

std::string VerdictReport::evidence_of(const OpVerdict& op) const {
  switch (op.verdict) {
    case Verdict::culprit:
      return cause_text(op) + uncompared_text(op);
    case Verdict::victim:
      return victim_text(op);
    case Verdict::diverges:
      return uncertain_text(op);
    case Verdict::unpaired:
      return op.problem;
    case Verdict::agrees:
      return op.fused ? fused_text(op) : dtype_text(op);
  }
  return {};
}

std::string VerdictReport::first_text(const OpVerdict& op) const {
  return name_of(op) + ", " +
         (op.verdict == Verdict::diverges ? "not certain" : std::string(to_string(op.verdict))) + ": " +
         evidence_of(op);
}

void VerdictReport::judge(Judged judged) {
  judged_op_ = judged.tensor ? std::optional(ops_[place_of(ops_, *judged.tensor)]) : std::nullopt;
  judged_ = std::move(judged);
}

std::string VerdictReport::headline() const {
  if (judged_) return judged_->headline;
  if (!proof_) return first_ ? "first diverging operator: " + first_text(*first_) : std::string();
  const OpVerdict& op = *proof_;
  const std::string name = name_of(op);
  std::string text = "first cause: ";
  switch (op.cause) {
    case Cause::model_input:
    case Cause::unwritten_input: {
      const std::string input = role_text(my_tensor(*op.at)) + " of " + name;
      const std::string off = " (" + broken_limits(report_, report_.results[*op.at]) + ')';
      if (op.cause == Cause::model_input)
        return text + "the model's inputs differ: " + input + ", which no operator of the dump writes" + off +
               (report_.mine.tensors[*report_.results[*op.at].pair.mine].name.empty()
                    ? "; an operator before it that was not dumped may also be to blame"
                    : "");
      return text + "what no operator of the dump writes is another: " + input +
             ", a constant, an input of the model, or the output of an operator that was not dumped" + off;
    }
    case Cause::missing: {
      const DumpTensor input = my_tensor(*op.at);
      return text + golden_name_of(*op.golden_op) + " is missing before " + name + ": golden's " +
             role_text(input) + " is its output, mine agrees with what goes into it" + steps_text(op);
    }
    case Cause::shifted:
      return text + "mine is shifted by " +
             count_text(static_cast<std::uint64_t>(std::abs(op.steps)), "step") + ": from " + name +
             " on, it has the elements of golden's " + (op.steps > 0 ? "later" : "earlier") +
             " step, bit for bit";
    default:
      return text + first_text(op) + steps_text(op);
  }
}

std::string VerdictReport::steps_text(const OpVerdict& op) const {
  const DumpFile here = report_.mine.files[op.file];
  const auto model_of = [](const std::string& place) { return place.substr(0, place.rfind('/')); };
  std::size_t before = 0, behind = 0, right = 0;
  for (const OpVerdict& other : ops_) {
    const DumpFile file = report_.mine.files[other.file];
    if (file.op != here.op || file.type != here.type || file.task != here.task || file.boot != here.boot ||
        file.place == here.place || model_of(file.place) != model_of(here.place))
      continue;
    const bool wrong = other.bad_output || other.own_proof || is_proof(other.cause);
    if (other.first < op.first && wrong) return {};
    ++(other.first < op.first ? before : behind);
    right += other.first > op.first && !wrong ? 1 : 0;
  }
  if (before == 0) return {};
  return "; " + std::string(right == 0 && behind != 0 ? "from" : "at") + " step " +
         here.place.substr(here.place.rfind('/') + 1) + (right == 0 && behind != 0 ? " on" : "") +
         ", not at the " + count_text(before, "step") + " before it" +
         (right == 0 ? ""
                     : ", nor at " + std::to_string(right) + " of " + std::to_string(behind) + " behind it");
}

std::string VerdictReport::counts() const {
  std::array<std::size_t, kVerdicts> counts{};
  for (const OpVerdict& op : ops_) ++counts[static_cast<std::size_t>(op.verdict)];
  constexpr const char* kMany[kVerdicts] = {"agree", "culprits", "victims", "diverge, not certain",
                                            "unpaired"};
  constexpr const char* kOne[kVerdicts] = {"agrees", "culprit", "victim", "diverges, not certain",
                                           "unpaired"};
  std::string line;
  for (std::size_t i = 0; i < kVerdicts; ++i) {
    if (counts[i] == 0) continue;
    line += (line.empty() ? "" : ", ") + std::to_string(counts[i]) + ' ' + (counts[i] == 1 ? kOne : kMany)[i];
  }
  return count_text(ops_.size(), "operator") + ": " + line;
}

std::vector<std::string> VerdictReport::others() const {
  if (judged_) return judged_->others;
  std::vector<std::string> lines;
  const auto are_one = [](const std::optional<OpVerdict>& a, const std::optional<OpVerdict>& b) {
    return a && b && a->first == b->first;
  };
  if (proof_ && first_ && !are_one(proof_, first_))
    lines.push_back("first diverging operator: " + first_text(*first_));
  std::size_t more = 0, others = 0, fused = 0;
  std::optional<OpVerdict> next, other, first_fused;
  for (const OpVerdict& op : ops_) {
    if (proof_ && op.verdict == Verdict::culprit && op.first != proof_->first && more++ == 0) next = op;
    if (op.other_dtype && others++ == 0) other = op;
    if (op.fused && fused++ == 0) first_fused = op;
  }
  if (next)
    lines.push_back((more == 1 ? "another culprit: " : std::to_string(more) + " more culprits, the next: ") +
                    first_text(*next));
  if (fused != 0)
    lines.push_back(count_text(fused, "operator") + " with others of golden fused in, first " +
                    name_of(*first_fused) + ": " + fused_text(*first_fused));
  if (other)
    lines.push_back("another dtype in " + count_text(others, "operator") + ", first " + name_of(*other) +
                    ": " + dtype_text(*other));
  // Behind operators that are equal to the last digit, the first one that is not comes before what crosses a limit.
  constexpr std::size_t kEqual = 3;
  if (!proof_ && unequal_ &&
      (!first_ || (unequal_->first < first_->first && place_of(ops_, unequal_->first) >= kEqual)))
    lines.push_back("below the limits, first unequal operator: " + name_of(*unequal_) + ": " +
                    unequal_text(*unequal_));
  if (grown_ && !are_one(grown_, first()) && grown_->verdict != Verdict::culprit && grown_->input_error > 0)
    lines.push_back("the error grows most in " + name_of(*grown_) + ": " + growth_text(*grown_));
  return lines;
}

void VerdictReport::print() const {
  print_line(counts());
  if (const std::string text = headline(); !text.empty()) print_line(text);
  for (const std::string& line : others()) print_line(line);
}

void VerdictReport::write_op(JsonWriter& json, std::string_view key, const OpVerdict& op,
                             std::string_view cause, const std::string& text) const {
  json.key(key).open('{').key("op").number(place_of(ops_, op.first));
  if (!cause.empty()) json.key("cause").text(cause);
  json.key("text").text(text).close('}');
}

void VerdictReport::write(JsonWriter& json, const std::function<void()>& flush) const {
  json.line().key("ops").open('[');
  for (const OpVerdict& op : ops_) {
    const DumpFile file = report_.mine.files[op.file];
    json.line(2).open('{').key("name").text(file.op);
    if (!file.type.empty()) json.key("type").text(file.type);
    if (!file.place.empty()) json.key("place").text(file.place);
    if (file.boot) json.key("boot").number(*file.boot);
    json.key("verdict").text(to_string(op.verdict));
    if (op.cause != Cause::none) json.key("cause").text(to_string(op.cause));
    if (const std::string evidence = evidence_of(op); !evidence.empty()) json.key("evidence").text(evidence);
    json.close('}');
    flush();
  }
  json.line().close(']');
  const auto cause_of = [](const OpVerdict& op) {
    return op.cause == Cause::none ? std::string_view() : to_string(op.cause);
  };
  if (first())
    write_op(json, "headline", *first(), judged_ ? judged_->cause : cause_of(*first()), headline());
  if (first_) write_op(json, "first_diverging", *first_, cause_of(*first_), first_text(*first_));
  if (grown_)
    write_op(json, "greatest_growth", *grown_, cause_of(*grown_),
             name_of(*grown_) + ": " + growth_text(*grown_));
  if (unequal_)
    write_op(json, "first_unequal", *unequal_, cause_of(*unequal_),
             name_of(*unequal_) + ": " + unequal_text(*unequal_));
}

}  // namespace opdump::tool
