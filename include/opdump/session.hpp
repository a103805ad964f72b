#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "opdump/device_memory.hpp"
#include "opdump/dump_config.hpp"
#include "opdump/model_plan.hpp"
#include "opdump/recorder_group.hpp"
#include "opdump/session_log.hpp"
#include "opdump/session_parts.hpp"
#include "opdump/sink.hpp"
#include "opdump/target_means.hpp"
#include "opdump/targets.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// One dump: its config, models, recorders and drainer. Holds no memory but itself and shares nothing with
/// other sessions. Order of calls:
///
///     add_recorder, init, set_config, load_model, (begin_step, capture, end_step)..., finalize, unload_model
///
/// `set_config` may be repeated: the latest one counts, for models loaded after it. A model loaded before any
/// config, or while the session is off, is legal and not captured. After `finalize` loaded models run on
/// uncaptured, and `init` starts over; a model has to be loaded again to be captured again. Whatever is
/// called out of order returns its own status and changes nothing.
///
/// Threads: the calls of this class come from one control context, and none of init, set_config or finalize
/// while a recorder captures; `drain_some` comes from one drain context at a time, which may be another one;
/// each recorder belongs to its own. Under WhenFull::inline_drain all of them are one context. After fork()
/// the child has a copy, with what was in the rings, and without the parent's drain thread. It must not use
/// it: what it dumps there is lost, as a sink that belongs to the parent refuses it, though no call waits
/// there for ever if the drainer was attached with a Waker that says it is not there. The parent goes on
/// undisturbed. Source of the order: CANN's aclmdlInitDump, aclmdlSetDump, aclmdlFinalizeDump.
template <class Memory>
class BasicSession : public RecorderGroup<Memory> {
 public:
  using typename RecorderGroup<Memory>::Recorder;
  using RecorderGroup<Memory>::drain_some;

  explicit BasicSession(const SessionParts<Memory>& parts)
      : RecorderGroup<Memory>(parts),
        sink_(parts.sink),
        device_id_(parts.device_id),
        block_limit_ms_(parts.block_limit_ms),
        when_full_(possible(parts.when_full)),
        journal_(parts.journal),
#if OPDUMP_SMALL_CODE == 0
        formats_(parts.formats),
#endif
#if OPDUMP_FAULTS
        watch_memory_(parts.watch_memory),
        watch_rest_(parts.watch_memory),
#endif
        log_(parts.log) {
  }
  BasicSession(const BasicSession&) = delete;
  BasicSession& operator=(const BasicSession&) = delete;

  /// Makes `options` count, where they are not absent, instead of what the session was made with, from the
  /// next `init` on; rings are the caller's and not looked at. `already_initialised` until `finalize`.
  [[nodiscard]] Status configure(const DumpOptions& options) {
    if (initialised_) return Status::already_initialised;
    context_.when_full = possible(options.when_full.value_or(when_full_));
    context_.block_limit_ms = options.block_limit_ms.value_or(block_limit_ms_);
    journal_now_ = options.journal.value_or(journal_);
    // A journal would tell of what a history has let go.
    if (options.history_steps != 0) journal_now_ = JournalDetail::none;
    return Status::ok;
  }

  std::uint32_t device_id() const {
    return device_id_;
  }

  /// Makes the session ready for configs. `already_initialised` until `finalize`; `wrong_device` when the
  /// memory is bound to another device than `SessionParts::device_id`.
  [[nodiscard]] Status init() {
    if (initialised_) return Status::already_initialised;
    if constexpr (IdentifiedMemory<Memory>) {
      if (context_.memory->device_id() != device_id_) return Status::wrong_device;
    }
    initialised_ = true;
    // 0 stands for plans that belong to no session.
    if (++generation_ == 0) ++generation_;
    context_.generation = generation_;
    drainer_.begin(journal_now_);
    return Status::ok;
  }

  /// Makes `config` count for models loaded from now on, and for single operators at once. The time of this
  /// call names the dump's directory. A config that is inactive, or that leaves this device out, is accepted
  /// and changes nothing: what was set before stays in force. `not_initialised` before `init`;
  /// `too_many_configs`, with this config not in force, when models are still loaded under `Targets::kMax`
  /// others; `not_supported` when it wants a file format, statistics, overflows or a watch that the session
  /// has not been given the means for. `config` is copied; what it refers to must stay until `finalize`.
  [[nodiscard]] Status set_config(const DumpConfig& config) {
    if (!initialised_) return Status::not_initialised;
    if (log_ != nullptr) log_->config_set(config, device_id_);
    if (!config.active || !dumps_on(config, device_id_)) return Status::ok;
    const std::uint64_t now = context_.clock->unix_us();
    DumpTarget target = {
      .root = config.dump_path.empty() ? std::string_view(".") : config.dump_path,
      .time = local_time_number(now / 1000000, context_.clock->utc_offset_seconds()),
#if OPDUMP_JOURNAL || OPDUMP_SMALL_CODE == 0
      .id = now > last_target_id_ ? now : last_target_id_ + 1,
#endif
      .device_id = device_id_,
#if OPDUMP_SMALL_CODE == 0
      .sample_number = config.sample_number,
      .columns = config.statistic_columns,
#endif
      .layout = config.layout,
      .data = config.data,
      .fixed_point = config.fixed_point,
      .trailing_comma = config.trailing_comma,
      .statistics_on_device = config.statistics_on_device,
      .statistics = config.statistics,
      .world_size = config.world_size,
      .rank = config.rank
    };
    if (const Status status = means().choose_form(config, target); status != Status::ok) return status;
    std::uint8_t taken = targets_.take(target);
    if (taken == Targets::kNone) {
      leave_config();
      const auto have_taken = [&] {
        if (taken == Targets::kNone) taken = targets_.take(target);
        return taken != Targets::kNone;
      };
      static_cast<void>(wait_for_drainer(have_taken, context_.block_limit_ms));
    }
    if (taken == Targets::kNone) return Status::too_many_configs;
    leave_config();
    context_.target = taken;
#if OPDUMP_JOURNAL || OPDUMP_SMALL_CODE == 0
    last_target_id_ = target.id;
#endif
    config_ = config;
#if OPDUMP_OVERFLOW
    context_.overflow_number = config.overflow_number;
#endif
#if OPDUMP_FAULTS
    context_.watch_changes_only = config.watch_changes_only;
    context_.failures = config.exception != ExceptionDump::none;
#endif
    // Without a step counter a step filter can never hold for a single operator.
    context_.single_ops = config.single_ops && config.steps.every_step();
    context_.single_bits = capture_bits(config.mode);
    return Status::ok;
  }

  /// Resolves the config in force against `model`. `bits` is a byte per operator for `plan`; both, and
  /// `model`, stay until `unload_model`. `model_already_loaded` leaves a loaded plan as it is. `no_memory`
  /// (too few bits) and `name_too_long` (a name does not fit the scratch or a path) leave the model loaded
  /// but uncaptured: inference goes on.
  [[nodiscard]] Status load_model(ModelPlan& plan, const ModelDesc& model, std::span<std::uint8_t> bits) {
    if (plan.model != nullptr) return Status::model_already_loaded;
    Status status = Status::ok;
    plan = ModelPlan{};
    if (config_.active) {
      status = resolve_plan(config_, model, bits, plan);
      if (status == Status::ok && !plan.bits.empty()) status = check_names(plan, model);
      if (status == Status::ok && !plan.bits.empty()) status = place_watch(plan, model);
      if (status != Status::ok) plan = ModelPlan{};
    }
    plan.model = &model;
    if (log_ != nullptr && config_.active && status == Status::ok) log_->model_loaded(config_, plan);
    if (!plan.bits.empty()) {
      plan.generation = generation_;
      // 0 stands for none.
      if (++loads_ == 0) ++loads_;
      plan.load = loads_;
      plan.target = context_.target;
      ++targets_[plan.target].plans;
    }
    return status;
  }

  template <std::size_t Ops>
  [[nodiscard]] Status load_model(ModelPlanFor<Ops>& plan, const ModelDesc& model) {
    return load_model(plan, model, plan.op_bits);
  }

  /// Counts what becomes of each operator of a loaded `plan`, from its next step on, in `counts`: at least
  /// one per operator, which stay until `unload_model`; a plan that is still loaded then has those of the
  /// operators with losses written at `finalize`. Once per loading. `model_not_loaded`, `step_open`
  /// while a recorder runs a step of it, `no_memory` for too few, `invalid_argument` for the second time,
  /// `not_supported` with OPDUMP_SMALL_CODE: nothing changes.
  [[nodiscard]] Status count_ops(ModelPlan& plan, std::span<OpCounts> counts) {
    if (OPDUMP_SMALL_CODE != 0) return Status::not_supported;
    if (plan.model == nullptr) return Status::model_not_loaded;
    if (!plan.op_counts.empty()) return Status::invalid_argument;
    if (is_open(plan)) return Status::step_open;
    if (counts.size() < plan.model->ops.size()) return Status::no_memory;
    plan.op_counts = counts.first(plan.model->ops.size());
    if (plan.op_counts.empty()) return Status::ok;
    plans_.add(plan);
    return restart_counts(plan);
  }

  /// Begins a new range of steps for what `count_ops` counts of `plan`: those counts, and the steps that it
  /// has seen and wanted, begin at 0 again. After a `flush`, as what the sink loses later counts in the new
  /// range. `model_not_loaded`, `step_open` while a recorder runs a step of it, `invalid_argument` when its
  /// operators are not counted: nothing changes.
  [[nodiscard]] Status restart_counts(ModelPlan& plan) {
    if (plan.model == nullptr) return Status::model_not_loaded;
    if (plan.op_counts.empty()) return Status::invalid_argument;
    if (is_open(plan)) return Status::step_open;
#if OPDUMP_SMALL_CODE == 0
    plan.steps_seen = plan.steps_wanted = 0;
#endif
    for (OpCounts& counts : plan.op_counts) counts = {};
    return Status::ok;
  }

  /// Ends the use of `plan`, its bits, its model and its OpCounts; their memory is free again at once,
  /// records still in a ring need none of it. With OpCounts it waits for the `drain_some` that is at work, if
  /// one is. `model_not_loaded`, or `step_open` while a recorder runs a step of it: nothing changes. Legal in
  /// any state.
  [[nodiscard]] Status unload_model(ModelPlan& plan) {
    if (plan.model == nullptr) return Status::model_not_loaded;
    if (is_open(plan)) return Status::step_open;
    release_watch(plan);
    this->detach_missing_drainer();
    plans_.remove(plan, *context_.clock);
    if (initialised_ && plan.generation == generation_) {
      --targets_[plan.target].plans;
      if (plan.target != context_.target) retire_if_unused(plan.target);
    }
    plan = ModelPlan{};
    return Status::ok;
  }

  /// Switches dumping off, moves everything captured to the sink, closes the journals and makes it all
  /// durable. `not_initialised` before `init`, `step_open` while a step is open, `drainer_attached` while a
  /// drain thread runs (stop it first): nothing changes. An error of the sink's sync, or else
  /// `journal_failure`, is returned with the session off all the same: records are as `counts` says, but may
  /// not be durable, or their journal lacks lines, such as its end.
  [[nodiscard]] Status finalize() {
    if (!initialised_) return Status::not_initialised;
    if (drainer_attached_) return Status::drainer_attached;
    for (const Recorder& recorder : recorders_) {
      if (recorder.open_plan() != nullptr) return Status::step_open;
    }
    initialised_ = false;
    config_ = {};
    context_.generation = 0;
    context_.target = Targets::kNone;
    context_.single_ops = false;
    while (drain_some(SIZE_MAX) != 0) {
    }
    for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS; ++slot) {
      if (slot_state(slot) != SlotState::free) finish(slot);
    }
    passing_ = false;
    plans_.let_go([this](const ModelPlan& plan) {
      if (plan.generation == generation_) drainer_.tell_ops(plan);
    });
    for (std::uint8_t target = 0; target < Targets::kMax; ++target) {
      if (targets_.state(target) != Targets::State::free) close(target);
    }
    const Status synced = sink_.sync();
    return synced == Status::ok ? drainer_.journal_failure() : synced;
  }

  bool initialised() const {
    return initialised_;
  }
  WhenFull when_full() const {
    return context_.when_full;
  }

  /// YYYYMMDDHHMMSS of the config in force, 0 without one.
  std::uint64_t dump_time() const {
    return context_.target == Targets::kNone ? 0 : targets_[context_.target].time;
  }

  /// What the journals of the dumps tell, as the last `configure` settled it.
  JournalDetail journal() const {
    return journal_now_;
  }

 private:
  using Group = RecorderGroup<Memory>;
  using Group::close;
  using Group::context_;
  using Group::drainer_;
  using Group::drainer_attached_;
  using Group::finish;
  using Group::is_open;
  using Group::passing_;
  using Group::plans_;
  using Group::recorders_;
  using Group::retire_if_unused;
  using Group::slot_state;
  using Group::targets_;
  using Group::wait_for_drainer;
  using typename Group::SlotState;

  static constexpr std::size_t kMaxDirectoryPartBytes = 255;

  TargetMeans means() const {
    return {
      .clock = *context_.clock,
#if OPDUMP_SMALL_CODE == 0
      .formats = formats_,
#endif
      .reduction = context_.reduction,
#if OPDUMP_OVERFLOW
      .overflow = context_.overflow,
#else
      .overflow = nullptr,
#endif
#if OPDUMP_FAULTS
      .watches = !watch_memory_.empty(),
#else
      .watches = false,
#endif
    };
  }

  /// Memory goes back when the last plan that has some is unloaded.
  Status place_watch([[maybe_unused]] ModelPlan& plan, [[maybe_unused]] const ModelDesc& model) {
#if OPDUMP_FAULTS
    if (!config_.watch) return Status::ok;
    if (const Status status = plan.watch.place(plan.bits, model.ops, watch_rest_); status != Status::ok)
      return status;
    ++watch_plans_;
#endif
    return Status::ok;
  }

  void release_watch([[maybe_unused]] const ModelPlan& plan) {
#if OPDUMP_FAULTS
    if (!plan.watch.ops.empty() && --watch_plans_ == 0) watch_rest_ = watch_memory_;
#endif
  }

  /// Lets the config in force go unless models are loaded under it.
  void leave_config() {
    if (context_.target == Targets::kNone) return;
    retire_if_unused(context_.target);
    if (targets_[context_.target].plans != 0) return;
    context_.target = Targets::kNone;
    context_.single_ops = false;
    config_ = {};
  }

  /// Bytes of the longest name that a record of operator `op` may have.
  static std::size_t longest_name(const ModelPlan& plan, const ModelDesc& model, std::size_t op) {
    std::size_t bytes = model.ops[op].name.size();
#if OPDUMP_FAULTS
    std::size_t longest = 0;
    for (std::size_t i = 0; i < plan.bits.size() && is_suspect(plan.bits[op]); ++i) {
      if (is_watched(plan.bits[i]) && model.ops[i].name.size() > longest) longest = model.ops[i].name.size();
    }
    if (longest != 0) bytes += WatchState::kBetween.size() + longest;
#else
    static_cast<void>(plan);
#endif
    return bytes;
  }

  Status check_names(const ModelPlan& plan, const ModelDesc& model) const {
    if (plan.directory_name.size() > kMaxDirectoryPartBytes) return Status::name_too_long;
    for (std::size_t i = 0; i < plan.bits.size(); ++i) {
      const OpDesc& op = model.ops[i];
      if (plan.bits[i] == 0) continue;
      const std::size_t name_bytes = longest_name(plan, model, i);
      if (op.type.size() > kMaxTextBytes || name_bytes > kMaxTextBytes ||
          !drainer_.fits(plan.directory_name.size(), op.type.size(), name_bytes)) {
        return Status::name_too_long;
      }
    }
    return Status::ok;
  }

  Sink& sink_;
  const std::uint32_t device_id_;
  const std::uint32_t block_limit_ms_;
  const WhenFull when_full_;
  const JournalDetail journal_;
  JournalDetail journal_now_ = journal_;
  bool initialised_ = false;
#if OPDUMP_SMALL_CODE == 0
  const RecordFormats formats_;
#endif
#if OPDUMP_FAULTS
  MutableBytes watch_memory_;
  MutableBytes watch_rest_;        ///< what no loaded plan has
  std::uint32_t watch_plans_ = 0;  ///< that have some
#endif
  SessionLog* const log_;
  DumpConfig config_;
#if OPDUMP_JOURNAL || OPDUMP_SMALL_CODE == 0
  std::uint64_t last_target_id_ = 0;
#endif
  std::uint32_t generation_ = 0;
  std::uint32_t loads_ = 0;
};

/// A session whose device memory is reached through a virtual call.
using Session = BasicSession<DeviceMemory>;
using Recorder = Session::Recorder;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
