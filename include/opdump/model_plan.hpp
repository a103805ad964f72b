#pragma once
#include <cstdint>
#include <cstring>
#include <span>

#include "opdump/counts.hpp"
#include "opdump/dump_config.hpp"
#include "opdump/model.hpp"
#include "opdump/targets.hpp"
#include "opdump/watch.hpp"
#include "opdump/watch_plan.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What is captured of one operator, as bits.
inline constexpr std::uint8_t kCaptureInputs = 1;
inline constexpr std::uint8_t kCaptureOutputs = 2;
inline constexpr std::uint8_t kCheckOverflow = 4;  ///< inputs and outputs, if the operator overflows
/// But for the tensors that the config leaves out; in a plan that does not watch.
inline constexpr std::uint8_t kLeaveOut = 8;

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
/// without a byte count as captured. What a recorder counts is exact between steps, what the sink lost once
/// `flush` says `ok`; until then the caller reads only the former.
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

/// A config resolved against one model: a byte per operator, and what a record needs besides. The caller owns
/// it and the bytes, `Session::load_model` fills it; it must stay until `Session::unload_model`. Immutable
/// while loaded, but for the step counter.
struct ModelPlan {
  const ModelDesc* model = nullptr;  ///< null: not loaded
  std::span<const std::uint8_t>
      bits{};                         ///< one byte per operator; empty when nothing of the model is captured
  std::string_view directory_name{};  ///< the model's name in the dump
  StepSet steps{};
  std::uint8_t target = 0;       ///< index in the session's table of targets
  std::uint32_t generation = 0;  ///< of the session: which init the plan belongs to; 0: it captures nothing
  std::uint32_t load = 0;        ///< number of this loading in the session, from 1 on
#if OPDUMP_FAULTS
  WatchState watch{};  ///< without operators: the plan does not watch
#endif
#if OPDUMP_SMALL_CODE == 0
  const ModelExtras* excluding[2] = {};  ///< the entries that leave tensors out; null: none
#endif
  std::uint64_t next_step = 0;
#if OPDUMP_SMALL_CODE == 0
  std::uint64_t steps_seen = 0;  ///< since the model was loaded, or as its OpCounts
  std::uint64_t steps_wanted = 0;
#endif
  std::uint32_t matched_ops = 0;
  std::span<OpCounts> op_counts{};  ///< one per operator; see `Session::count_ops`
  ModelPlan* next = nullptr;        ///< in that list
};

/// A plan with its own memory, for models of up to `Ops` operators.
template <std::size_t Ops>
struct ModelPlanFor : ModelPlan {
  std::uint8_t op_bits[Ops] = {};
};

/// The capture bits that `mode` stands for.
constexpr std::uint8_t capture_bits(DumpMode mode) {
  switch (mode) {
    case DumpMode::input:
      return kCaptureInputs;
    case DumpMode::output:
      return kCaptureOutputs;
    case DumpMode::all:
      break;
  }
  return kCaptureInputs | kCaptureOutputs;
}

/// Whether `dump_level` takes an op of `level`.
constexpr bool takes_level(DumpLevel dump_level, OpLevel level) {
  if (dump_level == DumpLevel::all || level == OpLevel::both) return true;
  return (dump_level == DumpLevel::op) == (level == OpLevel::op);
}

/// The part of an operator's full name behind its last slash, up to the last dash.
constexpr std::string_view kernel_type(std::string_view full_name) {
  const std::string_view last = full_name.substr(full_name.rfind('/') + 1);  // npos + 1 is 0: no slash
  return last.substr(0, last.rfind('-'));
}

/// Whether `text` contains `part`, which is in lower case, in whatever case.
constexpr bool contains_folded(std::string_view text, std::string_view part) {
  const auto folded = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  for (std::size_t at = 0; at + part.size() <= text.size(); ++at) {
    std::size_t same = 0;
    while (same < part.size() && folded(text[at + same]) == part[same]) ++same;
    if (same == part.size()) return true;
  }
  return false;
}

/// Whether `extras` name `op`, ranges aside.
constexpr bool matches(const ModelExtras& extras, const OpDesc& op) {
  if (extras.marked && op.marked) return true;
  for (const NamePattern& pattern : extras.patterns) {
    if (matches(pattern, op.name)) return true;
  }
  for (const std::string_view part : extras.type_parts) {
    if (contains_folded(kernel_type(op.name), part)) return true;
  }
  return false;
}

/// Whether `rule` names `op`: by its own name or by that of an operator fused into it, exactly, or by what
/// the extras have.
constexpr bool matches(const ModelRule& rule, const OpDesc& op) {
  if (rule.all_layers) return true;
  if (rule.extras != nullptr && matches(*rule.extras, op)) return true;
  for (const std::string_view layer : rule.layers) {
    if (layer == op.name) return true;
    for (const std::string_view original : op.original_names) {
      if (layer == original) return true;
    }
  }
  return false;
}

/// Walks the operators of a model in execution order, and says of each whether it lies in `range`. From where
/// the order goes against the range (its end before its begin, its begin a second time) it takes no more.
/// Source: CANN's graph engine.
class RangeWalk {
 public:
  constexpr explicit RangeWalk(const OpRange& range) : range_(range) {}

  constexpr bool takes(std::string_view op_name) {
    const bool begins = op_name == range_.begin;
    const bool ends = op_name == range_.end;
    if ((begins && place_ == Place::after) || (ends && !begins && place_ == Place::before))
      place_ = Place::against;
    if (begins && place_ == Place::before) place_ = Place::inside;
    const bool taken = place_ == Place::inside;
    if (taken && ends) place_ = Place::after;
    return taken;
  }

  /// After the last operator: whether the range began and ended, in that order, once.
  constexpr bool whole() const { return place_ == Place::after; }

 private:
  enum class Place : std::uint8_t { before, inside, after, against };

  const OpRange& range_;
  Place place_ = Place::before;
};

#if OPDUMP_SMALL_CODE == 0
/// What the config wants of an operator's tensors, where it leaves some out.
class RemainingTensors {
 public:
  static constexpr std::size_t kMost = sizeof(void*) > 4 ? 64 : 16;

  RemainingTensors(const ModelPlan& plan, const OpDesc& op, const CapturedTensors& all) {
    all.for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
      if (leaves_out(plan, op, is_output, index)) return;
      fit_ = fit_ && count_ < kMost;
      if (!fit_) return;
      tensors_[count_] = tensor;
      indexes_[count_++] = static_cast<std::uint16_t>(index);
      if (!is_output) input_count_ = count_;
    });
  }

  /// Whether they are no more than `kMost`; otherwise those behind are missing.
  bool fit() const { return fit_; }
  CapturedTensors tensors() const {
    return {{tensors_, input_count_}, {tensors_ + input_count_, count_ - input_count_}};
  }
  /// Of each, its position among the operator's inputs or outputs.
  const std::uint16_t* indexes() const { return indexes_; }

  /// Whether an entry names `op`, by its own name or its type, exactly.
  static constexpr bool names(const TensorExclusion& exclusion, const OpDesc& op) {
    return exclusion.name == (exclusion.by_type ? op.type : op.name);
  }

 private:
  static bool leaves_out(const ModelPlan& plan, const OpDesc& op, bool is_output, std::uint32_t index) {
    for (const ModelExtras* extras : plan.excluding) {
      if (extras == nullptr) continue;
      for (const TensorExclusion& exclusion : extras->exclusions) {
        if (!names(exclusion, op)) continue;
        for (const TensorPosition& position : exclusion.positions) {
          if (position.output == is_output && position.index == index) return true;
        }
      }
    }
    return false;
  }

  TensorView tensors_[kMost];
  std::uint16_t indexes_[kMost];
  std::size_t count_ = 0;
  std::size_t input_count_ = 0;
  bool fit_ = true;
};

/// Marks the operators of `plan` of which the entries `rules` leave tensors out. Source: CANN's graph engine,
/// where the entry that names the model and the one that names none hold together.
inline void mark_exclusions(const ModelRule* const (&rules)[2], ModelPlan& plan, std::span<std::uint8_t> bits,
                            std::span<const OpDesc> ops) {
  for (std::size_t rule = 0; rule < 2; ++rule) {
    const ModelExtras* const extras = rules[rule] != nullptr ? rules[rule]->extras : nullptr;
    if (extras == nullptr || extras->exclusions.empty()) continue;
    plan.excluding[rule] = extras;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if ((bits[i] & (kCaptureInputs | kCaptureOutputs)) == 0) continue;
      for (const TensorExclusion& exclusion : extras->exclusions) {
        if (RemainingTensors::names(exclusion, ops[i]))
          bits[i] = static_cast<std::uint8_t>(bits[i] | kLeaveOut);
      }
    }
  }
}
#endif

/// What `config` wants of every operator that it takes, whatever its models say: 0 but for overflow dumps.
constexpr std::uint8_t bits_of_all(const DumpConfig& config) {
  return OPDUMP_OVERFLOW != 0 && config.overflow ? kCheckOverflow : std::uint8_t{0};
}

/// Fills `bits`, a byte per operator of `model`, with those of `watch_bits`; all 0 when nothing is watched.
constexpr void resolve_watch(const DumpConfig& config, const ModelDesc& model, std::span<std::uint8_t> bits) {
  bool any = false;
  for (std::size_t i = 0; i < model.ops.size(); ++i) {
    const OpDesc& op = model.ops[i];
    bits[i] = takes_level(config.level, op.level) ? watch_bits(config.models, op) : std::uint8_t{0};
    any = any || is_watched(bits[i]);
  }
  for (std::size_t i = 0; i < model.ops.size() && !any; ++i) bits[i] = 0;
}

/// Resolves `config` against `model` into `plan`, with `bits` (at least one byte per operator, else
/// `no_memory`) as its memory. Of several rules for one name the last one counts; the file's name goes before
/// the graph's; rules without a name hold besides; ranges add to layers. Takes time proportional to operators
/// times layers and ranges; for model load, not for the hot path. Source: model and layer matching of CANN's
/// graph engine.
[[nodiscard]] inline Status resolve_plan(const DumpConfig& config, const ModelDesc& model,
                                         std::span<std::uint8_t> bits, ModelPlan& plan) {
  plan = ModelPlan{};
  plan.directory_name = model.name;
  const ModelRule* by_file = nullptr;
  const ModelRule* by_graph = nullptr;
  const ModelRule* any = nullptr;
  for (const ModelRule& rule : config.models) {
    if (rule.any_model) {
      any = &rule;
    } else if (rule.model_name == model.name) {
      by_file = &rule;
    } else if (rule.model_name == model.graph_name) {
      by_graph = &rule;
    }
  }
  const ModelRule* named = by_file != nullptr ? by_file : by_graph;
  if (named != nullptr) plan.directory_name = named->model_name;
  if (has_rank_folder(config.layout) && !config.net_name.empty()) plan.directory_name = config.net_name;
  const std::uint8_t of_all = bits_of_all(config);
  const bool failures = OPDUMP_FAULTS != 0 && config.exception != ExceptionDump::none;
  if (!config.active || (named == nullptr && any == nullptr && of_all == 0 && !failures)) return Status::ok;
  if (bits.size() < model.ops.size()) return Status::no_memory;
  plan.steps = config.steps;
  plan.next_step = config.first_step;
  if (failures) {
    // Any operator may fail, and none is captured before.
    for (std::size_t i = 0; i < model.ops.size(); ++i) bits[i] = 0;
    plan.matched_ops = static_cast<std::uint32_t>(model.ops.size());
    plan.bits = bits.first(model.ops.size());
    return Status::ok;
  }

  // A history keeps what is listed besides.
  const bool listed = of_all == 0 || config.options.history_steps != 0;
  const std::uint8_t wanted = listed ? capture_bits(config.mode) : std::uint8_t{0};
  for (std::size_t i = 0; i < model.ops.size(); ++i) {
    const OpDesc& op = model.ops[i];
    const bool at_level = takes_level(config.level, op.level);
    const bool take =
        at_level && ((named != nullptr && matches(*named, op)) || (any != nullptr && matches(*any, op)));
    bits[i] = static_cast<std::uint8_t>((take ? wanted : 0) | (at_level ? of_all : 0));
  }
  if (OPDUMP_FAULTS != 0 && config.watch) resolve_watch(config, model, bits);
  for (const ModelRule* rule : {named, any}) {
    if (rule == nullptr || rule->extras == nullptr || config.watch) continue;
    for (const OpRange& range : rule->extras->ranges) {
      RangeWalk walk(range);
      for (std::size_t i = 0; i < model.ops.size(); ++i) {
        if (walk.takes(model.ops[i].name) && takes_level(config.level, model.ops[i].level))
          bits[i] = static_cast<std::uint8_t>(bits[i] | wanted);
      }
    }
  }
#if OPDUMP_SMALL_CODE == 0
  if (!config.watch) mark_exclusions({named, any}, plan, bits, model.ops);
#endif
  for (std::size_t i = 0; i < model.ops.size(); ++i) plan.matched_ops += bits[i] != 0 ? 1 : 0;
  if (plan.matched_ops != 0) plan.bits = bits.first(model.ops.size());
  return Status::ok;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
