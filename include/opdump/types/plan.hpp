#pragma once
#include <cstdint>
#include <span>

#include "opdump/base/build.hpp"
#include "opdump/base/text.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/counts.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/watch.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What is captured of one operator, as bits.
inline constexpr std::uint8_t kCaptureInputs = 1;
inline constexpr std::uint8_t kCaptureOutputs = 2;
inline constexpr std::uint8_t kCheckOverflow = 4;  ///< inputs and outputs, if the operator overflows
/// All but the tensors that the config leaves out, or a trigger looks at the operator; in a plan that does not watch.
inline constexpr std::uint8_t kLeaveOut = 8;
// What has not been captured so far of a listed operator; in a plan that does not watch.
inline constexpr std::uint8_t kNotRun = 16;
inline constexpr std::uint8_t kNoInputs = 32;
inline constexpr std::uint8_t kNoOutputs = 64;
inline constexpr std::uint8_t kNotSeen = kNotRun | kNoInputs | kNoOutputs;
/// A faulty tensor of the operator has been reported; in a plan that does not watch.
inline constexpr std::uint8_t kFaultTold = 128;

/// Where losses lie; only with losses.
struct LostSteps {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  void add(std::uint64_t step, bool is_first) {
    if (is_first) first = step;
    last = step;
  }
};

/// What became of one operator's records in the steps since `Session::count_ops`, or since
/// `Session::restart_counts`. The operator was seen once in each step, see `ModelPlan::steps_seen`. Operators
/// without a byte count as captured. The counts of the recorder are exact between steps, those of the sink
/// once `flush` says `ok`; before that the caller reads only the recorder's.
struct OpCounts : LossCounts {
  std::uint32_t wanted = 0;
  std::uint32_t captured = 0;   ///< whole in a ring
  std::uint32_t degraded = 0;   ///< reduced in a ring
  LostSteps lost_steps{};       ///< by a recorder
  LostSteps sink_lost_steps{};  ///< by the sink
};

/// The counts in the order in which a journal has them.
inline constexpr std::uint32_t OpCounts::*kOpCountFields[] = {
    &OpCounts::wanted,        &OpCounts::captured,    &OpCounts::degraded,  &OpCounts::cut_short,
    &OpCounts::invalid,       &OpCounts::ring_full,   &OpCounts::timed_out, &OpCounts::too_large,
    &OpCounts::device_failed, &OpCounts::sink_failed, &OpCounts::quota,
};

/// Where all losses of an operator lie, whoever lost them; only with losses.
constexpr LostSteps lost_steps(const OpCounts& counts) {
  const bool sink_lost = counts.sink_failed + counts.quota != 0;
  const bool recorder_lost = counts.wanted != counts.captured + counts.degraded;
  if (!sink_lost) return counts.lost_steps;
  if (!recorder_lost) return counts.sink_lost_steps;
  const LostSteps& one = counts.lost_steps;
  const LostSteps& other = counts.sink_lost_steps;
  return {one.first < other.first ? one.first : other.first, one.last > other.last ? one.last : other.last};
}

/// The rules of a config that hold for one model: all that name it, by the name of its file or, if no rule
/// does, by that of its graph, and all that name no model. Refers to the rules.
class RulesOfModel {
 public:
  constexpr RulesOfModel() = default;
  constexpr RulesOfModel(std::span<const ModelRule> rules, const ModelDesc& model) : rules_(rules) {
    bool by_file = false;
    for (const ModelRule& rule : rules) {
      if (rule.any_model) {
        any_ = true;
        continue;
      }
      const bool is_file = is_same(rule.model_name, model.name);
      if (is_file || (!by_file && is_same(rule.model_name, model.graph_name))) {
        by_file = is_file;
        name_ = &rule.model_name;
      }
    }
  }

  constexpr bool none() const { return !named() && !any_; }

  /// Whether some rules name the model, and by which name; empty: none does.
  constexpr bool named() const { return name_ != nullptr; }
  constexpr std::string_view name() const { return named() ? *name_ : std::string_view(); }

  /// Calls `use(rule)` for each rule, in the order of the config.
  template <class Use>
  OPDUMP_INLINE_IF_LEAN constexpr void for_each(Use use) const {
    // Counts down, for which GCC has shorter code than for a range.
    const ModelRule* at = rules_.data();
    for (std::size_t left = rules_.size(); left != 0; --left) {
      const ModelRule& rule = *at++;
      if (rule.any_model || (named() && is_same(rule.model_name, *name_))) use(rule);
    }
  }

 private:
  std::span<const ModelRule> rules_{};
  const std::string_view* name_ = nullptr;  ///< of a rule; null: none names the model
  bool any_ = false;
};

struct TriggeredPlan;

/// A config resolved against one model: a byte per operator, and what else a record needs. The caller owns
/// the plan and the bytes, and `Session::load_model` fills them; both must stay until
/// `Session::unload_model`. A loaded plan does not change, except for the step counter and the bits of
/// `kNotSeen` and `kFaultTold`, which the recorder of the open step changes.
struct ModelPlan {
  const ModelDesc* model = nullptr;  ///< null: not loaded
  /// One byte per operator; empty when nothing of the model is captured.
  std::span<std::uint8_t> bits{};
  std::string_view directory_name{};  ///< the model's name in the dump
  StepSet steps{};
  const void* session = nullptr;  ///< that loaded it: the context of its recorders
  std::uint8_t target = 0;        ///< index in the session's table of targets
  std::uint32_t generation = 0;   ///< of the session: which init the plan belongs to; 0: it captures nothing
  std::uint32_t load = 0;         ///< number of this loading in the session, from 1 on
  [[no_unique_address]] Maybe<build::kFaults, WatchState> watch{};   ///< without operators: it does not watch
  [[no_unique_address]] Maybe<!build::kLean, RulesOfModel> rules{};  ///< of which some leave tensors out
  /// What the session's TriggerWatch knows of it; null: nothing of it is looked at.
  [[no_unique_address]] Maybe<!build::kLean, TriggeredPlan*> triggers{};
  /// Used by the session's list of the plans that it captures.
  [[no_unique_address]] Maybe<!build::kLean, ModelPlan*> next_loaded{};
  std::uint64_t next_step = 0;
  /// No step from here on has begun.
  [[no_unique_address]] Maybe<!build::kLean, std::uint64_t, 2> steps_end{};
  /// From the first to the last of the wanted steps before that which the count of steps went past.
  [[no_unique_address]] Maybe<!build::kLean, StepRange> skipped{kEmptyRange};
  /// Since the model was loaded, or as its OpCounts.
  [[no_unique_address]] Maybe<!build::kLean, std::uint64_t> steps_seen{};
  [[no_unique_address]] Maybe<!build::kLean, std::uint64_t, 1> steps_wanted{};
  std::uint32_t matched_ops = 0;
  std::span<OpCounts> op_counts{};  ///< one per operator; see `Session::count_ops`
  ModelPlan* next = nullptr;        ///< in that list
};

template <class Plan>
constexpr bool is_watching(const Plan& plan) {
  if constexpr (build::kFaults) {
    return !plan.watch.ops.empty();
  } else {
    return false;
  }
}

/// Whether the model's name in the dump is short enough for a directory.
constexpr bool can_be_directory(const ModelPlan& plan) {
  constexpr std::size_t kMostBytes = 255;
  return plan.directory_name.size() <= kMostBytes;
}

/// A plan with its own memory, for models of up to `Ops` operators.
template <std::size_t Ops>
struct ModelPlanFor : ModelPlan {
  std::uint8_t op_bits[Ops] = {};
};

/// The capture bits that `mode` stands for.
constexpr std::uint8_t capture_bits(DumpMode mode) {
  static_assert(static_cast<int>(DumpMode::input) + 1 == kCaptureInputs &&
                static_cast<int>(DumpMode::output) + 1 == kCaptureOutputs &&
                static_cast<int>(DumpMode::all) + 1 == (kCaptureInputs | kCaptureOutputs));
  return static_cast<std::uint8_t>(static_cast<int>(mode) + 1);
}

/// Whether `text` is `name` as it stands in the name of a file.
constexpr bool is_file_form(std::string_view text, std::string_view name) {
  if (text.size() != name.size()) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (text[i] != kSanitised[static_cast<unsigned char>(name[i])]) return false;
  }
  return true;
}

/// Whether `is_same(name of the operator)` holds for its own name or one of those fused into it.
template <class IsSame>
constexpr bool has_name(const OpDesc& op, IsSame is_same) {
  if (is_same(op.name)) return true;
  for (const std::string_view original : op.original_names) {
    if (is_same(original)) return true;
  }
  return false;
}

/// How a name of a config matches the operators of a model.
enum class NameMatch : std::uint8_t { none, file_form, exact };

/// A name that no operator has exactly stands for the operators whose names take that form in names of files.
constexpr NameMatch match_of(std::string_view name, std::span<const OpDesc> ops) {
  NameMatch match = NameMatch::none;
  for (const OpDesc& op : ops) {
    if (has_name(op, [name](std::string_view own) { return own == name; })) return NameMatch::exact;
    if (has_name(op, [name](std::string_view own) { return is_file_form(name, own); }))
      match = NameMatch::file_form;
  }
  return match;
}

/// `range` with its names replaced by those that operators of the model have.
constexpr OpRange with_real_names(const OpRange& range, std::span<const OpDesc> ops) {
  OpRange real;
  for (const auto end : {&OpRange::begin, &OpRange::end}) {
    real.*end = range.*end;
    bool exact = false;
    for (const OpDesc& op : ops) exact = exact || op.name == range.*end;
    // Of several that are so named in files, the first by bytes.
    bool found = exact;
    for (const OpDesc& op : ops) {
      if (exact || !is_file_form(range.*end, op.name) || (found && real.*end <= op.name)) continue;
      real.*end = op.name;
      found = true;
    }
  }
  return real;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
