#include "src/tool/judge/compare/verdict_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/messages.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kVerdicts = 5;

std::string tensor_text(const DumpTensor& tensor) {
  return (tensor.is_output ? "output " : "input ") + std::to_string(tensor.index);
}

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
  if (mine.dtype != golden.dtype && mine.quant == nullptr && golden.quant == nullptr) {
    text += ", " + std::string(info(mine.dtype).name) + " for " + std::string(info(golden.dtype).name);
  }
  return text;
}

}  // namespace

VerdictReport::VerdictReport(const CompareReport& report)
    : report_(report),
      ops_(judge_ops(report.mine, report.golden, report.results,
                     [&report](const PairResult& result) { return report.diverges(result); })) {
  for (const OpVerdict& op : ops_) {
    if (!first_ && op.bad_output) first_ = op;
    if (!culprit_ && op.verdict == Verdict::culprit) culprit_ = op;
    if (!unequal_ && (op.unequal_output || op.misread_by)) unequal_ = op;
    const bool grows = op.bad_output && op.inputs != 0 && op.growth() > 1;
    if (grows && (!grown_ || op.growth() > grown_->growth())) grown_ = op;
  }
}

DumpTensor VerdictReport::my_tensor(std::size_t result) const {
  return report_.mine.tensors[*report_.results[result].pair.mine];
}

std::string VerdictReport::name_of(const OpVerdict& op) const {
  const DumpFile file = report_.mine.files[op.file];
  std::string text = (file.type.empty() ? "operator" : file.type) + " \"" + file.op + '"';
  if (!file.place.empty()) text += " at " + file.place;
  if (file.boot) text += " of boot " + std::to_string(*file.boot);
  return text;
}

std::string VerdictReport::bad_text(std::size_t index) const {
  const PairResult result = report_.results[index];
  const DumpTensor mine = report_.mine.tensors[*result.pair.mine];
  const DumpTensor golden = report_.golden.tensors[*result.pair.golden];
  return tensor_text(mine) + " does not (" + broken_limits(report_, result) +
         oddity_of(mine, golden, *result.comparison) + ')';
}

std::string VerdictReport::measured_text(std::size_t index) const {
  const PairResult result = report_.results[index];
  return tensor_text(report_.mine.tensors[*result.pair.mine]) + " is not (" + measures_text(report_, result) +
         ')';
}

std::string VerdictReport::unequal_text(const OpVerdict& op) const {
  if (!op.unequal_output) return miswritten_text(op);
  const std::string output = measured_text(*op.unequal_output);
  if (op.inputs == 0 || !op.equal_inputs) return output;
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
  return "it takes " + tensor_text(input) + " by " + op.misread->text + ": ";
}

std::string VerdictReport::miswritten_text(const OpVerdict& op) const {
  const OpVerdict reader = ops_[place_of(ops_, *op.misread_by)];
  const DumpTensor constant = my_tensor(*op.unequal_constant);
  return "its constant " + tensor_text(constant) + " is another: its output is equal by that, but " +
         name_of(reader) + " takes it by " + reader.misread->text;
}

std::string VerdictReport::culprit_text(const OpVerdict& op) const {
  if (op.misread_by && !op.unequal_output) return miswritten_text(op);
  if (op.bad_constant) {
    const DumpTensor constant = my_tensor(*op.bad_constant);
    return "its constant " + tensor_text(constant) + " is another, " +
           (op.bad_output ? bad_text(*op.bad_output) : measured_text(*op.unequal_output));
  }
  if (op.bad_output)
    return (op.misread       ? misread_text(op)
            : op.inputs == 1 ? "its input agrees, "
                             : "its " + std::to_string(op.inputs) + " inputs agree, ") +
           bad_text(*op.bad_output);
  if (op.equal_inputs) return unequal_text(op) + ", and that grows";
  return "its error, within the limits, is " + number_text(op.growth()) +
         " times that of its inputs, and grows";
}

std::string VerdictReport::victim_text(const OpVerdict& op) const {
  if (op.misread_from) return misread_text(op) + bad_text(*op.bad_output);
  if (!op.bad_input) {
    std::string text = "its inputs agree within the limits, but are not equal, and its error is " +
                       number_text(op.growth()) + " times theirs: ";
    return text + bad_text(*op.bad_output);
  }
  const DumpTensor input = my_tensor(*op.bad_input);
  return "its " + tensor_text(input) + " diverges already" +
         (op.fed ? ""
                 : ", and no operator of the dump before it does: a constant, an input of the model, or an "
                   "operator that was not dumped");
}

std::string VerdictReport::dtype_text(const OpVerdict& op) const {
  if (!op.other_dtype) return {};
  const PairResult result = report_.results[*op.other_dtype];
  const DumpTensor mine = report_.mine.tensors[*result.pair.mine];
  const DumpTensor golden = report_.golden.tensors[*result.pair.golden];
  return tensor_text(mine) + " is " + std::string(info(mine.dtype).name) + " for " +
         std::string(info(golden.dtype).name);
}

std::string VerdictReport::evidence_of(const OpVerdict& op) const {
  switch (op.verdict) {
    case Verdict::culprit:
      return culprit_text(op);
    case Verdict::victim:
      return victim_text(op);
    case Verdict::diverges:
      return bad_text(*op.bad_output) + "; without its inputs in both dumps it may be a victim";
    case Verdict::unpaired:
      return op.problem;
    case Verdict::agrees:
      return dtype_text(op);
  }
  return {};
}

std::string VerdictReport::first_text() const {
  if (!first_) return {};
  return name_of(*first_) + ", " + std::string(to_string(first_->verdict)) + ": " + evidence_of(*first_);
}

void VerdictReport::print() const {
  std::array<std::size_t, kVerdicts> counts{};
  std::optional<OpVerdict> other;
  std::uint64_t others = 0;
  for (const OpVerdict& op : ops_) {
    ++counts[static_cast<std::size_t>(op.verdict)];
    if (op.other_dtype && others++ == 0) other = op;
  }
  constexpr const char* kMany[kVerdicts] = {"agree", "culprits", "victims", "diverge without inputs",
                                            "unpaired"};
  std::string line;
  for (std::size_t i = 0; i < kVerdicts; ++i) {
    if (counts[i] == 0) continue;
    const std::string one(to_string(static_cast<Verdict>(i)));
    line += (line.empty() ? "" : ", ") + std::to_string(counts[i]) + ' ' + (counts[i] == 1 ? one : kMany[i]);
  }
  print_line(count_text(ops_.size(), "operator") + ": " + line);
  if (other)
    print_line("another dtype in " + count_text(others, "operator") + ", first " + name_of(*other) + ": " +
               dtype_text(*other));
  if (!first_ && unequal_)
    print_line("below the limits, first unequal operator: " + name_of(*unequal_) + ": " +
               unequal_text(*unequal_));
  if (!first_) return;
  print_line("first diverging operator: " + first_text());
  const auto are_one = [](const std::optional<OpVerdict>& a, const std::optional<OpVerdict>& b) {
    return a && b && a->first == b->first;
  };
  if (culprit_ && !are_one(culprit_, first_))
    print_line("first culprit: " + name_of(*culprit_) + ": " + evidence_of(*culprit_));
  if (grown_ && !are_one(grown_, culprit_) && !grown_->equal_inputs)
    print_line("the error grows most in " + name_of(*grown_) + ": " + growth_text(*grown_));
}

void VerdictReport::write_op(JsonWriter& json, std::string_view key, const OpVerdict& op,
                             const std::string& text) const {
  json.key(key).open('{').key("op").number(place_of(ops_, op.first));
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
    if (const std::string evidence = evidence_of(op); !evidence.empty()) json.key("evidence").text(evidence);
    json.close('}');
    flush();
  }
  json.line().close(']');
  if (first_) write_op(json, "first_diverging", *first_, first_text());
  if (culprit_)
    write_op(json, "first_culprit", *culprit_, name_of(*culprit_) + ": " + evidence_of(*culprit_));
  if (grown_) write_op(json, "greatest_growth", *grown_, name_of(*grown_) + ": " + growth_text(*grown_));
  if (unequal_)
    write_op(json, "first_unequal", *unequal_, name_of(*unequal_) + ": " + unequal_text(*unequal_));
}

}  // namespace opdump::tool
