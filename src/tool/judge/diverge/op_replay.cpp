#include "src/tool/judge/diverge/op_replay.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "opdump/impl/stats/non_finite.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/aligned_pairing.hpp"
#include "src/tool/judge/diverge/dumped_op.hpp"
#include "src/tool/judge/diverge/save_failing.hpp"

namespace opdump::tool {
namespace {

std::vector<Dim> longer_dims(const std::vector<Dim>& dims) {
  std::vector<Dim> others = dims;
  std::erase(others, 1);
  return others;
}

/// The least magnitude that a dtype rounds to infinity.
double infinite_from(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 65520;
    case DType::bfloat16:
      return 0x1.ffp127;
    case DType::float32:
      return 0x1.ffffffp127;
    default:
      return std::numeric_limits<double>::infinity();
  }
}

/// NaN is none of them.
double distance_by(double apart_squares, double squares) {
  if (apart_squares == 0) return 0;
  return squares == 0 ? std::numeric_limits<double>::infinity() : std::sqrt(apart_squares / squares);
}

/// Those of uint64 keep their bits.
std::vector<std::int64_t> wide_integers(const ReplayTensor& tensor) {
  std::vector<std::int64_t> values(tensor.bytes.size() / sizeof(std::int64_t));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(std::int64_t));
  return values;
}

/// Elements that no float64 tells apart are compared by their bytes.
bool measure_wide_integers(const ReplayTensor& device, const ReplayTensor& expected, OutputError& error) {
  const std::vector<std::int64_t> x = wide_integers(device), y = wide_integers(expected);
  double apart_squares = 0, squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += static_cast<double>(y[i]) * static_cast<double>(y[i]);
    if (x[i] == y[i]) continue;
    if (error.over++ == 0) {
      error.at = i;
      error.device = static_cast<double>(x[i]);
      error.expected = static_cast<double>(y[i]);
    }
    const double apart = std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    apart_squares += apart * apart;
    error.max_absolute = std::max(error.max_absolute, apart);
  }
  error.euclid = distance_by(apart_squares, squares);
  error.worst = error.over == 0 ? 0 : std::numeric_limits<double>::infinity();
  error.diverges = error.over != 0;
  return true;
}

/// Compares an output of the device with the right one. On false `reason` says why they cannot be compared.
bool measure(const ReplayTensor& device, const ReplayTensor& expected, const OutputLimit& limit,
             OutputError& error, std::string& reason) {
  if (device.dims != expected.dims && longer_dims(device.dims) != longer_dims(expected.dims)) {
    reason = "the output has the shape " + shape_text(device.dims) + ", and should have " +
             shape_text(expected.dims);
    return false;
  }
  if (is_integer_dtype(device.dtype) && can_be_non_finite(expected.dtype)) {
    reason = "the output has " + std::string(info(device.dtype).name) + ", and should have floats";
    return false;
  }
  const std::optional<std::vector<double>> x = reals_of(device), y = reals_of(expected);
  if (!x || !y || x->size() != y->size()) {
    reason = "elements of " + std::string(info(device.dtype).name) + " are not compared";
    return false;
  }
  error.op_class = limit.op_class;
  error.elements = x->size();
  if (info(device.dtype).bits == 64 && is_integer_dtype(device.dtype) && device.dtype == expected.dtype)
    return measure_wide_integers(device, expected, error);
  const double scale = limit.of_scale == 0 ? 0 : std::max(limit.scale, mean_square_root(*y));
  const double infinite = infinite_from(device.dtype);
  double products = 0, x_squares = 0, y_squares = 0, apart_squares = 0;
  for (std::size_t i = 0; i < x->size(); ++i) {
    const double a = (*x)[i];
    double b = (*y)[i];
    if (std::fabs(b) >= infinite) b = std::copysign(std::numeric_limits<double>::infinity(), b);
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      if (std::isfinite(a)) products += a * b, x_squares += a * a, y_squares += b * b;
      continue;
    }
    ++error.off;
    double allowed = limit.relative * std::fabs(b) + limit.absolute + limit.of_scale * scale + limit.steps;
    double apart = std::fabs(a - b);
    // Rounding may just reach infinity, or just not.
    if (std::isinf(b) != std::isinf(a) && !std::isnan(apart) && std::signbit(a) == std::signbit(b)) {
      allowed = limit.relative * infinite + limit.of_scale * scale;
      apart = infinite - std::fabs(std::isinf(a) ? b : a);
    }
    const bool is_unlike = std::isnan(a) || std::isnan(b) || std::isnan(apart) || std::isinf(apart);
    const double by = is_unlike || allowed == 0 ? std::numeric_limits<double>::infinity() : apart / allowed;
    if (!is_unlike) {
      error.max_absolute = std::max(error.max_absolute, apart);
      apart_squares += apart * apart;
      products += a * b, x_squares += a * a, y_squares += b * b;
    }
    if (is_unlike) apart_squares = std::numeric_limits<double>::infinity();
    if (by > 1) ++error.over;
    const bool worse =
        by > error.worst || (error.off == 1) ||
        (by == error.worst && std::isfinite(apart) && apart > std::fabs(error.device - error.expected));
    if (worse) {
      error.worst = by;
      error.at = i;
      error.device = a;
      error.expected = b;
      error.limit = allowed;
    }
  }
  if (x_squares > 0 && y_squares > 0) error.cosine = products / std::sqrt(x_squares) / std::sqrt(y_squares);
  if (x_squares > 0 && y_squares == 0) error.cosine = 0;
  if (x_squares == 0 && y_squares > 0) error.cosine = 0;
  error.euclid = distance_by(apart_squares, y_squares);
  error.diverges =
      error.over != 0 || (limit.op_class == OpClass::quantised && limit.step_share < 1 &&
                          static_cast<double>(error.off) >
                              std::max(1.0, limit.step_share * static_cast<double>(error.elements)));
  return true;
}

using StepKey = std::pair<std::optional<std::uint32_t>, std::string>;  ///< boot and place

std::size_t first_tensor(const OperatorRun& run) {
  std::size_t first = SIZE_MAX;
  for (const auto& [role, tensor] : run.tensors) first = std::min(first, tensor);
  return first;
}

/// Those of all places, in the order in which they ran.
std::vector<OperatorRun> runs_of(const DumpSide& side, const ChosenSteps& steps) {
  std::vector<OperatorRun> runs;
  for (auto& [place, some] : operator_runs(side, nullptr)) {
    if (steps.takes(place)) std::move(some.begin(), some.end(), std::back_inserter(runs));
  }
  std::sort(runs.begin(), runs.end(),
            [](const OperatorRun& a, const OperatorRun& b) { return first_tensor(a) < first_tensor(b); });
  return runs;
}

class OpReplay {
 public:
  OpReplay(const ReplayTask& task, const std::vector<OperatorRun>& runs, std::vector<std::string>& errors)
      : task_(task), errors_(errors) {
    for (const DumpFile& file : task.side.files) task.model.check_task(identity_of(file));
    for (const OperatorRun& run : runs) {
      const DumpFile& file = task.side.files[run.file];
      dumped_.emplace(StepKey(file.boot, file.place), find_node(run));
    }
  }

  ReplayedOp replay(const OperatorRun& run, std::size_t number) {
    ReplayedOp result;
    result.file = run.file;
    const DumpFile& file = task_.side.files[run.file];
    StepOutputs& before = steps_[{file.boot, file.place}];
    const ReplayNode* const node = find_node(run);
    if (node == nullptr) {
      result.reason = task_.model.is_ambiguous(identity_of(file))
                          ? "ambiguous: the model has several operators of this name"
                          : "the model has no operator of this name";
      return result;
    }
    result.type = node->type;
    DumpedOp dumped;
    std::vector<ReplayTensor> expected;
    result.reason = node->problem;
    if (result.reason.empty() &&
        assemble(task_.side, run, *node, task_.model, before, dumped, result.reason) &&
        task_.reference.run(dumped.op, expected, result.reason) && measure_all(dumped, expected, result)) {
      judge(dumped, result);
      if (result.verdict == ReplayVerdict::culprit) look_behind(run, *node, dumped, before, result);
      if (result.verdict == ReplayVerdict::culprit && !task_.failing_directory.empty())
        keep(dumped, expected, number, result);
    }
    for (const auto& [role, tensor] : run.tensors) {
      if (role.first && role.second < node->outputs.size()) before[node->outputs[role.second]] = tensor;
    }
    return result;
  }

 private:
  /// By the operator's name, or by that of the framework's operator in the record.
  const ReplayNode* find_node(const OperatorRun& run) const {
    const DumpFile& file = task_.side.files[run.file];
    if (const ReplayNode* const node = task_.model.node(identity_of(file))) return node;
    for (const auto& [role, tensor] : run.tensors) {
      const std::string original = task_.side.tensors[tensor].original_op;
      if (role.first && !original.empty())
        return task_.model.node({.name = sanitised(original), .type = file.type});
    }
    return nullptr;
  }

  bool measure_all(const DumpedOp& dumped, const std::vector<ReplayTensor>& expected,
                   ReplayedOp& result) const {
    for (std::size_t i = 0; i < dumped.outputs.size(); ++i) {
      if (!dumped.places[i]) continue;
      const ReplayTensor& device = dumped.outputs[i];
      ReplayedOutput output = {
          *dumped.places[i], task_.side.tensors[*dumped.places[i]].index, device.dims, {}};
      const OutputLimit limit =
          limit_of(dumped.op, i, device.dtype, elements_of(device.dims).value_or(0), task_.limits);
      if (i >= expected.size() || !measure(device, expected[i], limit, output.error, result.reason)) {
        result.outputs.clear();
        return false;
      }
      result.outputs.push_back(std::move(output));
    }
    return true;
  }

  static void judge(const DumpedOp& dumped, ReplayedOp& result) {
    result.unlike_constant = dumped.unlike_constant;
    const bool wrong = std::any_of(result.outputs.begin(), result.outputs.end(),
                                   [](const ReplayedOutput& output) { return output.error.diverges; });
    result.verdict =
        wrong || !result.unlike_constant.empty() ? ReplayVerdict::culprit : ReplayVerdict::agrees;
  }

  /// A culprit's output may be that of operators behind it, which a runtime has fused into it, with its constants: those
  /// of the model have to give it then. What cannot be computed makes it no culprit.
  void look_behind(const OperatorRun& run, const ReplayNode& node, const DumpedOp& dumped,
                   const StepOutputs& before, ReplayedOp& result) const {
    constexpr int kMost = 4;
    constexpr double kRounding = 1e-3;  // of constants that were folded
    const DumpFile& file = task_.side.files[run.file];
    const DType dtype = dumped.outputs.empty() ? DType::undefined : dumped.outputs[0].dtype;
    ReplayOp op = dumped.op;
    const ReplayNode* at = &node;
    std::vector<ReplayTensor> made;
    for (int i = 0; i <= kMost && dumped.places[0]; ++i) {
      const ReplayNode* const next = at->outputs.empty() ? nullptr : task_.model.only_reader(at->outputs[0]);
      if (i == 0 && (next == nullptr || dumped_.contains({{file.boot, file.place}, next}))) return;
      std::string ignored;
      for (std::size_t input = 0; input < op.inputs.size(); ++input) {
        if (op.inputs[input] && task_.model.has_constant(at->inputs[input]) &&
            !task_.model.constant(at->inputs[input], *op.inputs[input], ignored))
          return doubt(*at, result);
      }
      if (!task_.reference.run(op, made, ignored) || made.empty() || made[0].dtype != dtype)
        return doubt(*at, result);
      OutputError error;
      const OutputLimit limit = limit_of(op, 0, dtype, elements_of(made[0].dims).value_or(0), task_.limits);
      if (i != 0 && measure(dumped.outputs[0], made[0], limit, error, ignored) &&
          (!error.diverges || error.euclid <= kRounding)) {
        result.verdict = ReplayVerdict::agrees;
        result.unlike_constant.clear();
        result.outputs.clear();
        return;
      }
      if (next == nullptr || dumped_.contains({{file.boot, file.place}, next})) return;
      if (!follow(*next, *at, made[0], before, dtype, op)) return doubt(*next, result);
      at = next;
    }
  }

  /// Makes `op` the operator `node`, which reads `made` as the first output of the one before.
  bool follow(const ReplayNode& node, const ReplayNode& from, const ReplayTensor& made,
              const StepOutputs& before, DType dtype, ReplayOp& op) const {
    op = {node.name, node.type, node.domain, node.opset, node.attributes, {}, {}};
    std::string ignored;
    for (const std::string& name : node.inputs) {
      std::optional<ReplayTensor>& input = op.inputs.emplace_back();
      if (name.empty()) continue;
      input.emplace().name = name;
      if (name == from.outputs[0]) {
        *input = made;
        input->name = name;
        continue;
      }
      if (task_.model.has_constant(name)) continue;
      const auto found = before.find(name);
      if (found == before.end() ||
          !read_dumped(task_.side, task_.side.tensors[found->second], *input, ignored))
        return false;
    }
    op.wanted.emplace_back(node.outputs.empty() ? "output" : node.outputs[0], dtype);
    return node.problem.empty();
  }

  static void doubt(const ReplayNode& behind, ReplayedOp& result) {
    result.verdict = ReplayVerdict::not_replayed;
    result.reason = "it differs, and '" + behind.name + "' (" + behind.type +
                    "), which the dump lacks, may be fused into it";
    result.unlike_constant.clear();
    result.outputs.clear();
  }

  void keep(const DumpedOp& dumped, const std::vector<ReplayTensor>& expected, std::size_t number,
            const ReplayedOp& result) {
    std::string said, reason;
    for (const ReplayedOutput& output : result.outputs) {
      if (output.error.diverges)
        said +=
            "output " + std::to_string(output.index) + ": " + error_text(output.error, output.dims) + '\n';
    }
    if (!result.unlike_constant.empty()) said += result.unlike_constant + " is not that of the model\n";
    const FailingOp failing = {.op = dumped.op,
                               .folder = failing_folder(number, task_.side.files[result.file].op),
                               .expected = expected,
                               .device = dumped.outputs,
                               .reference = task_.reference.name(),
                               .said = said};
    if (!save_failing(task_.failing_directory, failing, reason)) errors_.push_back(reason);
  }

  const ReplayTask& task_;
  std::vector<std::string>& errors_;
  std::map<StepKey, StepOutputs> steps_;
  std::set<std::pair<StepKey, const ReplayNode*>> dumped_;
};

}  // namespace

std::string error_text(const OutputError& error, Shape dims) {
  std::vector<Dim> place(dims.size());
  std::uint64_t rest = error.at;
  for (std::size_t d = dims.size(); d-- != 0;) {
    place[d] = dims[d] == 0 ? 0 : rest % dims[d];
    rest = dims[d] == 0 ? 0 : rest / dims[d];
  }
  const bool by_share = error.over == 0 && error.op_class == OpClass::quantised;
  std::string text = std::to_string(by_share ? error.off : error.over) + " of " +
                     count_text(error.elements, "element") +
                     (by_share                           ? " a step off"
                      : error.op_class == OpClass::exact ? " wrong"
                                                         : " beyond the limit") +
                     ", the worst " + apart_text(error.device, error.expected) + " at " + shape_text(place);
  if (error.limit != 0) text += ", which may be " + number_text(error.limit) + " off";
  return text;
}

std::string_view to_string(ReplayVerdict verdict) {
  constexpr std::string_view kWords[] = {"agrees", "culprit", "not replayed"};
  return kWords[static_cast<std::size_t>(verdict)];
}

std::vector<ReplayedOp> replay_ops(const ReplayTask& task, std::vector<std::string>& errors) {
  const std::vector<OperatorRun> runs = runs_of(task.side, task.steps);
  const auto bytes_of = [&](const OperatorRun& run) {
    std::uint64_t bytes = 0;
    for (const auto& [role, tensor] : run.tensors) bytes += task.side.tensors[tensor].data_bytes;
    return bytes;
  };
  std::uint64_t total = 0;
  for (const OperatorRun& run : runs) total += bytes_of(run);
  Progress progress(total);
  OpReplay replay(task, runs, errors);
  std::vector<ReplayedOp> results;
  for (const OperatorRun& run : runs) {
    if (interrupted()) break;
    results.push_back(replay.replay(run, results.size()));
    progress.add(bytes_of(run));
  }
  return results;
}

}  // namespace opdump::tool
