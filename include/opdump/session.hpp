#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "opdump/clock.hpp"
#include "opdump/counts.hpp"
#include "opdump/device_memory.hpp"
#include "opdump/drainer.hpp"
#include "opdump/dump_config.hpp"
#include "opdump/model_plan.hpp"
#include "opdump/plan_list.hpp"
#include "opdump/recorder.hpp"
#include "opdump/session_log.hpp"
#include "opdump/sink.hpp"
#include "opdump/targets.hpp"
#include "opdump/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a session is made of. Everything is referred to and must outlive it.
template <class Memory>
struct SessionParts {
  Memory& memory;
  Sink& sink;
  Clock& clock;
  MutableBytes scratch;  ///< for the drainer; see `drain_scratch_bytes`
  std::uint32_t device_id = 0;
  WhenFull when_full = WhenFull::block;
  /// Longest wait without progress: of a recorder for room under WhenFull::block and for a copy in the
  /// background, of the control context for the drainer. Where a recorder that waits for room cannot look for
  /// longer than an eighth of this, as in a process that is stopped, the rest does not count (with
  /// OPDUMP_SMALL_CODE it does).
  std::uint32_t block_limit_ms = 1000;
  JournalDetail journal = JournalDetail::records;
  /// For configs that want statistics, and WhenFull::degrade, which without it is WhenFull::drop.
  Reduction* reduction = nullptr;
  RecordFormats formats{};            ///< that configs may ask for
  SessionLog* log = nullptr;          ///< is told what configs and models come to; null: nobody
  OverflowCheck* overflow = nullptr;  ///< for configs that want overflow dumps
  MutableBytes watch_memory{};        ///< for configs that watch, 8-byte aligned; see `watch_bytes`
  WatchListener* watch_listener = nullptr;
  Restorer* restorer = nullptr;  ///< for configs that want the framework's formats; null: tensors keep theirs
};

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
/// it: what it dumps there is lost, as a sink that belongs to the parent refuses it. The parent goes on
/// undisturbed. Source of the order: CANN's aclmdlInitDump, aclmdlSetDump, aclmdlFinalizeDump.
template <class Memory>
class BasicSession {
 public:
  using Recorder = BasicRecorder<Memory>;

  explicit BasicSession(const SessionParts<Memory>& parts)
      : sink_(parts.sink),
        device_id_(parts.device_id),
        block_limit_ms_(parts.block_limit_ms),
        when_full_(possible(parts.when_full)),
        journal_(parts.journal),
#if OPDUMP_SMALL_CODE == 0
        formats_(parts.formats),
#endif
        log_(parts.log),
        drainer_(parts.sink, targets_, plans_, parts.scratch, parts.journal, parts.reduction) {
    context_.memory = &parts.memory;
    context_.clock = &parts.clock;
    context_.drainer = &drainer_;
    context_.targets = &targets_;
#if OPDUMP_STATISTICS
    context_.reduction = parts.reduction;
#endif
#if OPDUMP_SMALL_CODE == 0
    context_.restorer = parts.restorer;
#endif
#if OPDUMP_OVERFLOW
    context_.overflow = parts.overflow;
#if OPDUMP_MAX_RECORDERS != 1
    context_.recorders = recorders_;
#endif
#endif
#if OPDUMP_FAULTS
    context_.watch_listener = parts.watch_listener;
    watch_memory_ = watch_rest_ = parts.watch_memory;
#endif
    context_.when_full = when_full_;
    context_.block_limit_ms = parts.block_limit_ms;
  }
  BasicSession(const BasicSession&) = delete;
  BasicSession& operator=(const BasicSession&) = delete;

  /// Gives a recorder for one more capturing context, with `ring_memory` as its ring (8-byte aligned, at
  /// least `Ring::kMinBytes`), which stays the recorder's until it is removed, as does `head_memory` (8-byte
  /// aligned; see `head_memory_bytes`). With that, an operator's names and shapes go through the ring once
  /// and not at every step, which makes small records about twice as fast; without, nothing else changes.
  /// `no_free_recorder` when OPDUMP_MAX_RECORDERS are taken, `invalid_argument` for unusable memory. At any
  /// time, also while the session drains.
  Result<Recorder*> add_recorder(MutableBytes ring_memory, MutableBytes head_memory = {}) {
    if (reinterpret_cast<std::uintptr_t>(head_memory.data()) % 8 != 0) return Status::invalid_argument;
    for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS; ++slot) {
      if (slot_state(slot) != SlotState::free) continue;
      const HeadMemory heads(head_memory);
      const Status status = recorders_[slot].attach(context_, slot, ring_memory, heads.sent);
      if (status != Status::ok) return status;
      drainer_.start(slot, heads.known);
      set_slot_state(slot, SlotState::open);
      return &recorders_[slot];
    }
    return Status::no_free_recorder;
  }

  /// Takes a recorder back when its ring is drained; its context must not use it any more, and its memory is
  /// free on `ok`. `recorder_busy` while a step is open or the device still writes to the ring: nothing
  /// changes; or when the drainer made no end of the ring within `block_limit_ms`: the recorder is leaving,
  /// call again. `invalid_argument` for a recorder that is not the session's or already free.
  [[nodiscard]] Status remove_recorder(Recorder& recorder) {
    const std::size_t slot = recorder.slot();
    if (slot >= OPDUMP_MAX_RECORDERS || &recorders_[slot] != &recorder ||
        slot_state(slot) == SlotState::free) {
      return Status::invalid_argument;
    }
    if (recorder.open_plan() != nullptr || !recorder.at_rest()) return Status::recorder_busy;
    set_slot_state(slot, SlotState::leaving);
    const auto is_free = [&] { return slot_state(slot) == SlotState::free; };
    return wait_for_drainer(is_free, context_.block_limit_ms) == Status::ok ? Status::ok
                                                                            : Status::recorder_busy;
  }

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
    if (const Status status = choose_form(config, target); status != Status::ok) return status;
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
  /// drain thread runs (stop it first): nothing changes. An error of the sink's sync is returned, with the
  /// session off all the same.
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
    return sink_.sync();
  }

  /// Moves about `budget_bytes` from each recorder's ring to the sink, in turn; returns the bytes moved, 0
  /// when there was nothing. From the idle loop, or by a drain thread.
  std::size_t drain_some(std::size_t budget_bytes) {
    plans_.enter();
#if OPDUMP_FAULTS
    // seq_cst: either this is seen, or `is_draining` sees the turn that has just begun.
    if (crashed_.load(std::memory_order_seq_cst)) {
      plans_.leave();
      return 0;
    }
#endif
    if (!passing_) mark_rings();
    std::size_t moved = 0;
    bool passed = true;
    for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS; ++slot) {
      const SlotState state = slot_state(slot);
      if (state == SlotState::free) continue;
      const std::size_t bytes = drainer_.drain(slot, recorders_[slot].ring(), budget_bytes);
      // Not at each look, which would take the recorder's line away from its core.
      if (bytes == 0 || passing_)
        drainer_.tell_untold(slot, recorders_[slot].ring(), recorders_[slot].untold());
      moved += bytes;
      // Seen leaving before the ring was looked at, it has nothing left once that is empty.
      if (state == SlotState::leaving && bytes == 0) {
        finish(slot);
        set_slot_state(slot, SlotState::free);
      }
      passed = passed && drainer_.passed(slot);
    }
    for (std::uint8_t target = 0; target < Targets::kMax && passed && passing_; ++target) {
      if (targets_.state(target) == Targets::State::closing) close(target);
    }
    // release: as in `flush`.
    if (passed && passing_) flushes_passed_.store(flush_marked_, std::memory_order_release);
    passing_ = passing_ && !passed;
    plans_.leave();
    return moved;
  }

#if OPDUMP_FAULTS
  /// For fault, watchdog and signal handlers, which end the program afterwards: from now on `drain_some` does
  /// nothing. Any context.
  void begin_crash() {
    crashed_.store(true, std::memory_order_seq_cst);
  }

  /// Whether a `drain_some` is at work in some context, which may be the one that is asked from.
  bool is_draining() const {
    return plans_.at_work();
  }

  /// After `begin_crash`: moves what the rings hold to the sink, and what the config asks for of the operator
  /// that was running on `failed` (null: none), whose context is this one or rests. Does not wait, close or
  /// sync. A record that was half drained when the crash came may be lost. Allocates nothing; as safe in a
  /// signal handler as the sink and the device memory are.
  void crash_flush(Recorder* failed) {
    context_.when_full = WhenFull::drop;
    drain_rings();
    if (failed == nullptr || failed->open_plan() == nullptr) return;
    static_cast<void>(failed->capture_failure());
    drain_rings();
  }
#endif

  /// Whether a ring was more than an eighth full when `drain_some` looked at it, since the last call of this.
  /// For the drain context, which should then look again soon.
  bool take_crowded() {
    return drainer_.take_crowded();
  }

  /// Returns when everything that the recorders have captured so far is in the sink: drains, or waits for the
  /// drain thread. Recorders may go on meanwhile. `timeout` when that takes longer than `limit_ms`.
  [[nodiscard]] Status flush(std::uint32_t limit_ms) {
    // release: what was captured before is seen by the drain context; pairs with the acquire in `mark_rings`.
    const std::uint32_t asked = flushes_asked_.load(std::memory_order_relaxed) + 1;
    flushes_asked_.store(asked, std::memory_order_release);
    const auto all_passed = [this, asked] {
      // acquire: it is in the sink; pairs with the release in `drain_some`.
      if (flushes_passed_.load(std::memory_order_acquire) == asked) return true;
      for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS; ++slot) {
        if (slot_state(slot) != SlotState::free && !recorders_[slot].ring().drained()) return false;
      }
      return true;
    };
    return wait_for_drainer(all_passed, limit_ms);
  }

  /// Announces a drain thread, which alone may call `drain_some` from now on. `waker`, if there is one, is
  /// woken when a ring fills, until it is detached. `drainer_attached` if there is one already,
  /// `invalid_argument` under WhenFull::inline_drain, `not_supported` for a waker with OPDUMP_WAIT=0. No
  /// recorder may be capturing.
  [[nodiscard]] Status attach_drainer(Waker* waker = nullptr) {
    if (OPDUMP_WAIT == 0 && waker != nullptr) return Status::not_supported;
    if (drainer_attached_) return Status::drainer_attached;
    if (context_.when_full == WhenFull::inline_drain) return Status::invalid_argument;
    drainer_attached_ = true;
    context_.waker.store(waker, std::memory_order_release);
    return Status::ok;
  }

  void detach_drainer() {
    context_.waker.store(nullptr, std::memory_order_release);
    drainer_attached_ = false;
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

  /// What became of the records since the session was made. Any context may ask; exact while nothing captures
  /// or drains.
  DumpCounts counts() const {
    DumpCounts counts;
#if OPDUMP_JOURNAL
    closed_counts_.add_to(counts);
#endif
    for (std::size_t group = 0; group < Targets::kCounted; ++group) {
      drainer_.add_counts(group, counts);
      for (const Recorder& recorder : recorders_) recorder.add_counts(group, counts);
    }
    return counts;
  }

#if OPDUMP_OVERFLOW
  /// Operators that overflowed since the session was made, captured or not. Any context may ask.
  std::uint32_t overflows() const {
    std::uint32_t sum = 0;
    for (const Recorder& recorder : recorders_) sum += recorder.overflows();
    return sum;
  }
#endif

#if OPDUMP_FAULTS

  /// The culprit. While no recorder captures; its names are the model's, which must still be loaded.
  FirstBadOp first_bad_op() const {
    FirstBadOp first;
    for (const Recorder& recorder : recorders_) {
      const FirstBadOp& bad = recorder.first_bad_op();
      if (bad.unix_us != 0 && (first.unix_us == 0 || bad.unix_us < first.unix_us)) first = bad;
    }
    return first;
  }

  /// Times that a watched operator's output was found overwritten, and the first of them; as the two above.
  std::uint32_t overwrites() const {
    std::uint32_t sum = 0;
    for (const Recorder& recorder : recorders_) sum += recorder.overwrites();
    return sum;
  }
  Overwrite first_overwrite() const {
    for (const Recorder& recorder : recorders_) {
      if (recorder.overwrites() != 0) return recorder.first_overwrite();
    }
    return {};
  }
#endif

  /// Cause of the latest record that the sink lost, `ok` if there was none.
  Status last_sink_failure() const {
    return drainer_.last_failure();
  }

  /// What the journals of the dumps tell, as the last `configure` settled it.
  JournalDetail journal() const {
    return journal_now_;
  }

  /// Whether a journal of this session lacks lines since `init`, because the sink refused them: that dump
  /// cannot prove its completeness.
  bool journal_failed() const {
    return drainer_.journal_failed();
  }

 private:
  static constexpr std::size_t kMaxDirectoryPartBytes = 255;

  enum class SlotState : std::uint8_t { free, open, leaving };

  // acquire and release: between control and drain context, which hand a recorder and its ring to each other.
  SlotState slot_state(std::size_t slot) const {
    return static_cast<SlotState>(slot_states_[slot].load(std::memory_order_acquire));
  }
  void set_slot_state(std::size_t slot, SlotState state) {
    slot_states_[slot].store(static_cast<std::uint8_t>(state), std::memory_order_release);
  }

  bool is_open(const ModelPlan& plan) const {
    for (const Recorder& recorder : recorders_) {
      if (recorder.open_plan() == &plan) return true;
    }
    return false;
  }

  void finish(std::size_t slot) {
    drainer_.finish(slot, recorders_[slot].next_sequence(), recorders_[slot].untold().gap());
  }

  /// Begins to close what is retired, and what a `flush` waits for: what was captured for it lies in the
  /// rings now.
  void mark_rings() {
    for (std::uint8_t target = 0; target < Targets::kMax; ++target) {
      if (targets_.state(target) != Targets::State::retired) continue;
      targets_.set_state(target, Targets::State::closing);
      passing_ = true;
    }
    // acquire: as in `flush`.
    const std::uint32_t asked = flushes_asked_.load(std::memory_order_acquire);
    passing_ = passing_ || asked != flush_marked_;
    flush_marked_ = asked;
    for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS && passing_; ++slot) drainer_.mark(slot);
  }

  void close(std::uint8_t target) {
    DumpCounts counts;
#if OPDUMP_JOURNAL
    for (Recorder& recorder : recorders_) {
      recorder.add_counts(target, counts);
      recorder.clear_counts(target);
    }
    drainer_.close(target, counts);
    closed_counts_.add(counts);
#else
    drainer_.close(target, counts);
#endif
    targets_.set_state(target, Targets::State::free);
  }

#if OPDUMP_FAULTS
  void drain_rings() {
    for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS; ++slot) {
      if (slot_state(slot) == SlotState::free) continue;
      while (drainer_.drain(slot, recorders_[slot].ring(), SIZE_MAX) != 0) {
      }
      drainer_.tell_untold(slot, recorders_[slot].ring(), recorders_[slot].untold());
    }
  }
#endif

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

#if OPDUMP_FAULTS
  /// Sets what of `target` comes from a config that wants what goes wrong.
  Status choose_faults(const DumpConfig& config, DumpTarget& target) const {
    // Source: MindSpore hands whole graphs to CANN, and saves what it runs itself as ever.
    if (config.exception != ExceptionDump::none && !has_rank_folder(config.layout)) {
      target.exception = config.exception;
      target.utc_offset_seconds = context_.clock->utc_offset_seconds();
      target.format = formats_.protobuf;
      target.data = DumpData::tensor;
    }
    if (config.watch && watch_memory_.empty()) return Status::not_supported;
    if (!config.overflow) return Status::ok;
    if (context_.overflow == nullptr) return Status::not_supported;
    // Source: CANN dumps an overflow's tensors, whatever the config says; MindSpore has no reports where it
    // dumps kernel by kernel.
    if (config.layout == Layout::cann) target.data = DumpData::tensor;
    target.reports = !has_rank_folder(config.layout);
    return Status::ok;
  }
#else
  Status choose_faults(const DumpConfig& config, [[maybe_unused]] DumpTarget& target) const {
    bool supported = !config.watch && config.exception == ExceptionDump::none;
#if OPDUMP_OVERFLOW
    // As above; the only layout is CANN's.
    if (config.overflow) target.data = DumpData::tensor;
    supported = supported && (!config.overflow || context_.overflow != nullptr);
#else
    supported = supported && !config.overflow;
#endif
    return supported ? Status::ok : Status::not_supported;
  }
#endif

  /// Sets how `target` is written.
  Status choose_form(const DumpConfig& config, DumpTarget& target) const {
#if OPDUMP_SMALL_CODE
    if (config.file_format != FileFormat::nano || config.layout != Layout::cann || config.world_size != 0 ||
        has_exclusions(config))
      return Status::not_supported;
#else
    switch (config.file_format) {
      case FileFormat::nano:
        break;
      case FileFormat::protobuf:
        target.format = formats_.protobuf;
        break;
      case FileFormat::npy:
        target.format = formats_.npy;
        break;
    }
    if (config.file_format != FileFormat::nano && target.format == nullptr) return Status::not_supported;
#endif
    if (const Status status = choose_faults(config, target); status != Status::ok) return status;
#if OPDUMP_SMALL_CODE == 0
    target.split =
        splits_records(target.data, target.layout, target.format != nullptr && target.format->one_tensor());
    target.default_format = has_rank_folder(config.layout) && !config.device_format;
#endif
#if OPDUMP_STATISTICS
    const bool reduces = context_.reduction != nullptr && context_.reduction->makes(target);
#else
    constexpr bool reduces = false;
#endif
    if (target.data != DumpData::tensor && !reduces) return Status::not_supported;
    char directory_memory[kMaxDumpDirectoryBytes];
    TextWriter directory(directory_memory);
    target.directory_bytes = static_cast<std::uint8_t>(add_dump_directory(directory, target).text().size());
    return Status::ok;
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

  void retire_if_unused(std::uint8_t target) {
    if (targets_[target].plans == 0) targets_.set_state(target, Targets::State::retired);
  }

  /// Drains, or lets the drain thread work, until `done` or for `limit_ms`; `timeout` when it is still not
  /// done.
  template <class Done>
  Status wait_for_drainer(Done done, std::uint32_t limit_ms) {
    constexpr std::size_t kBudgetBytes = 64 * 1024;
    const std::uint32_t start = context_.clock->monotonic_ms();
    while (!done()) {
      if (!drainer_attached_) {
        if (drain_some(kBudgetBytes) == 0) return done() ? Status::ok : Status::timeout;
      } else {
        if (Waker* waker = context_.waker.load(std::memory_order_relaxed)) waker->wake();
        context_.clock->pause();
      }
      if (context_.clock->monotonic_ms() - start >= limit_ms) return done() ? Status::ok : Status::timeout;
    }
    return Status::ok;
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
  bool drainer_attached_ = false;
#if OPDUMP_FAULTS
  std::atomic<bool> crashed_{false};
#endif
  bool passing_ = false;  ///< something waits for the rings to pass what was in them; the drain context's
  std::atomic<std::uint8_t> slot_states_[OPDUMP_MAX_RECORDERS] = {};
  std::atomic<std::uint32_t> flushes_asked_{0};   ///< by the control context; the latest one's number
  std::atomic<std::uint32_t> flushes_passed_{0};  ///< number of the latest one whose records are in the sink
  std::uint32_t flush_marked_ = 0;  ///< of the one that waits for the rings; the drain context's
#if OPDUMP_SMALL_CODE == 0
  const RecordFormats formats_;
#endif
  SessionLog* const log_;
#if OPDUMP_FAULTS
  MutableBytes watch_memory_;
  MutableBytes watch_rest_;        ///< what no loaded plan has
  std::uint32_t watch_plans_ = 0;  ///< that have some
#endif
  DumpConfig config_;
#if OPDUMP_JOURNAL || OPDUMP_SMALL_CODE == 0
  std::uint64_t last_target_id_ = 0;
#endif
  std::uint32_t generation_ = 0;
  std::uint32_t loads_ = 0;
  Targets targets_;
  [[no_unique_address]] PlanList plans_;
#if OPDUMP_JOURNAL
  CountBlock<DumpCount::wanted, DumpCount::written> closed_counts_;  ///< of all targets closed so far
#endif
  RecorderContext<Memory> context_;
  Drainer drainer_;
  Recorder recorders_[OPDUMP_MAX_RECORDERS];
};

/// A session whose device memory is reached through a virtual call.
using Session = BasicSession<DeviceMemory>;
using Recorder = Session::Recorder;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
