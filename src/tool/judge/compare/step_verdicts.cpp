#include "src/tool/judge/compare/step_verdicts.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "opdump/impl/stats/non_finite.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/compare/error_shape.hpp"
#include "src/tool/judge/compare/healthy_error.hpp"
#include "src/tool/judge/compare/msprobe_dump.hpp"
#include "src/tool/judge/compare/open_pair.hpp"

namespace opdump::tool {
namespace {

/// As many of its elements beyond the ends of its integers make an operator's output saturated.
constexpr double kSaturated = 0.2;

bool has_scales_as_inputs(const std::string& type) {
  return type == "DequantizeLinear" || type == "QGemm" || type.starts_with("QLinear");
}

/// The tensors of one operator.
class InputReader {
 public:
  InputReader(const DumpSide& side, const PairResults& results, std::span<const std::size_t> of_operator)
      : side_(side), results_(results), of_operator_(of_operator) {}

  /// Empty: it is read as it was written, or it is not known how.
  std::string misread(const DumpTensor& tensor) const {
    const Quantisation& quant = *tensor.quant;
    const std::string text = unlike("scale ", tensor.index + 1, quant.scales);
    if (!text.empty()) return text;
    static const std::vector<std::int64_t> kZero = {0};
    return unlike("zero point ", tensor.index + 2, quant.zero_points.empty() ? kZero : quant.zero_points);
  }

 private:
  template <class Number>
  std::string unlike(const char* what, std::uint32_t index, const std::vector<Number>& written) const {
    const std::optional<DumpTensor> tensor = input(index);
    if (!tensor || tensor->elements != written.size()) return {};
    std::string text;
    std::size_t i = 0;
    for_each_number(side_, *tensor, [&](std::span<const double> numbers) {
      for (const double number : numbers) {
        const auto by = static_cast<double>(written[i++]);
        if (number != by && text.empty())
          text = what + number_text(number) + ", which was written by " + number_text(by);
      }
    });
    return text;
  }

  std::optional<DumpTensor> input(std::uint32_t index) const {
    for (const std::size_t result : of_operator_) {
      DumpTensor tensor = side_.tensors[*results_[result].pair.mine];
      if (results_[result].comparison && !tensor.is_output && tensor.index == index) return tensor;
    }
    return std::nullopt;
  }

  const DumpSide& side_;
  const PairResults& results_;
  const std::span<const std::size_t> of_operator_;
};

/// The first input that its operator takes by another scale or zero point than it was written by, with results for the
/// tensors of one operator at one step; nothing where there is none, or where the dump does not hold what the operator
/// reads it by. Only DequantizeLinear and the QLinear operators of ONNX have their scales as inputs.
std::optional<MisreadInput> find_misread_input(const DumpSide& mine, const PairResults& results,
                                               std::span<const std::size_t> of_operator) {
  const InputReader reader(mine, results, of_operator);
  for (const std::size_t result : of_operator) {
    const DumpTensor& tensor = mine.tensors[*results[result].pair.mine];
    if (!results[result].comparison || tensor.is_output || tensor.quant == nullptr ||
        tensor.quant->scheme != QuantScheme::affine || !has_scales_as_inputs(mine.files[tensor.file].type))
      continue;
    if (std::string text = reader.misread(tensor); !text.empty())
      return MisreadInput{result, std::move(text)};
  }
  return std::nullopt;
}

/// Finds operators that read what another one has written by a constant of its own.
class MisreadStep {
 public:
  MisreadStep(std::span<OpVerdict* const> ops, const JudgedPair& pair) : ops_(ops), pair_(pair) {}

  void find() {
    for (std::size_t turn = 0; turn < ops_.size(); ++turn) {
      OpVerdict& op = *ops_[turn];
      if (op.bad_input || !op.unequal_output || op.unequal_constant) continue;
      op.misread = find_misread_input(pair_.mine, pair_.results, op.results);
      if (!op.misread) continue;
      const std::optional<std::size_t> writer = writer_of(pair_.my_tensor(op.misread->result), turn);
      if (!writer) continue;
      op.misread_from = ops_[*writer]->first;
      ops_[*writer]->misread_by = op.first;
    }
  }

 private:
  /// Operators between that have no other constant pass on what they read.
  std::optional<std::size_t> writer_of(const DumpTensor& input, std::size_t turn) const {
    std::optional<DumpTensor> wanted = input;
    while (wanted && turn != 0) {
      const OpVerdict& op = *ops_[--turn];
      if (!has_output(op, wanted->name)) continue;
      if (op.unequal_constant) return turn;
      wanted = passed_on(op, *wanted->quant);
    }
    return std::nullopt;
  }

  bool has_output(const OpVerdict& op, std::string_view name) const {
    return !name.empty() && std::any_of(op.results.begin(), op.results.end(), [&](std::size_t result) {
      const DumpTensor output = pair_.my_tensor(result);
      return output.is_output && output.name == name;
    });
  }

  std::optional<DumpTensor> passed_on(const OpVerdict& op, const Quantisation& quant) const {
    for (const std::size_t result : op.results) {
      DumpTensor input = pair_.my_tensor(result);
      if (!input.is_output && input.quant != nullptr && input.quant->scales == quant.scales &&
          input.quant->zero_points == quant.zero_points)
        return input;
    }
    return std::nullopt;
  }

  const std::span<OpVerdict* const> ops_;
  const JudgedPair& pair_;
};

/// Whether it was compared, by what integers stand for where the other side has real numbers.
bool has_known_scale(const PairResult& result) {
  return result.comparison && !result.unscaled;
}

bool has_odd_elements(const PairResult& result) {
  return result.comparison && result.comparison->detail && result.comparison->detail->unlike != 0;
}

class StepJudge {
 public:
  StepJudge(JudgedPair& pair, std::span<OpVerdict* const> ops) : pair_(pair), ops_(ops) {
    for (std::size_t turn = 0; turn < ops.size(); ++turn) {
      for (const std::size_t result : ops[turn]->results) turns_[*pair.results[result].pair.mine] = turn;
    }
  }

  void judge() {
    const bool alike = computed_alike();
    bool fed = false, begun = false, lacks = false;
    for (std::size_t turn = 0; turn < ops_.size(); ++turn) {
      OpVerdict& op = *ops_[turn];
      op.fed = fed;
      op.verdict = op.bad_output   ? verdict_of(op, lacks || (alike && begun))
                   : op.inexact    ? Verdict::culprit
                   : op.has_output ? Verdict::agrees
                                   : Verdict::unpaired;
      if (op.inexact && !op.bad_output) {
        op.cause = op.bad_constant ? Cause::constant : Cause::own_error;
        op.at = op.bad_constant;
      }
      blame_writer(op);
      if (!is_proof(op.cause) && !fed && !begun) find_missing(op);
      lacks |= op.cause == Cause::missing;
      if (op.bad_output && !fed && !lacks && op.cause == Cause::unclear) find_beginning(turn);
      fed |= op.bad_output.has_value();
      begun |= op.inputs != 0 && op.equal_inputs && op.unequal_output;
    }
  }

 private:
  /// Whether both sides have the same dtypes, and operators with equal inputs mostly have equal outputs.
  bool computed_alike() const {
    std::size_t equal = 0, unequal = 0;
    for (const OpVerdict* const op : ops_) {
      if (op->other_dtype) return false;
      if (op->inputs == 0 || !op->equal_inputs || op->bad_constant || !computes(*op)) continue;
      ++(op->unequal_output ? unequal : equal);
    }
    return equal > 3 * unequal;
  }

  /// Whether an output holds numbers that a network computes with, not those of shapes and places.
  bool computes(const OpVerdict& op) const {
    return std::any_of(op.results.begin(), op.results.end(), [&](std::size_t result) {
      const DumpTensor& tensor = pair_.my_tensor(result);
      return tensor.is_output && pair_.results[result].comparison && tensor.dtype != DType::boolean &&
             (info(tensor.dtype).bits <= 16 || can_be_non_finite(tensor.dtype));
    });
  }

  /// `begun`: it is known before this operator where both sides part.
  Verdict verdict_of(OpVerdict& op, bool begun) {
    const auto call = [&op](Cause cause, Verdict verdict) {
      op.cause = cause;
      return verdict;
    };
    if (op.cause == Cause::ambiguous) return Verdict::diverges;
    if (op.bad_input) {
      find_source(op);
      if (op.cause == Cause::none) return Verdict::victim;
      if (op.cause == Cause::overwritten) return Verdict::diverges;
      return op.cause >= Cause::model_input ? Verdict::victim : Verdict::culprit;
    }
    if (op.bad_constant) {
      op.at = op.bad_constant;
      return call(Cause::constant, Verdict::culprit);
    }
    const bool has_scale_of_equal = op.equal_inputs && keeps_scale(pair_.mine.files[op.file].type);
    if (pair_.results[*op.bad_output].unscaled ||
        (!has_scale_of_equal && is_rescaled(op, pair_.results[*op.bad_output])))
      return call(Cause::unscaled, Verdict::diverges);
    const std::string_view hidden = pair_.hidden_inputs(op);
    if (!hidden.empty()) op.doubt = hidden;
    if (op.inputs == 0 || op.failed_input || !hidden.empty())
      return call(Cause::unknown_inputs, Verdict::diverges);
    if (makes_odd_elements(op)) return call(Cause::not_a_number, Verdict::culprit);
    if (is_saturated(op)) return call(Cause::saturated, Verdict::culprit);
    if (op.misread) return call(Cause::misread, Verdict::culprit);
    if (has_other_constant(op)) return call(Cause::constant, Verdict::culprit);
    if (op.own_proof && !(begun && !op.equal_inputs) && !find_doubt(op))
      return call(has_swapped(op, true) ? Cause::swapped_outputs
                  : is_permuted(op)     ? Cause::layout
                                        : Cause::own_error,
                  Verdict::culprit);
    return call(Cause::unclear, op.fed || begun ? Verdict::victim : Verdict::diverges);
  }

  /// Why inputs that agree by statistics alone may not be golden's; empty: they cannot matter so.
  std::string_view statistics_doubt(const OpVerdict& op) const {
    std::string_view doubt;
    for (const std::size_t result : op.results) {
      const PairResult& paired = pair_.results[result];
      if (!paired.comparison || pair_.my_tensor(result).is_output || !paired.comparison->summary_distance ||
          paired.comparison->equal == paired.comparison->elements)
        continue;
      if (!is_equal(paired)) return "its inputs agree by statistics alone, which tell little of elements";
      if (op.inputs != 1 || !ignores_order(pair_.mine.files[op.file].type))
        doubt = "its inputs are equal by statistics alone, and may hold their elements in another order";
    }
    return doubt;
  }

  /// Whether an input was paired with one of another operator of golden's than the outputs were, which is not fused into
  /// this one: it is of the type of the other.
  bool reads_others(const OpVerdict& op) {
    const std::vector<std::size_t>* golden = nullptr;
    if (op.bad_output) golden = &pair_.golden_op(*pair_.results[*op.bad_output].pair.golden);
    if (golden == nullptr || op.fused ||
        canonical_type(pair_.mine.files[op.file].type) !=
            canonical_type(pair_.golden.files[pair_.golden_tensor(*op.bad_output).file].type))
      return false;
    return std::any_of(op.results.begin(), op.results.end(), [&](std::size_t result) {
      const TensorPair& pair = pair_.results[result].pair;
      return pair.golden && !pair_.my_tensor(result).is_output && &pair_.golden_op(*pair.golden) != golden;
    });
  }

  bool is_rescaled(OpVerdict& op, const PairResult& result) const {
    if (!tool::is_rescaled(pair_.mine, pair_.mine.tensors[*result.pair.mine], pair_.golden,
                           pair_.golden.tensors[*result.pair.golden]))
      return false;
    op.doubt =
        "its integers are golden's by another scale or zero point, and no cards tell those of both sides";
    return true;
  }

  bool find_doubt(OpVerdict& op) {
    constexpr double kSome = 0.02;
    if (const std::string_view doubt = statistics_doubt(op); !doubt.empty())
      op.doubt = doubt;
    else if (reads_others(op))
      op.doubt = "what it reads was aligned with what an operator of golden's reads that mine lacks";
    else if (clipped(op, true) >= kSome)
      op.doubt = "it ends at 0 where golden goes on, as with a Relu that is fused into it";
    return !op.doubt.empty();
  }

  bool is_permuted(OpVerdict& op) const {
    if (op.fused || op.one_element || op.channel || !op.bad_output) return false;
    op.axes = permutation(pair_.mine, pair_.my_tensor(*op.bad_output), pair_.golden,
                          pair_.golden_tensor(*op.bad_output),
                          std::clamp(4 * std::max(op.healthy, op.explained), 1e-5, 0.2));
    return !op.axes.empty();
  }

  /// A culprit that has only read what another one has miswritten is its victim.
  void blame_writer(OpVerdict& op) {
    if (op.verdict != Verdict::culprit || !op.misread_from) return;
    op.verdict = op.bad_output ? Verdict::victim : Verdict::agrees;
    for (OpVerdict* const writer : ops_) {
      if (writer->first != *op.misread_from) continue;
      writer->verdict = Verdict::culprit;
      writer->cause = Cause::miswritten;
    }
  }

  bool makes_odd_elements(OpVerdict& op) const {
    bool makes = false;
    // A logarithm, root or quotient has none at an input that is a little beyond those that have one.
    if (!op.equal_inputs && domain_of(pair_.mine.files[op.file].type)) return false;
    for (const std::size_t result : op.results) {
      if (const std::optional<bool> odd = has_odd_summary(result)) {
        if (*odd && (!pair_.my_tensor(result).is_output || domain_of(pair_.mine.files[op.file].type)))
          return false;
        makes |= *odd;
        continue;
      }
      if (!has_odd_elements(pair_.results[result])) continue;
      if (!pair_.my_tensor(result).is_output) return false;
      const PairResult paired = pair_.results[result];
      const compare::PairDetail& detail = *paired.comparison->detail;
      makes |= detail.mine_nan + detail.mine_infinite != 0;
    }
    return makes;
  }

  /// Whether mine has more of what is no number than golden, by statistics; nothing of tensors with elements, and of
  /// statistics that do not count it.
  std::optional<bool> has_odd_summary(std::size_t result) const {
    const PairResult& paired = pair_.results[result];
    if (!paired.comparison || !paired.comparison->summary_distance) return std::nullopt;
    const auto odd = [](const DumpTensor& tensor) -> std::optional<std::uint64_t> {
      const TensorSummary* const told = tensor.summary.get();
      if (told == nullptr || !told->nans || !told->negative_infinities || !told->positive_infinities)
        return std::nullopt;
      return *told->nans + *told->negative_infinities + *told->positive_infinities;
    };
    const std::optional<std::uint64_t> mine = odd(pair_.my_tensor(result)),
                                       golden = odd(pair_.golden_tensor(result));
    return mine && golden ? std::optional(*mine > *golden) : std::nullopt;
  }

  bool is_saturated(const OpVerdict& op) const { return clipped(op, false) >= kSaturated; }

  /// The greatest share of an output's elements at an end of its integers beyond which golden's go; `at_zero`: of those
  /// whose end stands for 0, else of the others.
  double clipped(const OpVerdict& op, bool at_zero) const {
    double most = 0;
    for (const std::size_t result : op.results) {
      if (!pair_.results[result].comparison || !pair_.my_tensor(result).is_output) continue;
      most = std::max(most, clipped_share(pair_.mine, pair_.my_tensor(result), pair_.golden,
                                          pair_.golden_tensor(result), at_zero)
                                .value_or(0));
    }
    return most;
  }

  /// Whether an input that is the same at all steps, and that no operator writes, is farther from golden than
  /// its dtype accounts for.
  bool has_other_constant(OpVerdict& op) {
    if (op.fused) return false;
    for (const std::size_t result : op.results) {
      const PairResult& paired = pair_.results[result];
      if (!has_known_scale(paired) || is_equal(paired) || paired.comparison->summary_distance) continue;
      const DumpTensor& tensor = pair_.my_tensor(result);
      const DumpTensor& golden = pair_.golden_tensor(result);
      if (tensor.is_output || is_rounded(paired, pair_.mine, pair_.golden)) continue;
      if (!tensor.constant && !golden.constant &&
          !(is_weight(op, tensor) && is_constant(op, paired).value_or(false)))
        continue;
      op.at = result;
      return true;
    }
    return false;
  }

  /// Whether an input may be no input of the model, which a tester gives: that also may be the same at all steps.
  bool is_weight(const OpVerdict& op, const DumpTensor& input) const {
    return input.index != 0 && has_weights(pair_.mine.files[op.file].type);
  }

  /// Whether an input that no operator writes is the same at all steps, on both sides; nothing where an operator
  /// writes it, or no step has another output.
  std::optional<bool> is_constant(const OpVerdict& op, const PairResult& input) {
    if (!is_unwritten(input)) return std::nullopt;
    const std::optional<bool> mine = pair_.my_content().is_same_at_all_steps(*input.pair.mine);
    const std::optional<bool> golden = pair_.golden_content().is_same_at_all_steps(*input.pair.golden);
    if (!mine || (*mine && !gives_others(op))) return std::nullopt;
    return *mine && golden.value_or(true);
  }

  /// Whether golden's outputs of an operator are others at other steps; else all its inputs may be the same.
  bool gives_others(const OpVerdict& op) {
    return std::any_of(op.results.begin(), op.results.end(), [&](std::size_t result) {
      const TensorPair& pair = pair_.results[result].pair;
      return pair.golden && pair_.my_tensor(result).is_output &&
             !pair_.golden_content().is_same_at_all_steps(*pair.golden).value_or(true);
    });
  }

  bool is_unwritten(const PairResult& input) {
    return !pair_.my_content().writer(*input.pair.mine) && !pair_.golden_content().writer(*input.pair.golden);
  }

  /// What the first input that diverges and is explained by nothing else tells.
  void find_source(OpVerdict& op) {
    std::vector<std::size_t> bad;
    for (const std::size_t result : op.results) {
      const PairResult& paired = pair_.results[result];
      if (has_known_scale(paired) && !pair_.my_tensor(result).is_output && pair_.diverges(paired))
        bad.push_back(result);
    }
    // Behind an operator that diverges, only constants are looked at.
    if (op.fed && !std::any_of(bad.begin(), bad.end(), [&](std::size_t result) {
          return pair_.my_content().is_surely_unwritten(*pair_.results[result].pair.mine);
        }))
      return;
    for (const std::size_t result : bad) {
      if (is_from_diverging(result)) return;
    }
    if (has_swapped(op, false)) {
      op.cause = Cause::swapped_inputs;
      return;
    }
    for (const std::size_t result : bad) {
      op.at = result;
      op.cause = source_of(op, pair_.results[result]);
      if (op.cause != Cause::none) return;
    }
    op.at.reset();
  }

  /// Whether an input is an output that diverges.
  bool is_from_diverging(std::size_t result) {
    const std::optional<std::size_t> writer = pair_.my_content().writer(*pair_.results[result].pair.mine);
    return writer && turns_.contains(*writer) && ops_[turns_[*writer]]->bad_output;
  }

  Cause source_of(OpVerdict& op, const PairResult& input) {
    if (const std::optional<std::size_t> missing = missing_before(input)) {
      op.golden_op = missing;
      return Cause::missing;
    }
    SideContent& mine = pair_.my_content();
    const std::optional<std::size_t> writer = mine.writer(*input.pair.mine);
    const std::optional<std::size_t> golden_writer = pair_.golden_content().writer(*input.pair.golden);
    if (!writer && !golden_writer) {
      if (is_rounded(input, pair_.mine, pair_.golden)) return Cause::none;
      if (is_rescaled(op, input)) return Cause::unscaled;
      // A card that does not call it a constant makes it an input of the model.
      const bool carded = !mine.side().tensors[*input.pair.mine].name.empty();
      const std::optional<bool> constant = carded ? false : is_constant(op, input);
      if (constant.value_or(false))
        return is_weight(op, mine.side().tensors[*input.pair.mine]) ? Cause::constant
                                                                    : Cause::unwritten_input;
      if (op.fed) return Cause::none;
      // Behind other operators it may be the output of one that was not dumped.
      return constant && &op == ops_.front() ? Cause::model_input : Cause::unwritten_input;
    }
    if (writer && !is_paired(*writer)) op.other = writer;
    if (!golden_writer || op.fed) return Cause::none;
    const std::optional<std::size_t> wanted = pair_.result_of_golden(*golden_writer);
    if (!wanted || !pair_.results[*wanted].comparison) return Cause::none;
    // Who writes it in golden runs only behind this one: both are in each other's place.
    if (writer && is_paired(*writer) && !ops_[turns_[*writer]]->bad_output &&
        turns_[*pair_.results[*wanted].pair.mine] > turns_[*input.pair.mine]) {
      op.other = writer;
      op.golden_op = golden_writer;
      return Cause::other_input;
    }
    if (pair_.diverges(pair_.results[*wanted])) return Cause::none;
    if (!writer) return Cause::overwritten;
    if (*writer == *pair_.results[*wanted].pair.mine ||
        mine.has_same_elements(*writer, *pair_.results[*wanted].pair.mine)) {
      // A card names the writer, whatever became of its elements.
      const bool kept = mine.has_same_elements(*input.pair.mine, *writer);
      return !kept && pair_.golden_content().has_same_elements(*input.pair.golden, *golden_writer)
                 ? Cause::overwritten
                 : Cause::none;
    }
    // Of an operator that golden has not, nothing is known.
    if (!is_paired(*writer)) return Cause::none;
    op.other = writer;
    return Cause::other_input;
  }

  /// Whether golden has the operator of an output of mine.
  bool is_paired(std::size_t output) const {
    const auto turn = turns_.find(output);
    return turn != turns_.end() && ops_[turn->second]->has_output;
  }

  /// Within the limits: an input that is much nearer to what an operator of golden's reads than to what it writes, and
  /// an output that is off by that.
  void find_missing(OpVerdict& op) {
    constexpr double kNearer = 16, kPassed = 4;
    if (op.bad_input || op.fused || op.cause == Cause::ambiguous || op.output_error <= op.healthy ||
        !pair_.has_golden_alone())
      return;
    for (const std::size_t result : op.results) {
      const PairResult& input = pair_.results[result];
      if (!has_known_scale(input) || pair_.my_tensor(result).is_output || is_equal(input)) continue;
      const double error = error_of(input).all;
      if (kPassed * op.output_error < error) continue;
      const std::optional<std::size_t> missing = missing_before(input, error / kNearer);
      if (!missing) continue;
      op.cause = Cause::missing;
      op.verdict = op.bad_output ? Verdict::victim : op.verdict;
      op.golden_op = missing;
      op.at = result;
      return;
    }
  }

  /// Golden has operators between who wrote this input of mine and who reads it: the output of the last of
  /// them. What they read is no farther from the input than `most`, or agrees with it.
  std::optional<std::size_t> missing_before(const PairResult& input, std::optional<double> most = {}) {
    constexpr std::string_view kCopies = "cast dequantize dropout identity quantize";
    constexpr int kMost = 8;
    SideContent& golden = pair_.golden_content();
    const std::optional<std::size_t> last = golden.writer(*input.pair.golden);
    std::optional<std::size_t> writer = last;
    for (int i = 0; i < kMost && writer && pair_.is_golden_alone(*writer); ++i) {
      std::optional<std::size_t> before;
      for (const std::size_t tensor : pair_.golden_op(*writer)) {
        if (golden.side().tensors[tensor].is_output) continue;
        const std::optional<PairResult> read = pair_.compare(*input.pair.mine, tensor);
        const bool copies =
            has_word(kCopies, canonical_type(golden.side().files[golden.side().tensors[tensor].file].type));
        if (read && (most ? !copies && error_of(*read).all <= *most : !pair_.diverges(*read))) return writer;
        if (!before) before = golden.writer(tensor);
      }
      writer = before;
    }
    return std::nullopt;
  }

  /// Whether a tensor of mine is in the place of another one of golden: both agree, or are of one output.
  bool is_for(std::size_t tensor, std::size_t golden, bool outputs) {
    if (pair_.agree(tensor, golden)) return true;
    if (outputs) return false;
    // By other scales than the right ones, numbers do not agree.
    const std::optional<std::size_t> writer = pair_.my_content().writer(tensor);
    const std::optional<std::size_t> other = pair_.golden_content().writer(golden);
    const std::optional<std::size_t> wanted = other ? pair_.result_of_golden(*other) : std::nullopt;
    return writer && wanted && pair_.results[*wanted].pair.mine == writer;
  }

  /// Whether two inputs, or outputs, are each other's on the golden side; puts them into `op`.
  bool has_swapped(OpVerdict& op, bool outputs) {
    std::vector<std::size_t> bad;
    for (const std::size_t result : op.results) {
      const PairResult& paired = pair_.results[result];
      if (has_known_scale(paired) && pair_.my_tensor(result).is_output == outputs && pair_.diverges(paired))
        bad.push_back(result);
    }
    for (std::size_t i = 0; i < bad.size(); ++i) {
      for (std::size_t j = i + 1; j < bad.size(); ++j) {
        const TensorPair& a = pair_.results[bad[i]].pair;
        const TensorPair& b = pair_.results[bad[j]].pair;
        if (!is_for(*a.mine, *b.golden, outputs) || !is_for(*b.mine, *a.golden, outputs)) continue;
        op.at = bad[i];
        op.other = bad[j];
        return true;
      }
    }
    return false;
  }

  /// The operators whose outputs reach that one's inputs; all before it where none is known to.
  std::set<std::size_t> ancestors(std::size_t turn) {
    std::set<std::size_t> found;
    std::vector<std::size_t> open = {turn};
    while (!open.empty()) {
      const std::size_t here = open.back();
      open.pop_back();
      for (const std::size_t result : ops_[here]->results) {
        const std::size_t tensor = *pair_.results[result].pair.mine;
        if (pair_.mine.tensors[tensor].is_output) continue;
        const std::optional<std::size_t> writer = pair_.my_content().writer(tensor);
        const auto before = writer ? turns_.find(*writer) : turns_.end();
        if (before != turns_.end() && before->second < here && found.insert(before->second).second)
          open.push_back(before->second);
      }
    }
    for (std::size_t before = 0; found.empty() && before < turn; ++before) found.insert(found.end(), before);
    return found;
  }

  /// Whether its error may be that of products in TF32, HF32 or bfloat16, which a unit for float32 may have: no other sum
  /// from equal inputs shows that this one has better.
  bool may_be_short(const OpVerdict& op) const {
    constexpr double kMost = 0x1p-7, kBetter = 4;
    const auto is_sum = [this](const OpVerdict& one) {
      return sums_channels(pair_.mine.files[one.file].type) && one.inputs != 0 && one.equal_inputs;
    };
    const DType dtype = pair_.my_tensor(op.first).dtype;
    if (!is_sum(op) || dtype != DType::float32 || op.output_error > kMost || op.one_element) return false;
    return std::none_of(ops_.begin(), ops_.end(), [&](const OpVerdict* one) {
      return one != &op && is_sum(*one) && kBetter * one->output_error <= op.output_error;
    });
  }

  /// Of the first operator that diverges: one before it, within the limits, may be to blame.
  void find_beginning(std::size_t first) {
    const bool any = std::any_of(ops_.begin(), ops_.begin() + static_cast<std::ptrdiff_t>(first),
                                 [](const OpVerdict* op) { return op->own_proof; });
    if (!any) return;
    OpVerdict* most = nullptr;
    for (const std::size_t turn : ancestors(first)) {
      OpVerdict& op = *ops_[turn];
      if (op.own_proof && !may_be_short(op) && (most == nullptr || op.growth() > most->growth())) most = &op;
    }
    if (most == nullptr) return;
    most->verdict = Verdict::culprit;
    most->cause = has_other_constant(*most) ? Cause::constant : Cause::own_error;
    ops_[first]->verdict = Verdict::victim;
    blame_writer(*most);
  }

  JudgedPair& pair_;
  const std::span<OpVerdict* const> ops_;
  std::map<std::size_t, std::size_t> turns_;  ///< of operators, by tensors of mine
};

/// The number at the end of "net/3".
std::optional<std::uint64_t> step_in(const std::string& place) {
  const std::size_t slash = place.rfind('/');
  return slash == std::string::npos ? std::nullopt : parse_decimal(place.substr(slash + 1));
}

/// Tells constants that one dump lacks from what is computed, and from inputs of the network.
class HiddenConstants {
 public:
  HiddenConstants(JudgedPair& pair, const OpVerdicts& ops) : pair_(pair), ops_(ops) {}

  bool is_constant(const OpVerdict& op, std::size_t result) {
    const TensorPair& lone = pair_.results[result].pair;
    if (lone.mine && lone.golden) return false;
    SideContent& content = lone.mine ? pair_.my_content() : pair_.golden_content();
    const std::size_t tensor = lone.mine ? *lone.mine : *lone.golden;
    if (!content.sum(tensor) || content.writer(tensor) ||
        !content.is_same_at_all_steps(tensor).value_or(true))
      return false;
    std::optional<bool>& hides = hides_[lone.mine ? 1 : 0];
    if (!hides) hides = hides_constants(lone.mine.has_value());
    return *hides && has_known_input(op);
  }

 private:
  /// Whether an input that agrees is what another operator has written, or what weights are for.
  bool has_known_input(const OpVerdict& op) {
    return std::any_of(op.results.begin(), op.results.end(), [&](std::size_t result) {
      const TensorPair& pair = pair_.results[result].pair;
      if (!pair_.results[result].comparison || pair_.my_tensor(result).is_output) return false;
      if (pair_.my_tensor(result).index == 0 && sums_channels(pair_.mine.files[op.file].type)) return true;
      return pair_.my_content().writer(*pair.mine) || pair_.golden_content().writer(*pair.golden);
    });
  }

  /// Of golden's side, or mine: whether it has inputs of the network and no weights, and lacks nothing that is computed.
  bool hides_constants(bool golden) {
    bool inputs = false, weights = false;
    for (const OpVerdict& op : ops_) {
      for (const std::size_t result : op.results) {
        const TensorPair& pair = pair_.results[result].pair;
        const DumpTensor tensor = pair_.my_tensor(result);
        if (tensor.is_output || !pair.golden || pair_.my_content().writer(*pair.mine) ||
            pair_.golden_content().writer(*pair.golden))
          continue;
        if (tensor.index != 0 && sums_channels(pair_.mine.files[op.file].type)) return false;
        inputs = true;
      }
      for (const std::size_t result : op.uncompared) {
        const TensorPair& pair = pair_.results[result].pair;
        if (op.inputs == 0 || pair.mine.has_value() != golden || (pair.mine && pair.golden)) continue;
        SideContent& content = golden ? pair_.my_content() : pair_.golden_content();
        const std::size_t number = golden ? *pair.mine : *pair.golden;
        const DumpTensor tensor = content.side().tensors[number];
        const bool written = content.writer(number).has_value();
        if (written && can_be_non_finite(tensor.dtype)) return false;
        weights |= !written && tensor.index != 0 && sums_channels(pair_.mine.files[op.file].type);
      }
    }
    return inputs && weights;
  }

  JudgedPair& pair_;
  const OpVerdicts& ops_;
  std::optional<bool> hides_[2];
};

/// The channel of an output that is many times golden's, where that of no input is.
void find_channel(const JudgedPair& pair, OpVerdict& op, std::size_t output) {
  const auto odd = [&](std::size_t result, std::size_t axis) {
    return odd_channel(pair.mine, pair.my_tensor(result), pair.golden, pair.golden_tensor(result), axis);
  };
  const DumpTensor mine = pair.my_tensor(output), golden = pair.golden_tensor(output);
  if (mine.quant == nullptr && golden.quant == nullptr) return;
  // The axis that has as many channels as the weights have scales.
  const std::size_t rank = mine.shape.size();
  std::size_t axis = std::min<std::size_t>(1, rank);
  for (const std::size_t i : op.results) {
    const Quantisation* const quant = pair.my_tensor(i).quant;
    if (rank < 2 || quant == nullptr || quant->scales.size() < 2) continue;
    const auto scales = static_cast<Dim>(quant->scales.size());
    if (mine.shape[1] != scales && mine.shape.back() == scales) axis = rank - 1;
  }
  const std::optional<ChannelGain> channel = odd(output, axis);
  if (!channel) return;
  for (const std::size_t i : op.results) {
    if (pair.results[i].comparison && !pair.my_tensor(i).is_output && odd(i, axis)) return;
  }
  op.channel = channel;
  op.own_proof = true;
  if (!op.bad_output) op.bad_output = output;
}

}  // namespace

JudgedPair::JudgedPair(const DumpSide& mine, const DumpSide& golden, const PairResults& results,
                       const std::function<bool(const PairResult&)>& diverges)
    : mine(mine), golden(golden), results(results), diverges(diverges) {}

SideContent& JudgedPair::my_content() {
  if (!my_content_) my_content_.emplace(mine);
  return *my_content_;
}

SideContent& JudgedPair::golden_content() {
  if (!golden_content_) golden_content_.emplace(golden);
  return *golden_content_;
}

std::optional<PairResult> JudgedPair::compare(std::size_t my_tensor, std::size_t golden_tensor) const {
  TensorPairs pairs;
  pairs.push_back({my_tensor, golden_tensor});
  const PairResults compared = compare_pairs(mine, golden, pairs, false);
  if (compared.size() != 1 || !compared[0].comparison) return std::nullopt;
  return compared[0];
}

bool JudgedPair::agree(std::size_t my_tensor, std::size_t golden_tensor) const {
  const std::optional<PairResult> result = compare(my_tensor, golden_tensor);
  return result && !diverges(*result);
}

std::string_view JudgedPair::hidden_inputs(const OpVerdict& op) const {
  const auto is_input = [this](std::size_t result) { return !my_tensor(result).is_output; };
  return tool::hidden_inputs(mine.files[op.file].type, static_cast<std::size_t>(std::count_if(
                                                           op.results.begin(), op.results.end(), is_input)));
}

void JudgedPair::find_golden_ops() {
  if (!results_of_golden_.empty()) return;
  results_of_golden_.resize(golden.tensors.size());
  op_of_golden_.resize(golden.tensors.size());
  std::map<OpKey, std::size_t> known;
  for (std::size_t i = 0; i < golden.tensors.size(); ++i) {
    const std::size_t file = golden.tensors[i].file;
    const auto [op, is_new] = known.emplace(key_of(golden.files[file], file), golden_ops_.size());
    if (is_new) golden_ops_.emplace_back();
    golden_ops_[op->second].push_back(i);
    op_of_golden_[i] = op->second;
  }
  std::size_t number = 0;
  for (const PairResult& result : results) {
    const std::size_t here = number++;
    if (result.pair.golden) results_of_golden_[*result.pair.golden] = here;
  }
}

std::optional<std::size_t> JudgedPair::result_of_golden(std::size_t golden_tensor) {
  find_golden_ops();
  return results_of_golden_[golden_tensor];
}

const std::vector<std::size_t>& JudgedPair::golden_op(std::size_t golden_tensor) {
  find_golden_ops();
  return golden_ops_[op_of_golden_[golden_tensor]];
}

bool JudgedPair::has_golden_alone() {
  if (!has_golden_alone_)
    has_golden_alone_ = std::any_of(results.begin(), results.end(), [this](const PairResult& result) {
      return !result.pair.mine && golden.tensors[*result.pair.golden].is_output;
    });
  return *has_golden_alone_;
}

bool JudgedPair::is_golden_alone(std::size_t golden_tensor) {
  const std::vector<std::size_t>& tensors = golden_op(golden_tensor);
  return std::none_of(tensors.begin(), tensors.end(), [&](std::size_t tensor) {
    const std::optional<std::size_t> result = results_of_golden_[tensor];
    return result && results[*result].pair.mine;
  });
}

void find_constants(JudgedPair& pair, OpVerdicts& ops, bool looks) {
  HiddenConstants hidden(pair, ops);
  std::vector<std::vector<std::size_t>> others(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const OpVerdict& op = ops[i];
    for (const std::size_t result : op.uncompared) {
      const TensorPair& lone = pair.results[result].pair;
      const DumpTensor tensor = lone.mine ? pair.my_tensor(result) : pair.golden_tensor(result);
      const bool asked = looks && op.inputs != 0 && op.unequal_output && !op.bad_input;
      if (!tensor.constant && !(asked && hidden.is_constant(op, result))) others[i].push_back(result);
    }
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (others[i].empty()) continue;
    ops[i].failed_input = others[i].front();
    std::erase_if(ops[i].uncompared, [&](std::size_t result) {
      return std::find(others[i].begin(), others[i].end(), result) != others[i].end();
    });
  }
}

void find_fused(JudgedPair& pair, OpVerdict& op) {
  constexpr int kMost = 4;
  constexpr double kNearer = 0.5;
  const PairResult paired = pair.results[*op.bad_output];
  double least = kNearer * error_of(paired).all;
  std::optional<std::size_t> output = paired.pair.golden;
  for (int i = 0; i < kMost && output; ++i) {
    std::optional<std::size_t> next;
    for (const std::size_t reader : pair.golden_content().of_step(*output)) {
      if (reader <= *output || pair.golden.tensors[reader].is_output || !pair.is_golden_alone(reader) ||
          !pair.golden_content().has_same_elements(*output, reader))
        continue;
      for (const std::size_t tensor : pair.golden_op(reader)) {
        if (!pair.golden.tensors[tensor].is_output) continue;
        if (!next) next = tensor;
        const std::optional<PairResult> result = pair.compare(*paired.pair.mine, tensor);
        if (!result || error_of(*result).all > least) continue;
        least = error_of(*result).all;
        op.fused = std::make_shared<const PairResult>(*result);
        op.golden_op = tensor;
      }
    }
    output = next;
  }
  if (!op.fused) return;
  // Constants are folded with what they belong to.
  for (std::optional<std::size_t>* const bad : {&op.bad_input, &op.failed_input}) {
    if (*bad && pair.results[**bad].pair.mine && !pair.my_content().writer(*pair.results[**bad].pair.mine))
      bad->reset();
  }
  op.bad_constant.reset();
  op.unequal_constant.reset();
  if (!pair.diverges(*op.fused)) op.bad_output.reset();
}

void weigh_errors(JudgedPair& pair, OpVerdict& op) {
  const std::string type = pair.mine.files[op.file].type;
  const PassesErrors passes = passes_errors(type);
  const bool sums = sums_channels(type);
  std::vector<TensorError> inputs;
  bool equal = true, floats = true, statistics = false;
  double size = sums ? 1 : 0;
  std::uint64_t terms = 0;
  for (const std::size_t i : op.results) {
    const PairResult& result = pair.results[i];
    const DumpTensor& mine = pair.my_tensor(i);
    if (!result.comparison || (result.unscaled && !mine.is_output)) continue;
    floats &= can_be_non_finite(mine.dtype) && can_be_non_finite(pair.golden_tensor(i).dtype);
    statistics |= result.comparison->summary_distance.has_value();
    if (mine.is_output) continue;
    // What is folded into constants is in no input of golden's.
    if (op.fused && !pair.my_content().writer(*result.pair.mine)) continue;
    inputs.push_back(error_of(result));
    equal &= is_equal(result);
    terms = std::max(terms, mine.elements);
    if (!sums) size = std::max(size, inputs.back().golden_rms);
    if (sums && mine.index < 2) size *= inputs.back().golden_rms;
    op.input_error = std::max(op.input_error, inputs.back().all);
  }
  for (const std::size_t i : op.results) {
    const PairResult& paired = pair.results[i];
    if (!paired.comparison || !pair.my_tensor(i).is_output) continue;
    const bool is_fused = op.fused && op.fused->pair.mine == paired.pair.mine;
    const PairResult& result = is_fused ? *op.fused : paired;
    const TensorError output = error_of(result);
    constexpr double kStatistics = 0.05;
    const DumpTensor& mine = pair.my_tensor(i);
    const bool cancels = sums || has_word("reducemean reducesum", canonical_type(type));
    const double healthy =
        statistics ? kStatistics
                   : healthy_error(result, mine, pair.golden_tensor(i), terms, cancels ? size : 0);
    TensorError explained;
    for (const TensorError& input : inputs) {
      const TensorError one = explained_by(input, output, passes);
      explained.all = std::max(explained.all, one.all);
      explained.peak = std::max(explained.peak, one.peak);
    }
    const bool own = output.all > std::max(healthy, kOwnGrowth * explained.all);
    const bool shows = equal || std::all_of(inputs.begin(), inputs.end(), [&type](const TensorError& input) {
                         return shows_single_elements(type, input);
                       });
    const bool single =
        floats && !statistics && shows && output.peak > kOwnGrowth * std::max(healthy, explained.peak);
    const bool known = op.inputs != 0 && !op.failed_input && !paired.unscaled;
    op.own_proof |= known && (own || single);
    if (equal && !own && !statistics && cancels &&
        output.all > healthy_error(result, mine, pair.golden_tensor(i), terms))
      op.doubt = "its terms cancel out, and what is left may be of their rounding";
    if (known && !op.own_proof && sums_channels(type)) find_channel(pair, op, i);
    op.one_element |= known && !own && single;
    if (output.all < op.output_error) continue;
    op.output_error = output.all;
    op.explained = explained.all;
    op.healthy = healthy;
  }
}

void judge_step(JudgedPair& pair, std::span<OpVerdict* const> ops) {
  MisreadStep(ops, pair).find();
  StepJudge(pair, ops).judge();
}

void find_shift(JudgedPair& pair, OpVerdicts& ops) {
  constexpr std::size_t kMost = 16;
  const auto first =
      std::find_if(ops.begin(), ops.end(), [](const OpVerdict& op) { return op.bad_output.has_value(); });
  if (first == ops.end() || first->verdict == Verdict::culprit || first->cause == Cause::ambiguous) return;
  SideContent& mine = pair.my_content();
  SideContent& golden = pair.golden_content();
  const auto step_of = [&](std::size_t golden_tensor) {
    return step_in(pair.golden.files[pair.golden.tensors[golden_tensor].file].place);
  };
  /// Whether golden has the same elements so many steps on; nothing where it has no such step.
  const auto fits = [&](const PairResult& result, std::int64_t steps) {
    const std::optional<std::uint64_t> here = step_of(*result.pair.golden);
    std::optional<bool> found;
    for (const std::size_t tensor : golden.at_all_steps(*result.pair.golden)) {
      const std::optional<std::uint64_t> there = step_of(tensor);
      if (!here || !there || static_cast<std::int64_t>(*there - *here) != steps) continue;
      found = found.value_or(false) || mine.has_same_elements(*result.pair.mine, golden, tensor);
    }
    return found;
  };
  const std::size_t start = first->bad_input ? *first->bad_input : *first->bad_output;
  const PairResult begin = pair.results[start];
  std::vector<std::int64_t> shifts;
  for (const std::size_t tensor : golden.at_all_steps(*begin.pair.golden)) {
    const std::optional<std::uint64_t> here = step_of(*begin.pair.golden), there = step_of(tensor);
    if (here && there && here != there && mine.has_same_elements(*begin.pair.mine, golden, tensor))
      shifts.push_back(static_cast<std::int64_t>(*there - *here));
  }
  std::size_t looked = 0;
  for (std::size_t i = start + 1; i < pair.results.size() && looked < kMost && !shifts.empty(); ++i) {
    const PairResult& result = pair.results[i];
    if (!result.pair.mine || !result.comparison || !pair.diverges(result)) continue;
    std::erase_if(shifts, [&](std::int64_t steps) { return !fits(result, steps).value_or(true); });
    looked += !shifts.empty() && fits(result, shifts[0]) ? 1 : 0;
  }
  if (shifts.empty() || looked == 0) return;
  // A step that begins right is not another one.
  const std::string& place = pair.mine.files[first->file].place;
  for (std::size_t i = 0; i < start; ++i) {
    const PairResult& result = pair.results[i];
    if (!result.pair.mine || !result.comparison || pair.diverges(result) ||
        pair.mine.files[pair.mine.tensors[*result.pair.mine].file].place != place)
      continue;
    if (!golden.is_same_at_all_steps(*result.pair.golden).value_or(true)) return;
  }
  first->verdict = Verdict::victim;
  first->cause = Cause::shifted;
  first->steps = shifts[0];
}

}  // namespace opdump::tool
