#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "opdump/counts.hpp"
#include "opdump/drainer.hpp"
#include "opdump/plan_list.hpp"
#include "opdump/recorder.hpp"
#include "opdump/recorder_context.hpp"
#include "opdump/session_parts.hpp"
#include "opdump/targets.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The recorders of a session and the drainer of their rings: what the control context, the drain context and
/// those that capture share. A part of BasicSession, which says in which context each call belongs.
template <class Memory>
class RecorderGroup {
 public:
  using Recorder = BasicRecorder<Memory>;

  RecorderGroup(const RecorderGroup&) = delete;
  RecorderGroup& operator=(const RecorderGroup&) = delete;

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
      // Seen leaving before the ring was looked at, it has nothing left once that is empty; a budget of 0 does
      // not tell.
      if (state == SlotState::leaving && recorders_[slot].ring().drained()) {
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
    // partner: `drain_some`.
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
    context_.waker.store(waker, std::memory_order_release);  // partner: `RecordFeed::wake`
    return Status::ok;
  }

  void detach_drainer() {
    context_.waker.store(nullptr, std::memory_order_release);  // partner: `RecordFeed::wake`
    drainer_attached_ = false;
    plans_.leave();  // in a child after fork() it may be missing in the midst of its work
  }

  /// What became of the records since the session was made. Any context may ask; exact while nothing captures
  /// or drains.
  DumpCounts counts() const {
    DumpCounts counts;
#if OPDUMP_JOURNAL
    closed_counts_.add_to(counts);
#endif
    for (std::size_t group = 0; group < Targets::kCounted; ++group) {
      // In this order, so that no record is seen written before it is seen wanted.
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

  /// Why a journal of this session lacks lines since `init`, such as the sink's latest refusal: that dump
  /// cannot prove its completeness. `ok` when none does. Any context may ask.
  Status journal_failure() const {
    return drainer_.journal_failure();
  }
  bool journal_failed() const {
    return journal_failure() != Status::ok;
  }

 protected:
  enum class SlotState : std::uint8_t { free, open, leaving };

  explicit RecorderGroup(const SessionParts<Memory>& parts)
      : drainer_(parts.sink, targets_, plans_, parts.scratch, parts.journal, parts.reduction) {
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
#endif
    context_.when_full = possible(parts.when_full);
    context_.block_limit_ms = parts.block_limit_ms;
  }

  // acquire and release: between control and drain context, which hand a recorder and its ring to each other.
  SlotState slot_state(std::size_t slot) const {
    return static_cast<SlotState>(slot_states_[slot].load(std::memory_order_acquire));
  }
  void set_slot_state(std::size_t slot, SlotState state) {
    slot_states_[slot].store(static_cast<std::uint8_t>(state), std::memory_order_release);
  }

  /// Before what waits for the drain thread without a limit.
  void detach_missing_drainer() {
    if (OPDUMP_SMALL_CODE != 0) return;
    // relaxed: this context has stored it.
    const Waker* waker = context_.waker.load(std::memory_order_relaxed);
    if (waker != nullptr && !waker->is_there()) detach_drainer();
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
        // relaxed: this context has stored it.
        if (Waker* waker = context_.waker.load(std::memory_order_relaxed)) waker->wake();
        context_.clock->pause();
      }
      if (context_.clock->monotonic_ms() - start >= limit_ms) return done() ? Status::ok : Status::timeout;
    }
    return Status::ok;
  }

  // First, so that what follows leaves room at its end, where the session's goes.
  Recorder recorders_[OPDUMP_MAX_RECORDERS];
  bool drainer_attached_ = false;
#if OPDUMP_FAULTS
  std::atomic<bool> crashed_{false};
#endif
  bool passing_ = false;  ///< something waits for the rings to pass what was in them; the drain context's
  std::atomic<std::uint8_t> slot_states_[OPDUMP_MAX_RECORDERS] = {};
  std::atomic<std::uint32_t> flushes_asked_{0};   ///< by the control context; the latest one's number
  std::atomic<std::uint32_t> flushes_passed_{0};  ///< number of the latest one whose records are in the sink
  std::uint32_t flush_marked_ = 0;  ///< of the one that waits for the rings; the drain context's
  Targets targets_;
  [[no_unique_address]] PlanList plans_;
#if OPDUMP_JOURNAL
  CountBlock<DumpCount::wanted, DumpCount::written> closed_counts_;  ///< of all targets closed so far
#endif
  RecorderContext<Memory> context_;
  Drainer drainer_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
