#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "opdump/base/build.hpp"
#include "opdump/base/crc32.hpp"
#include "opdump/impl/capture/recorder_context.hpp"
#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/impl/drain/counted_plans.hpp"
#include "opdump/impl/drain/drainer.hpp"
#include "opdump/impl/plan/account.hpp"
#include "opdump/impl/plan/resolve_plan.hpp"
#include "opdump/impl/plan/target_form.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/port/clock.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/port/listeners.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/port/waker.hpp"
#include "opdump/recorder.hpp"
#include "opdump/types/clock_step.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/counts.hpp"
#include "opdump/types/overflow.hpp"
#include "opdump/types/plan.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a session is made of. The session refers to all of it, so all of it must outlive the session.
template <class Memory>
struct SessionParts {
  Memory& memory;
  Sink& sink;
  Clock& clock;
  MutableBytes scratch;  ///< the drainer's; see `drain_scratch_bytes`
  std::uint32_t device_id = 0;
  WhenFull when_full = WhenFull::block;  ///< of recorders that have none of their own
  /// Longest wait without progress: of a recorder for room under WhenFull::block, of a recorder for a copy in
  /// the background, and of the control context for the drainer. While a recorder waits for room, the time
  /// between two of its looks counts as no more than an eighth of this limit, because the process may have
  /// been stopped in between (with OPDUMP_SMALL_CODE that time counts whole).
  std::uint32_t block_limit_ms = 1000;
  JournalDetail journal = JournalDetail::records;
  /// For configs that want statistics. WhenFull::degrade needs it too, and is WhenFull::drop without it.
  Reduction* reduction = nullptr;
  RecordFormats formats{};            ///< that configs may ask for
  SessionLog* log = nullptr;          ///< hears what becomes of configs and models; null: nobody
  OverflowCheck* overflow = nullptr;  ///< for configs that want overflow dumps
  MutableBytes watch_memory{};        ///< for configs that watch, 8-byte aligned; see `watch_bytes`
  WatchListener* watch_listener = nullptr;
  /// For configs in use at once beyond OPDUMP_MAX_CONFIGS, 8-byte aligned; see `more_config_bytes`. 254 may be in use
  /// in all. Without a journal, with OPDUMP_SMALL_CODE, OPDUMP_SURVIVE_RESET or OPDUMP_MAX_CONFIGS=1 it stays unused.
  MutableBytes more_configs{};
  Restorer* restorer = nullptr;  ///< for configs that want the framework's formats; null: tensors keep theirs
  /// For configs with rules of the privacy; null: they are refused.
  PrivacyFilter<Memory>* kept = nullptr;
  /// For configs with triggers; null: they are refused.
  TriggerWatch<Memory>* triggers = nullptr;
};

#if OPDUMP_ENABLED
/// One dump: its config, models, recorders and drainer. A session holds no memory but itself and shares
/// nothing with other sessions. Order of calls:
///
///     add_recorder, init, set_config, load_model, (begin_step, capture, end_step)..., finalize, unload_model
///
/// `set_config` may be repeated: the latest config counts, for models that are loaded after it. A model that
/// is loaded before any config, or while the session is off, is legal and not captured. After `finalize`
/// loaded models run on uncaptured, and `init` starts over; a model has to be loaded again to be captured
/// again. A call out of order returns its own status and changes nothing.
///
/// Threads: one control context makes the calls of this class, and calls init, set_config and finalize only
/// while no recorder captures. One drain context at a time calls `drain_some`; it may be another context.
/// Each recorder belongs to a context of its own. Under WhenFull::inline_drain all of these are one context,
/// except recorders with a `when_full` of their own, such as an interrupt's.
///
/// After fork() the child has a copy of the session and of what was in the rings, but not the parent's drain
/// thread. The child must not use the session: a sink that belongs to the parent refuses what the child
/// dumps. No call of the child waits for ever if the drainer was attached with a Waker that says it is not
/// there. The parent goes on undisturbed.
///
/// Source of the order: CANN's aclmdlInitDump, aclmdlSetDump, aclmdlFinalizeDump.
template <class Memory>
class BasicSession {
 public:
  using Recorder = BasicRecorder<Memory>;

  explicit BasicSession(const SessionParts<Memory>& parts);
  BasicSession(const BasicSession&) = delete;
  BasicSession& operator=(const BasicSession&) = delete;

  // From the control context.

  /// From the next `init` on, each option that is present replaces what the session was made with. The
  /// session ignores the size of the rings, which are the caller's, and a recorder keeps a `when_full` of its
  /// own. `already_initialised` until `finalize`.
  [[nodiscard]] Status configure(const DumpOptions& options);

  /// From the next `init` on the session is that device's, and no longer `SessionParts::device_id`'s.
  /// `already_initialised` until `finalize`.
  [[nodiscard]] Status set_device(std::uint32_t device_id) {
    if (initialised_) return Status::already_initialised;
    device_id_ = device_id;
    return Status::ok;
  }

  /// Records and journals go to `sink` from now on, which outlives the session. While nothing is drained and no
  /// config is in force.
  void write_to(Sink& sink) { drainer_.write_to(sink); }

  /// Makes the session ready for configs. `already_initialised` until `finalize`; `wrong_device` when the
  /// memory is bound to another device than the session; `driver_failed` as `opdump_crc_unit`.
  [[nodiscard]] Status init();

  /// Makes `config` count for models that are loaded from now on, and for single operators at once. The time
  /// of this call names the dump's directory. A config that is inactive, or that leaves this device out, is
  /// accepted and changes nothing: the config before it stays in force. `not_initialised` before `init`;
  /// `too_many_configs`, with this config not in force, when models are still loaded under as many others as
  /// the session has room for (OPDUMP_MAX_CONFIGS, `SessionParts::more_configs`); `not_supported` when the
  /// config wants a file format, statistics, overflows, a watch, privacy or triggers that the session has no
  /// part for, and when it wants the dump sealed, unless `sink_follows`: the session's sink has accepted the
  /// config's options. The session copies `config`; the texts and lists of `config` must stay until `finalize`.
  [[nodiscard]] Status set_config(const DumpConfig& config, bool sink_follows = false);

  /// Tells the journal of the config in force what its dump comes from: after each `set_config`, and before anything
  /// is captured under it. `provenance` and its texts stay until `finalize`. The journal has the line at its
  /// beginning and again at its end, as a flash log that goes round takes the beginning. With OPDUMP_SMALL_CODE each
  /// call writes the line at once, from the drain context, and nothing has to stay. A build in which nobody calls it
  /// has no code for it. Where no config is in force, it does nothing. `not_supported` without OPDUMP_JOURNAL,
  /// `not_initialised` before `init`, `invalid_argument` and `too_large` as `check(provenance)`: nothing changes.
  [[nodiscard]] Status tell_provenance(const Provenance& provenance);

  /// Tells the journals of all configs in use that the clock was set, once it has been: `opdump` then moves the times
  /// of what was captured before. See ClockStep, and SettableClock (parts/settable_clock.hpp). With OPDUMP_SMALL_CODE
  /// it is a call from the drain context. Told again, the same step counts once, so a program may repeat it where a
  /// flash log that goes round could have taken the line. A build in which nobody calls it has no code for it.
  /// `invalid_argument` as `check(step)`; `not_supported` without a journal; `not_initialised` before `init`;
  /// `drainer_attached` when the call comes from within draining; `timeout` when the drain thread did not come to it,
  /// once its sink rested, within `block_limit_ms` or a second, whichever is more: nothing is told. What the sink
  /// refuses, `journal_failure` tells: the times then stay as the clock had them.
  [[nodiscard]] Status tell_clock(const ClockStep& step);

  /// The same from the context that drains, between two calls of `drain_some`, while no other context puts a
  /// config in force or ends one. Errors likewise; `drainer_attached` where another context is draining.
  [[nodiscard]] Status tell_clock_between_drains(const ClockStep& step);

  /// Resolves the config in force against `model`. `bits` has a byte per operator for `plan`; `bits`, `plan`
  /// and `model` stay until `unload_model`. `model_already_loaded` leaves a loaded plan as it is. `no_memory`
  /// (too few bits) and `name_too_long` (a name does not fit the scratch or a path) leave the model loaded
  /// but uncaptured: inference goes on; so does `config_refused`, when a rule of the config's privacy names
  /// no tensor of the model, or none of them is for it (DumpConfig::privacy_tells). A caller with a heap may
  /// hand over an `index` of the operators for the time of the call: without one, the time grows with the
  /// number of names in the config times the number of operators.
  [[nodiscard]] Status load_model(ModelPlan& plan, const ModelDesc& model, std::span<std::uint8_t> bits,
                                  const OpIndex& index = {});

  template <std::size_t Ops>
  [[nodiscard]] Status load_model(ModelPlanFor<Ops>& plan, const ModelDesc& model);

  /// As `load_model`, for a model whose operators become known only as they run: `model.ops` has the first of
  /// them, one at least, and `grow_model` takes those that come later. `bits` has a byte for each operator
  /// that the model may ever have; those behind the first `most_ops`, and those whose names are too long, are not
  /// captured. That, and which names of the config no operator has, is told by `finish_growing`; the log hears
  /// nothing of the model before. `not_supported` for a config that watches, and for one with rules of the
  /// privacy but without DumpConfig::privacy_tells: the model is then loaded but uncaptured.
  [[nodiscard]] Status load_growing_model(ModelPlan& plan, const ModelDesc& model,
                                          std::span<std::uint8_t> bits, std::size_t most_ops = SIZE_MAX);

  /// Resolves the operators that the model of `plan`, loaded by `load_growing_model` with these `bits`, has got at
  /// its end since. The bits of earlier operators stay as they are. `scratch` has a byte per operator, and holds
  /// nothing afterwards. On the context that captures, also while a step is open; no other context uses the plan
  /// meanwhile. `name_too_long` leaves those operators uncaptured whose names are, and `too_many_objects` those
  /// behind the first `most_ops`. `model_not_loaded`,
  /// `invalid_argument` for a plan of another session, and `no_memory` for too few bytes change nothing.
  [[nodiscard]] Status grow_model(ModelPlan& plan, std::span<std::uint8_t> bits,
                                  std::span<std::uint8_t> scratch, std::size_t most_ops = SIZE_MAX);

  /// Tells which names of the config a model that grew has no operator for, now that it has them all, and with a
  /// `scratch` as `grow_model` which of its operators were refused. Before `unload_model` or `finalize`, once; for a
  /// plan that is not captured it does nothing.
  void finish_growing(const ModelPlan& plan, std::span<std::uint8_t> scratch = {},
                      std::size_t most_ops = SIZE_MAX);

  /// Counts in `counts` what becomes of each operator of a loaded `plan`, from the plan's next step on. `counts` has
  /// at least one element per operator and stays until `unload_model`. If the plan is still loaded at `finalize`,
  /// `finalize` writes the counts of the operators with losses. Once per loading. `model_not_loaded`, `step_open`
  /// while a recorder runs a step of the plan, `no_memory` for too few elements, `invalid_argument` for the second
  /// time or for a plan that another session has loaded, `not_supported` with OPDUMP_SMALL_CODE: nothing changes.
  [[nodiscard]] Status count_ops(ModelPlan& plan, std::span<OpCounts> counts);

  /// Sets what `count_ops` counts of `plan` back to 0, and the numbers of steps that the plan has seen and
  /// wanted. Call it after a `flush`: what the sink loses later counts in the new range of steps.
  /// `model_not_loaded`, `step_open` while a recorder runs a step of the plan, `invalid_argument` when the
  /// plan's operators are not counted or another session has loaded it: nothing changes.
  [[nodiscard]] Status restart_counts(ModelPlan& plan);

  /// Ends the use of `plan`, its bits, its model and its OpCounts; their memory is free again at once, because
  /// records that are still in a ring do not need it. A plan with OpCounts waits for the `drain_some` that is at
  /// work, if there is one. `model_not_loaded`, `invalid_argument` for a plan that another session has loaded, or
  /// `step_open` while a recorder runs a step of the plan: nothing changes. Legal in any state.
  [[nodiscard]] Status unload_model(ModelPlan& plan);

  /// Switches dumping off, moves everything captured to the sink, closes the journals and makes it all durable.
  /// `not_initialised` before `init`, `step_open` while a step is open, `drainer_attached` while a drain thread runs
  /// (stop it first) or when the call comes from within draining, such as from the sink: nothing changes. If the
  /// program has outlived a `begin_crash`, and its handler has returned, `finalize` also moves what was captured
  /// since. It returns an error of the sink's sync, or else `journal_failure`, and the session is off all the same:
  /// the counts of records are right, but records may not be durable, or their journal lacks lines, such as its end.
  [[nodiscard]] Status finalize();

  /// The same in steps, for a watchdog: each call moves what `drain_some(budget_bytes)` moves and returns
  /// `unfinished` until there is nothing left; the last one writes the end of each journal, a line or two for
  /// each recorder and each config, and with OpCounts or unmet names a line for each of those, and syncs the
  /// sink. Nothing is captured from the first call on. Between two calls only sink and clock may be used.
  [[nodiscard]] Status finalize_some(std::size_t budget_bytes);

  /// Gives a recorder for one more capturing context. `ring_memory` is its ring (8-byte aligned, at least
  /// `Ring::kMinBytes`); `head_memory` (8-byte aligned; see `head_memory_bytes`) keeps heads. Both belong to the
  /// recorder until it is removed. With `head_memory`, an operator's names and shapes go through the ring once and
  /// not at every step, which makes small records about twice as fast; without it nothing else changes. `when_full`
  /// is what this recorder does when its ring has no room; absent: what the session does. Give WhenFull::drop to the
  /// recorder of an interrupt or signal handler, so that it never waits: its record is then lost and counted as
  /// `ring_full`, whatever the session and the other recorders do. `no_free_recorder` when OPDUMP_MAX_RECORDERS are
  /// taken, `invalid_argument` for unusable memory, also for heads where it holds none (`head_memory_bytes`), or for
  /// WhenFull::inline_drain, which only a whole session can have. At any time, also while the session drains.
  Result<Recorder*> add_recorder(MutableBytes ring_memory, MutableBytes head_memory = {},
                                 std::optional<WhenFull> when_full = {}) {
    Recorder* recorder = nullptr;
    const Status status = add_recorder(ring_memory, head_memory, when_full, recorder);
    if (status != Status::ok) return status;
    return recorder;
  }

  /// The same, with the recorder in `recorder`, which stays as it is when there is none.
  [[nodiscard]] Status add_recorder(MutableBytes ring_memory, MutableBytes head_memory,
                                    std::optional<WhenFull> when_full, Recorder*& recorder) {
    if (when_full == WhenFull::inline_drain) return Status::invalid_argument;
    if (reinterpret_cast<std::uintptr_t>(head_memory.data()) % 8 != 0 ||
        !head_memory_serves(head_memory.size()))
      return Status::invalid_argument;
    for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS; ++slot) {
      if (slot_state(slot) != SlotState::free) continue;
      const HeadMemory heads(head_memory);
      const Status status =
          recorders_[slot].sender().attach(context_, slot, ring_memory, heads.sent, when_full);
      if (status != Status::ok) return status;
      drainer_.start(slot, heads.known);
      set_slot_state(slot, SlotState::open);
      recorder = &recorders_[slot];
      return Status::ok;
    }
    return Status::no_free_recorder;
  }

  /// Takes a recorder back when its ring is drained; its memory is free on `ok`. `recorder_busy` while a step is open
  /// or the device still writes to the ring: nothing changes. `recorder_busy` also when the drainer did not come to
  /// the end of the ring within `block_limit_ms`: the recorder is leaving, keeps its memory and its place, and the
  /// caller calls again until `ok`. A recorder that is leaving or gone opens no step and captures nothing
  /// (`begin_step` says `invalid_argument`). `invalid_argument` for a recorder that is not the session's or already
  /// gone. Once `add_recorder` has given the place to another recorder, the reference refers to that one.
  [[nodiscard]] Status remove_recorder(Recorder& recorder);

  /// Returns when everything that the recorders have captured so far is in the sink: drains, or waits for the
  /// drain thread. Recorders may go on meanwhile. `timeout` when that takes longer than `limit_ms`;
  /// `drainer_attached` when the call comes from within draining, such as from the sink.
  [[nodiscard]] Status flush(std::uint32_t limit_ms);

  /// Announces a drain thread; from now on only that thread may call `drain_some`. `waker`, if there is one, is woken
  /// when a ring fills, until the thread is detached. `drainer_attached` if there is one already, `invalid_argument`
  /// under WhenFull::inline_drain, `not_supported` for a waker with OPDUMP_WAIT=0. No recorder may be capturing.
  [[nodiscard]] Status attach_drainer(Waker* waker = nullptr);

  void detach_drainer();

  // From the drain context, and when the program dies.

  /// Moves up to `budget_bytes` from each recorder's ring to the sink, in turn; returns the bytes moved, 0
  /// when there was nothing. An idle loop or a drain thread calls it. A call from within itself, such as from
  /// the sink, does nothing and returns 0.
  ///
  /// *Time.* From each ring it moves the budget at most, and 255 bytes and the head of one record more. A
  /// large record goes in several calls; the room of a chunk in the ring is free again when all of the chunk
  /// has gone. How long the sink takes is in its own contract, such as that of FlashLog. Two things are never
  /// cut: what a layout with tables keeps of a record, and the report of an overflow.
  std::size_t drain_some(std::size_t budget_bytes);

  /// Between two calls of `drain_some`: makes durable what the sink has, and has the journals tell that first.
  /// A loss of power then costs what came later, and `opdump verify` names the last record before. Where a
  /// journal names no record, as with OPDUMP_SMALL_CODE, that takes a line of 40 bytes or so for each
  /// recorder; without this call such lines come once in a while, as drains go. `drainer_attached` from within
  /// draining and after `begin_crash`; else errors of the sink's sync.
  [[nodiscard]] Status sync() { return tell_certain(true); }

  /// Only what `sync` has the journals tell: for a program that then syncs what stands behind the sink.
  [[nodiscard]] Status tell_certain() { return tell_certain(false); }

  /// Whether `drain_some` has found a ring more than an eighth full since the last call of this function. For
  /// the drain context, which should then look again soon.
  bool take_crowded() { return drainer_.take_crowded(); }

  /// After `begin_crash`: moves what the rings hold to the sink, and then what the config asks for of the operator
  /// that was running on `failed` (null: none). The context of `failed` is this one, or rests. Does not wait, close
  /// or sync. A record that was half drained when the crash came may be lost. Allocates nothing; in a signal handler
  /// it is as safe as the sink and the device memory are. Without OPDUMP_FAULTS it does nothing.
  void crash_flush(Recorder* failed);

  /// Behind `crash_flush`, and once a history behind this session has handed everything on: tells the journal that
  /// `records` of it are in the dump, and that the sink refused `lost`.
  void crash_wrote(std::uint32_t records, std::uint32_t lost);

  // From any context, as each says.

  /// For fault, watchdog and signal handlers, which end the program afterwards: from now on `drain_some` does
  /// nothing, and a recorder whose ring has no room drops the record. Any context. `not_supported` without
  /// OPDUMP_FAULTS: nothing changes.
  Status begin_crash();

  /// Whether a `drain_some` is at work in some context; the asking context may be that one.
  bool is_draining() const { return plans_.at_work(); }

  /// What became of the records since the session was made. Any context may ask; exact while nothing captures
  /// or drains.
  DumpCounts counts() const;

  /// Operators that overflowed since the session was made where a config asked for overflows, captured or
  /// not. Any context may ask.
  std::uint32_t overflows() const;

  /// The operator that overflowed first although its inputs were clean. Ask while no recorder captures; the names are
  /// the model's, which must still be loaded. Without OPDUMP_FAULTS this call and the next two report nothing.
  FirstBadOp first_bad_op() const;

  /// How often a watched operator's output was found overwritten, and the first time. Rules as for `first_bad_op`.
  std::uint32_t overwrites() const;
  Overwrite first_overwrite() const;

  /// Cause of the latest record that the sink lost, `ok` if there was none.
  Status last_sink_failure() const { return drainer_.last_failure(); }

  /// Why a journal of this session lacks lines since `init`, such as the sink's latest refusal: that dump
  /// cannot prove that it is complete. `ok` when no journal lacks lines. Any context may ask.
  Status journal_failure() const { return drainer_.journal_failure(); }
  bool journal_failed() const { return journal_failure() != Status::ok; }

  std::uint32_t device_id() const { return device_id_; }

  bool initialised() const { return initialised_; }
  WhenFull when_full() const { return context_.when_full; }

  /// YYYYMMDDHHMMSS of the config in force, 0 without one.
  std::uint64_t dump_time() const {
    return context_.target == Targets::kNone ? 0 : targets_[context_.target].time;
  }

  /// How much the journals of the dumps say, as the last `configure` settled it.
  JournalDetail journal() const { return journal_now_; }

 private:
  enum class SlotState : std::uint8_t {
    free,
    left,  ///< out of the drainer's hands; `remove_recorder` has not said so yet
    open,
    leaving,
  };

  /// Something that only the drain context may do.
  struct Job {
    void (*run)(const void* use);
    const void* use;
    bool done = false;
  };

  /// Memory for what plans watch.
  struct WatchRoom {
    explicit WatchRoom(MutableBytes all) : memory(all), rest(all) {}

    MutableBytes memory;
    MutableBytes rest;        ///< what no loaded plan has
    std::uint32_t plans = 0;  ///< that have some
  };

  /// What of the config in force was captured so far.
  struct Account {
    AskedNames asked;
    HeldRules held_rules;
    std::uint32_t single_ops_before = 0;  ///< the recorders' count when the config was set
    bool config_settled = true;
    ModelPlan* loaded = nullptr;  ///< those that are captured and of which the config lists operators
  };

  /// Whether the drainer works on the ring of a recorder in that state.
  static constexpr bool is_drained(SlotState state) { return state >= SlotState::open; }

  // acquire and release: between control and drain context, which hand a recorder and its ring to each other.
  SlotState slot_state(std::size_t slot) const {
    return static_cast<SlotState>(slot_states_[slot].load(std::memory_order_acquire));
  }
  void set_slot_state(std::size_t slot, SlotState state) {
    slot_states_[slot].store(static_cast<std::uint8_t>(state), std::memory_order_release);
  }

  /// On the drain context.
  void tell_journals(const ClockStep& step);

  /// Whether this call comes from within one that drains: no drain thread is at work.
  bool is_drained_here() const { return !drainer_attached_ && drainer_.is_busy(); }

  void leave_drain();

  Status tell_certain(bool syncs);

  /// Before what waits for the drain thread without a limit.
  void detach_missing_drainer();

  bool is_open(const ModelPlan& plan) const;

  void finish(std::size_t slot) {
    if (OPDUMP_MAX_RECORDERS == 1) slot = 0;  // which the compiler then knows
    drainer_.finish(slot, recorders_[slot].sender().next_sequence(),
                    recorders_[slot].sender().untold().gap());
  }

  void do_job();

  /// On the control context: calls `use()` where it does not meet the drain context, which is this one
  /// without a drain thread. False when the drain thread did not come to it, as `tell_clock` says: not called.
  template <class Use>
  bool on_drain_context(const Use& use);

  /// Begins to close what is retired, and what a `flush` waits for: what was captured for it lies in the rings now.
  void mark_rings();

  void close(std::uint8_t target);

  void drain_rings();

  void retire_if_unused(std::uint8_t target) {
    if (targets_[target].plans == 0) targets_.set_state(target, Targets::State::retired);
  }

  /// Drains, or lets the drain thread work, until `done` or for `limit_ms`; `timeout` when it is still not done.
  template <class Done>
  OPDUMP_INLINE_IF_LEAN Status wait_for_drainer(Done done, std::uint32_t limit_ms);

  /// `ok` for a plan that this session has loaded and no recorder runs a step of.
  Status at_rest(const ModelPlan& plan) const;

  TargetMeans means() const;

  /// Makes `config`, set at `now`, the one whose target is in use; `too_many_configs`, with none in use, while there
  /// is no place for it. Apart, so that no target is on the stack while `set_config` waits for a place.
  Status take_target(const DumpConfig& config, std::uint64_t now);

  static Status place_in(MutableBytes& rest, ModelPlan& plan, const ModelDesc& model);

  /// Memory goes back when the last plan that has some is unloaded.
  Status place_watch(ModelPlan& plan, const ModelDesc& model);

  void release_watch(const ModelPlan& plan);

  /// Lets the config in force go unless models are loaded under it.
  void leave_config();

  /// Tells the journal that `model` was not loaded, unless `status` says that it was or a rule of the privacy
  /// has told. Returns `status`.
  Status tell_refused(Status status, const ModelDesc& model);

  /// Tells log and journal of `target` what `for_each(use)` calls `use(NeverCaptured)` for.
  template <class ForEach>
  void tell_never(std::uint8_t target, const ForEach& for_each);

  void begin_config_account();

  /// Of all recorders.
  std::uint32_t count_single_ops() const;

  /// Of a plan that has just been loaded.
  void open_account(ModelPlan& plan, const OpIndex& index);

  /// Lists a plan whose operators are accounted for when it is settled.
  void begin_plan_account(ModelPlan& plan);

  /// Tells what the config asks for of the model of `plan` and the model has not.
  void meet(const ModelPlan& plan, const OpIndex& index, bool lacks_ops = false);

  /// Tells which rules of the config's privacy are not for the model of `plan`. `config_refused` if one is
  /// not, unless the config only wants to be told.
  Status meet_privacy(const ModelPlan& plan, const ModelDesc& model);

  /// Looks for what triggers are to look at, and tells what they do not find. Errors as `TriggerWatch::load`.
  Status load_triggers(ModelPlan& plan, const ModelDesc& model, std::span<std::uint8_t> bits);

  /// Counts a plan that is captured as loaded.
  void enter(ModelPlan& plan);

  /// Before `plan` is no longer captured. `may_come_again`: its model may be loaded again.
  void settle(ModelPlan& plan, bool may_come_again);

  /// Before the config in force is so no longer.
  void settle_config();

  void settle_all();

  /// Bytes of the longest name that a record of operator `op` may have.
  static std::size_t longest_name(const ModelPlan& plan, const ModelDesc& model, std::size_t op);

  /// Whether a record of operator `op` can have its name.
  OPDUMP_INLINE_IF_LEAN Status check_name(const ModelPlan& plan, const ModelDesc& model,
                                          std::size_t op) const;

  Status check_names(const ModelPlan& plan, const ModelDesc& model) const;
  /// Takes the operators from `from` on that cannot be captured out of `plan`; `ok` when there are none.
  Status refuse_unfit(ModelPlan& plan, const ModelDesc& model, std::size_t from, std::size_t most_ops) const;

  // What is asked for most comes first, bytes before words: near the beginning a Cortex-M reaches them with
  // short instructions.
  bool drainer_attached_ = false;
  bool passing_ = false;  ///< something waits for the rings to pass what was in them; the drain context's
  bool initialised_ = false;
  [[no_unique_address]] Maybe<!build::kLean, bool> configured_{};
  const WhenFull when_full_;
  const JournalDetail journal_;
  JournalDetail journal_now_ = journal_;
  std::atomic<std::uint8_t> slot_states_[OPDUMP_MAX_RECORDERS] = {};
  std::atomic<std::uint32_t> flushes_asked_{0};   ///< by the control context; the latest one's number
  std::atomic<std::uint32_t> flushes_passed_{0};  ///< number of the latest one whose records are in the sink
  std::uint32_t flush_marked_ = 0;  ///< of the one that waits for the rings; the drain context's
  [[no_unique_address]] Maybe<!build::kLean, std::atomic<Job*>> job_{nullptr};  ///< null: none, or it is done
  RecorderContext<Memory> context_;
  std::uint32_t device_id_;
  std::uint32_t generation_ = 0;
  std::uint32_t loads_ = 0;
  const std::uint32_t block_limit_ms_;
  SessionLog* const log_;
  Drainer drainer_;
  Targets targets_;
  [[no_unique_address]] PlanList plans_;
  [[no_unique_address]] Maybe<build::kJournal || !build::kLean, std::uint64_t> last_target_id_{};
  std::optional<DumpConfig> config_;  ///< in force; absent: none
  /// Of all targets closed so far.
  [[no_unique_address]] Maybe<build::kJournal && kAlways<Memory>,
                              CountBlock<DumpCount::wanted, DumpCount::written>>
      closed_counts_;
  [[no_unique_address]] const Maybe<!build::kLean, RecordFormats> formats_;
  [[no_unique_address]] Maybe<build::kFaults && kAlways<Memory>, WatchRoom> watch_;
  [[no_unique_address]] Maybe<!build::kLean && kAlways<Memory>, Account> account_;
  Recorder recorders_[OPDUMP_MAX_RECORDERS];
};
#endif

/// A session whose device memory is reached through a virtual call.
using Session = BasicSession<DeviceMemory>;
using Recorder = Session::Recorder;

/// What a session is to serve.
struct Workload {
  std::size_t recorders = 1;      ///< at most OPDUMP_MAX_RECORDERS
  std::size_t ring_bytes = 0;     ///< of each recorder
  std::size_t known_heads = 0;    ///< operators whose heads each recorder keeps, if it is given the memory
  std::size_t scratch_bytes = 0;  ///< see `drain_scratch_bytes`
  std::size_t models = 1;         ///< loaded at once
  std::size_t ops = 0;            ///< of all these models together
  std::size_t counted_ops = 0;    ///< of these, in models given to `BasicSession::count_ops`
};

/// RAM in bytes that a session over `Memory` takes for `workload`, all of it given by the caller: the session
/// itself, the rings, the heads, the scratch, a plan with a byte per operator for each model, and OpCounts
/// for operators that are counted. The sum depends neither on the tensors nor on the number of records. The
/// sink, the clock and the texts of the config are not in it.
template <class Memory>
constexpr std::size_t ram_bytes(const Workload& workload) {
  return sizeof(BasicSession<Memory>) +
         workload.recorders * (workload.ring_bytes + head_memory_bytes(workload.known_heads)) +
         workload.scratch_bytes + workload.models * sizeof(ModelPlan) + workload.ops +
         workload.counted_ops * sizeof(OpCounts);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump

#include "opdump/impl/session.inl"
