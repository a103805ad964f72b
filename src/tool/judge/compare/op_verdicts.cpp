#include "src/tool/judge/compare/op_verdicts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/compare/healthy_error.hpp"
#include "src/tool/judge/compare/step_verdicts.hpp"

namespace opdump::tool {
namespace {

using Place = std::pair<std::optional<std::uint32_t>, std::string>;
/// Operators of one boot, place, name and type.
using Namesakes = std::tuple<std::optional<std::uint32_t>, std::string, std::string, std::string>;

Namesakes namesakes_of(const DumpFile& file) {
  return {file.boot, file.place, file.op, file.type};
}

class OpJudge {
 public:
  explicit OpJudge(JudgedPair& pair) : pair_(pair), progress_(pair.results.size(), "judging operators") {}

  OpVerdicts judge() {
    gather();
    add_golden_inputs();
    bool any =
        std::any_of(ops_.begin(), ops_.end(), [](const OpVerdict& op) { return op.bad_output.has_value(); });
    find_constants(pair_, ops_, any);
    for (OpVerdict& op : ops_) {
      if (op.bad_output) find_fused(pair_, op);
      weigh_errors(pair_, op);
      op.own_proof &= pair_.hidden_inputs(op).empty();
      any |= op.bad_output.has_value();
    }
    if (any) find_ambiguous();
    find_inexact();
    for (auto& [place, step] : steps_) {
      std::vector<OpVerdict*> ops;
      for (const std::size_t op : step) ops.push_back(&ops_[op]);
      judge_step(pair_, ops);
    }
    if (any) find_shift(pair_, ops_);
    for (OpVerdict& op : ops_) {
      if (op.verdict != Verdict::unpaired) continue;
      if (op.failed_output) op.problem = pair_.results[*op.failed_output].problem;
      if (op.problem.empty()) op.problem = "the dump has no output of it";
    }
    return std::move(ops_);
  }

 private:
  void gather() {
    std::map<OpKey, std::size_t> known;
    std::size_t number = 0;
    for (const PairResult& result : pair_.results) {
      const std::size_t here = number++;
      progress_.add();
      if (!result.pair.mine) continue;
      const DumpTensor& tensor = pair_.mine.tensors[*result.pair.mine];
      const DumpFile& file = pair_.mine.files[tensor.file];
      const auto [found, is_new] = known.emplace(key_of(file, tensor.file), ops_.size());
      if (is_new) {
        steps_[Place(file.boot, file.place)].push_back(ops_.size());
        OpVerdict op;
        op.first = here;
        op.file = tensor.file;
        ops_.push_back(op);
      }
      add(result, here, tensor, ops_[found->second]);
    }
  }

  void add(const PairResult& result, std::size_t here, const DumpTensor& tensor, OpVerdict& op) const {
    op.results.push_back(here);
    const bool unseen = tensor.unseen || (result.pair.golden && pair_.golden_tensor(here).unseen);
    // Integers of which no scale is known tell nothing of real numbers.
    if (!result.comparison || unseen || (result.unscaled && !tensor.is_output)) {
      if (!tensor.is_output) op.uncompared.push_back(here);
      if (tensor.is_output && !op.failed_output) op.failed_output = here;
      return;
    }
    const DumpTensor& golden = pair_.golden.tensors[*result.pair.golden];
    const bool diverges = pair_.diverges(result);
    if (!op.other_dtype && tensor.dtype != golden.dtype) op.other_dtype = here;
    if (tensor.is_output) {
      op.has_output = true;
      if (!op.unequal_output && !is_equal(result)) op.unequal_output = here;
      if (!op.bad_output && diverges) op.bad_output = here;
      return;
    }
    ++op.inputs;
    const bool constant = tensor.constant || golden.constant;
    std::optional<std::size_t>& bad = constant ? op.bad_constant : op.bad_input;
    if (!bad && diverges && !(constant && is_rounded(result, pair_.mine, pair_.golden))) bad = here;
    if (constant && !op.unequal_constant && !is_equal(result)) op.unequal_constant = here;
    if (!constant) op.equal_inputs &= is_equal(result);
  }

  /// Of an operator that has fewer inputs than golden's, not all are known.
  void add_golden_inputs() {
    const auto is_lonely = [this](const PairResult& result) {
      if (result.pair.mine) return false;
      return !pair_.golden.tensors[*result.pair.golden].is_output;
    };
    bool any = false;
    for (const PairResult& result : pair_.results) any |= is_lonely(result);
    for (std::size_t i = 0; any && i < ops_.size(); ++i) {
      OpVerdict& op = ops_[i];
      // An operator that was fused has inputs that are not mine's.
      const auto paired = std::find_if(op.results.begin(), op.results.end(), [this](std::size_t result) {
        const TensorPair& pair = pair_.results[result].pair;
        return pair.golden && pair.by != PairedBy::alignment;
      });
      if (paired == op.results.end()) continue;
      for (const std::size_t tensor : pair_.golden_op(*pair_.results[*paired].pair.golden)) {
        const std::optional<std::size_t> result = pair_.result_of_golden(tensor);
        if (result && is_lonely(pair_.results[*result])) op.uncompared.push_back(*result);
      }
    }
  }

  /// Identity is certain where a name stands for one operator on both sides, or tasks tell them apart.
  void find_ambiguous() {
    std::map<Namesakes, std::vector<std::optional<std::uint64_t>>> mine;
    std::map<Namesakes, std::set<std::uint64_t>> bad_ids;  // at any place
    const auto anywhere = [](const DumpFile& file) { return Namesakes(file.boot, {}, file.op, file.type); };
    for (const OpVerdict& op : ops_) {
      const DumpFile& file = pair_.mine.files[op.file];
      mine[namesakes_of(file)].push_back(file.task);
      if (op.bad_output && file.model_id) bad_ids[anywhere(file)].insert(*file.model_id);
    }
    std::map<Namesakes, std::set<OpKey>> theirs;
    for (const DumpTensor& tensor : pair_.golden.tensors) {
      const DumpFile& file = pair_.golden.files[tensor.file];
      theirs[namesakes_of(file)].insert(key_of(file, tensor.file));
    }
    for (OpVerdict& op : ops_) {
      if (!op.bad_output) continue;
      const DumpFile& file = pair_.mine.files[op.file];
      const auto& tasks = mine[namesakes_of(file)];
      // Models of one name that were loaded in another order.
      if (file.model_id && bad_ids[anywhere(file)].size() > 1) op.cause = Cause::ambiguous;
      if (tasks.size() < 2) continue;
      const std::set<std::optional<std::uint64_t>> distinct(tasks.begin(), tasks.end());
      // Without a step, one operator at several steps looks so.
      if (file.place.empty() && distinct.size() == 1) continue;
      const DumpFile& golden = pair_.golden.files[pair_.golden_tensor(*op.bad_output).file];
      // Of other numbers of them on both sides, one is new, and tasks count on from there.
      const auto same = theirs.find(namesakes_of(golden));
      if (distinct.size() == tasks.size() && file.task && file.task == golden.task &&
          (same == theirs.end() || same->second.size() == tasks.size()))
        continue;
      op.cause = Cause::ambiguous;
    }
  }

  /// One program, run twice: what has equal inputs has equal outputs, but for one operator. That may still be computed in
  /// another order: what is more than rounding, or by another constant, is a proof. What only moves or compares numbers
  /// says nothing of the program.
  void find_inexact() {
    constexpr std::string_view kRounding =
        "batchnorm conv convtranspose erf exp gelu hardsigmoid layernorm matmul reducemean rmsnorm sigmoid silu softmax tanh";
    constexpr std::size_t kLeastOps = 2;
    constexpr double kOtherNumber = 0.1;
    std::set<std::string> rounding, places;
    std::vector<OpVerdict*> inexact;
    std::string name;
    for (OpVerdict& op : ops_) op.inexact = moves_wrongly(op);
    for (OpVerdict& op : ops_) {
      const DumpFile file = pair_.mine.files[op.file];
      const std::string here = file.type + ' ' + file.op;
      if (op.other_dtype || !places.insert(file.place + ' ' + here).second) return;
      const std::string type = canonical_type(file.type);
      // No rounding makes such a number, however little the output shows of it.
      if (op.unequal_constant && info(pair_.my_tensor(*op.unequal_constant).dtype).bits >= 8 &&
          error_of(pair_.results[*op.unequal_constant]).peak > kOtherNumber)
        op.bad_constant = op.unequal_constant;
      if (op.inputs == 0 || !op.equal_inputs || !op.has_output || op.failed_input ||
          (op.unequal_constant && !op.bad_constant) || op.fused || !pair_.hidden_inputs(op).empty())
        continue;
      if (op.unequal_output) {
        if (!inexact.empty() && here != name) return;
        name = here;
        inexact.push_back(&op);
        continue;
      }
      if (has_word(kRounding, type)) rounding.insert(here);
      for (const std::size_t result : op.results) {
        const PairResult& paired = pair_.results[result];
        if (paired.comparison && paired.comparison->summary_distance) return;
      }
    }
    if (rounding.size() < kLeastOps) return;
    for (OpVerdict* const op : inexact)
      op->inexact |= op->cause != Cause::ambiguous && (op->bad_constant || is_beyond_rounding(*op));
  }

  /// Whether it only moves elements, all that it reads is equal, and what it writes is not.
  bool moves_wrongly(const OpVerdict& op) const {
    return op.unequal_output && op.inputs != 0 && op.equal_inputs && !op.unequal_constant &&
           !op.failed_input && op.uncompared.empty() && !op.other_dtype && !op.fused &&
           op.cause != Cause::ambiguous && only_moves(pair_.mine.files[op.file].type) &&
           std::none_of(op.results.begin(), op.results.end(), [this](std::size_t result) {
             const PairResult& paired = pair_.results[result];
             return !paired.comparison || paired.unscaled || paired.comparison->summary_distance;
           });
  }

  bool is_beyond_rounding(const OpVerdict& op) const {
    const bool sums = sums_channels(pair_.mine.files[op.file].type);
    return op.one_element || (op.own_proof && op.output_error > (sums ? 1 : kOwnGrowth) * op.healthy);
  }

  JudgedPair& pair_;
  Progress progress_;
  OpVerdicts ops_;
  std::map<Place, std::vector<std::size_t>> steps_;
};

}  // namespace

std::string_view to_string(Verdict verdict) {
  constexpr std::string_view kWords[] = {"agrees", "culprit", "victim", "diverges", "unpaired"};
  return kWords[static_cast<std::size_t>(verdict)];
}

std::string_view to_string(Cause cause) {
  std::string_view words =
      ",own error,another layout,not a number,saturated,another constant,misread input,miswritten output,"
      "swapped inputs,swapped outputs,another input,the model's inputs differ,unwritten input,missing operator,"
      "shifted by steps,overwritten,ambiguous,unknown inputs,no scale,unclear";
  for (auto i = static_cast<std::size_t>(cause); i != 0; --i) words.remove_prefix(words.find(',') + 1);
  return words.substr(0, words.find(','));
}

double OpVerdict::growth() const {
  // Not more than rounding alone makes, about.
  constexpr double kLeast = 1e-6;
  return output_error / std::max({explained, input_error, std::min(healthy, 8e-3), kLeast});
}

std::size_t place_of(const OpVerdicts& ops, std::size_t first) {
  const auto found = std::lower_bound(ops.begin(), ops.end(), first,
                                      [](const OpVerdict& op, std::size_t at) { return op.first < at; });
  return static_cast<std::size_t>(found - ops.begin());
}

OpVerdicts judge_ops(const DumpSide& mine, const DumpSide& golden, const PairResults& results,
                     const std::function<bool(const PairResult&)>& diverges) {
  JudgedPair pair(mine, golden, results, diverges);
  return OpJudge(pair).judge();
}

}  // namespace opdump::tool
