#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/impl/plan/op_index.hpp"
#include "opdump/impl/plan/remaining_tensors.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/plan.hpp"
#include "opdump/types/watch.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Whether `dump_level` takes an op of `level`.
constexpr bool takes_level(DumpLevel dump_level, OpLevel level) {
  const OpLevel other = dump_level == DumpLevel::op ? OpLevel::kernel : OpLevel::op;
  return dump_level == DumpLevel::all || level != other;
}

/// The part of an operator's full name behind its last slash, up to the last dash.
constexpr std::string_view kernel_type(std::string_view full_name) {
  const std::string_view last = full_name.substr(full_name.rfind('/') + 1);  // npos + 1 is 0: no slash
  return last.substr(0, last.rfind('-'));
}

/// Whether `text` contains `part` in any case; `part` is in lower case.
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
  if (build::kLean) return false;  // refused: `has_rare_extras`
  for (const NamePattern& pattern : extras.patterns) {
    if (matches(pattern, op.name)) return true;
  }
  for (const std::string_view part : extras.type_parts) {
    if (contains_folded(kernel_type(op.name), part)) return true;
  }
  return false;
}

/// Whether `rule` names `op`: exactly, by its own name or that of an operator fused into it, or by its extras.
constexpr bool matches(const ModelRule& rule, const OpDesc& op) {
  if (rule.all_layers) return true;
  if (rule.extras != nullptr && matches(*rule.extras, op)) return true;
  if (names_layer(rule, op.name)) return true;
  for (const std::string_view& original : op.original_names) {
    if (names_layer(rule, original)) return true;
  }
  return false;
}

/// Calls `take(position)` for the operators that lie in `range`: from the first one named `begin` to the first one
/// named `end`, or to the last operator if none is. None if `end` comes before `begin`. Source: CANN's graph engine.
template <class Take>
OPDUMP_INLINE_IF_LEAN constexpr void for_each_in_range(const OpRange& range, std::span<const OpDesc> ops,
                                                       Take take) {
  bool inside = false;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    inside = inside || is_same(ops[i].name, range.begin);
    if (inside) take(i);
    if (is_same(ops[i].name, range.end)) return;
  }
}

/// Marks the operators whose tensors `rules` leave out in part. Source: CANN's graph engine, which applies
/// entries for the model and entries for every model together.
inline void mark_exclusions(const RulesOfModel& rules, std::span<std::uint8_t> bits,
                            std::span<const OpDesc> ops) {
  rules.for_each([&](const ModelRule& rule) {
    if (rule.extras == nullptr || rule.extras->exclusions.empty()) return;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if ((bits[i] & (kCaptureInputs | kCaptureOutputs)) == 0) continue;
      for (const TensorExclusion& exclusion : rule.extras->exclusions) {
        if (RemainingTensors::names(exclusion, ops[i]))
          bits[i] = static_cast<std::uint8_t>(bits[i] | kLeaveOut);
      }
    }
  });
}

/// For each name of `rule` that no operator has exactly, adds `wanted` to the operators with this name in files.
inline void take_file_forms(const ModelRule& rule, const DumpConfig& config, std::span<const OpDesc> ops,
                            std::uint8_t wanted, std::span<std::uint8_t> bits) {
  for (const std::string_view layer : rule.layers) {
    if (rule.all_layers || match_of(layer, ops) != NameMatch::file_form) continue;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const bool same = has_name(ops[i], [layer](std::string_view own) { return is_file_form(layer, own); });
      if (same && takes_level(config.level, ops[i].level))
        bits[i] = static_cast<std::uint8_t>(bits[i] | wanted);
    }
  }
}

/// Whether `op` stands for an input of the whole model. Source: CANN's graph engine.
constexpr bool is_data(const OpDesc& op) {
  return op.type == "Data" || op.type == "RefData" || op.type == "AippData" || op.type == "AnnData";
}

/// Adds `wanted` to the `is_data` operators that feed operators with bits, as far as the model names producers.
inline void take_data_ops(std::span<const OpDesc> ops, std::uint8_t wanted, std::span<std::uint8_t> bits) {
  if constexpr (!build::kLean) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (bits[i] == 0) continue;
      const std::span<const std::uint32_t> producers = ops[i].producers;
      for (const std::uint32_t from : producers) {
        if (from < ops.size() && is_data(ops[from]))
          bits[from] = static_cast<std::uint8_t>(bits[from] | wanted);
      }
    }
  }
}

/// Whether `config` is torchair's and names operators: torchair promises to dump the `is_data` operators that
/// feed them too.
constexpr bool promises_data_ops(const DumpConfig& config) {
  if (config.form.layout != Layout::cann || config.form.world_size == 0 || config.mode == DumpMode::input)
    return false;
  for (const ModelRule& rule : config.models) {
    if (!rule.all_layers) return true;
  }
  return false;
}

/// Whether any of `ops` names its producers.
constexpr bool tell_producers(std::span<const OpDesc> ops) {
  for (const OpDesc& op : ops) {
    const std::span<const std::uint32_t> producers = op.producers;
    if (!producers.empty()) return true;
  }
  return false;
}

/// Resolves the names of a config by an index. The time grows with the number of names plus the number of
/// operators, times a logarithm, however the names are spread over rules. Kernel types and patterns are left
/// to the index's search; without one, each operator is compared with them.
class IndexedPlan {
 public:
  IndexedPlan(const DumpConfig& config, std::span<const OpDesc> ops, std::span<std::uint8_t> bits,
              const OpIndex& index)
      : level_(config.level), ops_(ops), bits_(bits), index_(index) {
    for (IndexedName& name : index.all()) {
      name.exact_taken = name.form_taken = false;
      name.reach = 0;
    }
  }

  /// Adds `wanted` to the operators that `rule` names; those that its extras name wait for `finish`.
  void take(const ModelRule& rule, std::uint8_t wanted) {
    if (rule.all_layers) {
      if (!all_taken_) take_each(wanted, [](const OpDesc&) { return true; });
      all_taken_ = true;
      return;
    }
    for (const std::string_view layer : rule.layers) take(layer, wanted);
    if (rule.extras == nullptr) return;
    const ModelExtras& extras = *rule.extras;
    if (has_search(extras)) {
      searched_ = true;
      if (index_.search() != nullptr) index_.search()->add(extras);
    }
    for (const OpRange& range : extras.ranges) reach(range);
  }

  /// Adds `wanted` to the operators that the extras of `rules` name. All of `rules` must have been taken.
  void finish(const RulesOfModel& rules, std::uint8_t wanted) {
    if (searched_) search(rules, wanted);
    std::uint32_t end = 0;
    for (std::uint32_t i = 0; i < ops_.size(); ++i) {
      const std::uint32_t reach = index_.all()[i].reach;
      end = reach > end ? reach : end;
      if (i < end) add(i, wanted);
    }
  }

  void exclude(const TensorExclusion& exclusion) {
    const auto leave_out = [this](std::uint32_t op) {
      if ((bits_[op] & (kCaptureInputs | kCaptureOutputs)) != 0)
        bits_[op] = static_cast<std::uint8_t>(bits_[op] | kLeaveOut);
    };
    if (exclusion.by_type) {
      for (const std::uint32_t op : index_.of_type(exclusion.name)) leave_out(op);
    } else {
      for (const IndexedName& name : index_.exact(exclusion.name, false)) leave_out(name.op);
    }
  }

  /// Sets the bits that `watch_bits` gives.
  void watch(std::span<const ModelRule> rules) {
    std::uint8_t entries_of_all = 0;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (!watches(rules[i])) continue;
      const std::uint8_t entry = watch_entry(i);
      const auto suspect = [&](std::size_t op) {
        if (!is_collective(ops_[op])) add(op, entry);
      };
      const bool every_op = rules[i].all_layers && (entries_of_all & entry) == 0;
      for (std::size_t op = 0; every_op && op < ops_.size(); ++op) suspect(op);
      if (every_op) entries_of_all = static_cast<std::uint8_t>(entries_of_all | entry);
      for (const std::string_view layer : rules[i].layers) {
        for (const bool original : {false, true}) {
          for (const IndexedName& name : index_.exact(layer, original)) suspect(name.op);
        }
      }
    }
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (!watches(rules[i])) continue;
      const std::uint8_t entry = watch_entry(i);
      for (const std::string_view watched : rules[i].extras->watched) {
        for (const IndexedName& name : index_.exact(watched, false)) {
          if (!is_watched(bits_[name.op])) bits_[name.op] = 0;
          add(name.op, static_cast<std::uint8_t>(entry | kWatched));
        }
      }
    }
  }

 private:
  static bool has_search(const ModelExtras& extras) {
    return extras.marked || !extras.patterns.empty() || !extras.type_parts.empty();
  }

  void search(const RulesOfModel& rules, std::uint8_t wanted) {
    if (index_.search() != nullptr) {
      const std::span<const std::uint8_t> found = index_.search()->find();
      for (std::size_t op = 0; op < found.size(); ++op) {
        if (found[op] != 0) add(op, wanted);
      }
      return;
    }
    rules.for_each([&](const ModelRule& rule) {
      if (rule.extras != nullptr && has_search(*rule.extras))
        take_each(wanted, [&](const OpDesc& op) { return matches(*rule.extras, op); });
    });
  }

  static bool watches(const ModelRule& rule) {
    return rule.extras != nullptr && !rule.extras->watched.empty();
  }

  void add(std::size_t op, std::uint8_t wanted) {
    if (takes_level(level_, ops_[op].level)) bits_[op] = static_cast<std::uint8_t>(bits_[op] | wanted);
  }

  template <class Test>
  void take_each(std::uint8_t wanted, Test takes) {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (takes(ops_[i])) add(i, wanted);
    }
  }

  /// Does so once, however many rules name `layer`.
  void take(std::string_view layer, std::uint8_t wanted) {
    bool found = false;
    for (const bool original : {false, true}) {
      const OpIndex::Names names = index_.exact(layer, original);
      found = found || !names.empty();
      take(names, &IndexedName::exact_taken, wanted);
    }
    if (!found) take(index_.file_forms(layer), &IndexedName::form_taken, wanted);
  }

  void take(OpIndex::Names names, bool IndexedName::*taken, std::uint8_t wanted) {
    if (names.empty() || names.front().*taken) return;
    names.front().*taken = true;
    for (const IndexedName& name : names) add(name.op, wanted);
  }

  /// The first operator with this name, else the first so named in files; null: there is none.
  const IndexedName* first_of(std::string_view name) const {
    OpIndex::Names names = index_.exact(name, false);
    if (names.empty()) names = index_.file_forms(name);
    return names.empty() || names.front().original != 0 ? nullptr : &names.front();
  }

  /// Notes how far `range` reaches, see `for_each_in_range`.
  void reach(const OpRange& range) {
    const IndexedName* const begin = first_of(range.begin);
    const IndexedName* const end = first_of(range.end);
    if (begin == nullptr || (end != nullptr && end->op < begin->op)) return;
    const auto reach = end != nullptr ? end->op + 1 : static_cast<std::uint32_t>(ops_.size());
    std::uint32_t& furthest = index_.all()[begin->op].reach;
    furthest = reach > furthest ? reach : furthest;
  }

  const DumpLevel level_;
  const std::span<const OpDesc> ops_;
  const std::span<std::uint8_t> bits_;
  const OpIndex& index_;
  bool all_taken_ = false;
  bool searched_ = false;
};

/// What `config` wants of every operator of its level, whatever its rules list: 0 except for overflow dumps.
constexpr std::uint8_t bits_of_all(const DumpConfig& config) {
  return build::kOverflow && config.overflow ? kCheckOverflow : std::uint8_t{0};
}

/// Fills `bits`, a byte per operator of `model`, as `watch_bits` says; all 0 when no operator is watched.
inline void resolve_watch(const DumpConfig& config, const ModelDesc& model, std::span<std::uint8_t> bits,
                          [[maybe_unused]] const OpIndex& index) {
  bool any = false;
  const bool walk = index.empty();
  if (!walk) IndexedPlan(config, model.ops, bits, index).watch(config.models);
  for (std::size_t i = 0; i < model.ops.size(); ++i) {
    const OpDesc& op = model.ops[i];
    if (walk) bits[i] = takes_level(config.level, op.level) ? watch_bits(config.models, op) : std::uint8_t{0};
    any = any || is_watched(bits[i]);
  }
  for (std::size_t i = 0; i < model.ops.size() && !any; ++i) bits[i] = 0;
}

/// Resolves `config` against `model` into `plan`, which refers to `bits` (at least one byte per operator, else
/// `no_memory`). All rules for one model name apply together, and so do rules without one; the name of the model's
/// file takes precedence over that of its graph. Ranges add to layers. Where outputs are wanted, the outputs of Data
/// operators that feed a listed operator are wanted too (`OpDesc::producers`). A name that no operator has stands for
/// the operators that have it in file names (not with OPDUMP_SMALL_CODE, nor for watched operators). With an `index`
/// of the model, which is used up, takes the time that IndexedPlan states; else time proportional to operators times
/// layers and ranges, or less where a parser has sorted the layers. For model load, not for the hot path. Source:
/// model and layer matching of CANN's graph engine; there, however, a rule replaces an earlier one for the same name.
/// `plan` says nothing yet.
[[nodiscard]] inline Status resolve_new_plan(const DumpConfig& config, const ModelDesc& model,
                                             std::span<std::uint8_t> bits, ModelPlan& plan,
                                             [[maybe_unused]] const OpIndex& index) {
  plan.directory_name = model.name;
  const RulesOfModel rules(config.models, model);
  if (rules.named()) plan.directory_name = rules.name();
  if (!build::kLean && has_net_folder(config.form.layout) && !config.net_name.empty())
    plan.directory_name = config.net_name;
  const std::uint8_t of_all = bits_of_all(config);
  const bool failures = build::kFaults && config.exception != ExceptionDump::none;
  if (!config.active || (rules.none() && of_all == 0 && !failures)) return Status::ok;
  if (bits.size() < model.ops.size()) return Status::no_memory;
  plan.steps = config.steps;
  plan.next_step = config.first_step;
  for (std::size_t i = 0; i < model.ops.size(); ++i) bits[i] = 0;
  if (failures) {
    // Any operator may fail; none is captured before it does.
    plan.matched_ops = static_cast<std::uint32_t>(model.ops.size());
    plan.bits = bits.first(model.ops.size());
    return Status::ok;
  }

  // A history keeps the listed operators too.
  const bool listed = of_all == 0 || config.options.history_steps != 0;
  const std::uint8_t wanted = listed ? capture_bits(config.mode) : std::uint8_t{0};
  // A lean build, where no operator brings in others, takes those of other levels back at the end.
  const auto may_take = [&](const OpDesc& op) { return build::kLean || takes_level(config.level, op.level); };
  const auto take_listed = [&](const ModelRule& rule) OPDUMP_INLINE_IF_LEAN {
    for (std::size_t i = 0; i < model.ops.size(); ++i) {
      if (may_take(model.ops[i]) && matches(rule, model.ops[i])) bits[i] = wanted;
    }
    if constexpr (!build::kLean) take_file_forms(rule, config, model.ops, wanted, bits);
    if (rule.extras == nullptr) return;
    const auto take = [&](std::size_t op) {
      if (may_take(model.ops[op])) bits[op] = wanted;
    };
    for (const OpRange& range : rule.extras->ranges) {
      if constexpr (build::kLean) {
        for_each_in_range(range, model.ops, take);
      } else {
        for_each_in_range(with_real_names(range, model.ops), model.ops, take);
      }
    }
  };
  if (build::kFaults && config.watch) {
    resolve_watch(config, model, bits, index);
  } else {
    if (index.empty()) {
      rules.for_each(take_listed);
    } else {
      IndexedPlan indexed(config, model.ops, bits, index);
      rules.for_each([&](const ModelRule& rule) { indexed.take(rule, wanted); });
      indexed.finish(rules, wanted);
    }
    take_data_ops(model.ops, wanted & kCaptureOutputs, bits);
    plan.rules = rules;
    if (!build::kLean && index.empty()) mark_exclusions(rules, bits, model.ops);
    if (!index.empty()) {
      IndexedPlan indexed(config, model.ops, bits, index);
      rules.for_each([&](const ModelRule& rule) {
        if (rule.extras == nullptr) return;
        for (const TensorExclusion& exclusion : rule.extras->exclusions) indexed.exclude(exclusion);
      });
    }
  }
  const bool watches = build::kFaults && config.watch;
  std::uint32_t matched = 0;
  std::uint8_t* bit = bits.data();
  for (const OpDesc& op : model.ops) {
    if (takes_level(config.level, op.level)) {
      if (!watches) *bit = static_cast<std::uint8_t>(*bit | of_all);
    } else if (build::kLean) {
      *bit = 0;
    }
    if (*bit++ != 0) ++matched;
  }
  plan.matched_ops = matched;
  if (matched != 0) plan.bits = bits.first(model.ops.size());
  return Status::ok;
}

/// The same for any `plan`.
[[nodiscard]] inline Status resolve_plan(const DumpConfig& config, const ModelDesc& model,
                                         std::span<std::uint8_t> bits, ModelPlan& plan,
                                         const OpIndex& index = {}) {
  plan = ModelPlan{};
  return resolve_new_plan(config, model, bits, plan, index);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
