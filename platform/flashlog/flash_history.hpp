#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "opdump/impl/drain/step_count.hpp"
#include "opdump/parts/triggered_history.hpp"
#include "opdump/port/sink.hpp"
#include "platform/flashlog/history_tape.hpp"
#include "platform/flashlog/impl/history_journal.hpp"
#include "platform/flashlog/impl/history_out.hpp"
#include "platform/flashlog/impl/kept_steps.hpp"
#include "platform/flashlog/impl/remains_search.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

template <class To>
class SealedSink;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// A flight recorder in flash: keeps what the last steps dumped in an area of a part of its own, which goes round,
/// and hands it to another sink when something happens, as a HistorySink does with memory. Steps and triggers are
/// those of a HistorySink. All that is handed on is read back from the area, each byte under a CRC.
///
/// *A loss of power.* `remains` tells after a boot which steps of an earlier one the area holds, and
/// `hand_on_remains` hands them on. What was committed before a `sync` that returned `ok` is there; of later objects,
/// each is there whole or was never committed. Of a last step whose bytes end inside an object, which is torn, the
/// whole objects are handed on, and a line says so. When power is lost during a write-out, its steps are handed on
/// again: the sink is synced before the area says that a step was written out.
///
/// *Account.* Each object that was committed is kept; or is `let_go` with its step, because that is too old
/// or the area went round; or was handed on; or is `lost`, because the sink refused it or the flash did not
/// give it back. A step larger than the area is `too_large`: what comes of it when the area is full is
/// refused with `no_space`, and so is what would overwrite steps that wait to be handed on, and an object of
/// a write-out that would be more than `allow` allows. An object takes half of the area at most.
///
/// *Journal.* `opdump.history` beside the other sink's objects, in lines for each time the history was
/// written out, numbers separated by commas:
///
///     opdump-history,1                          format version
///     written,BOOT,CAUSE,FIRST,LAST,OBJECTS,LOST  steps FIRST to LAST of that boot: OBJECTS were handed on
///     torn,STEP,OBJECTS                         the last of them is torn: OBJECTS, of how many nobody knows
///     let_go,OBJECTS                            of this boot so far
///     too_large,STEP,STEPS                      and the latest of the STEPS that were, if any
///     refused,OBJECTS                           for want of room, if any
///     untold,TIMES                              lines as these were refused, if ever
///
/// Steps count what came here in a boot, from 1. CAUSE is a word of `cause_word`. The area keeps the first of
/// these too, as entries. A session that writes here keeps no journal of its own.
///
/// *Sealed.* The area holds what comes here, so a SealedSink (opdump/parts/sealed_sink.hpp) stands before
/// this sink, `SealedSink<FlashHistory>`, and one behind it does not compile: nothing that is sealed is in
/// clear in flash, before a trigger or after it. Names, the facts of objects and `opdump.history` are in
/// clear.
///
/// *Wear.* A step takes its bytes, those of its objects' names, and 40 bytes more for each object. A block is
/// erased once in a turn, which takes about the bytes of the whole area: so a step erases bytes / block bytes
/// blocks. A `sync` fills a granule up.
///
/// *Time.* As a FlashLog: a call that adds less than a block erases one block of the area at most, and none
/// if `prepare` has kept one ready. A trigger makes one call hand on the whole history, unless
/// `hand_on_in_pieces` was called: then `hand_on_some` alone does, and reads what it hands on twice.
///
/// *RAM.* A page and kPrefixBytes, `memory_bytes(history_steps)`, and this object. No heap. `trigger` may be
/// called from any context; all other calls as for any sink.
template <class Base>
class BasicFlashHistory final : public Base {
 public:
  static constexpr std::uint32_t kPrefixBytes = HistoryTape::kPrefixBytes;

  /// For a SealedSink: some of what comes here is let go.
  static constexpr bool kLetsGo = true;

  /// Of root, directory and file together.
  static constexpr std::uint32_t kMaxNameBytes = HistoryOut::kMaxNameBytes;

  /// Bytes that one call of `hand_on_some` hands on beyond its budget, or the largest piece appended.
  static constexpr std::uint32_t kRunBytes = 1024;

  static constexpr std::size_t memory_bytes(std::uint32_t history_steps) {
    return sizeof(Memory) + KeptSteps::memory_bytes(history_steps);
  }

  /// `device` is the area, `page` as for a FlashLog. Of `options` the policy and the budget do not count.
  /// Until `configure`, keeps nothing and hands everything on at once.
  BasicFlashHistory(Sink& sink, const Device& device, MutableBytes page, const Options& options = {})
      : sink_(sink), tape_(device, page, options), out_(sink) {}
  BasicFlashHistory(Sink&, const Device&&, MutableBytes,
                    const Options& = {}) = delete;  // it would end before this
  template <class To>
  BasicFlashHistory(SealedSink<To>&, const Device&, MutableBytes,
                    const Options& = {}) = delete;  // the area would be in clear
  BasicFlashHistory(const BasicFlashHistory&) = delete;
  BasicFlashHistory& operator=(const BasicFlashHistory&) = delete;

  /// As FlashLog::mount.
  [[nodiscard]] Status mount() { return tape_.mount(); }

  /// From now on keeps `history_steps` (0: nothing) steps. `memory` has `memory_bytes(history_steps)` bytes,
  /// is 8-byte aligned, and then belongs to this object; with less, each object is refused with `no_memory`.
  /// While no object is open, and nothing waits to be handed on.
  void configure(MutableBytes memory, std::uint32_t history_steps, std::uint32_t after_steps) {
    memory_ = memory;
    history_steps_ = history_steps;
    after_steps_ = after_steps;
    out_.use(nullptr);
    kept_.clear();
    steps_ = {};
    is_step_due_ = true;
    written_bytes_ = 0;
    records_before_ = out_.records();
    write_outs_refused_ = 0;
    allowed_bytes_ = UINT64_MAX;
    if (history_steps == 0 || memory.size() < memory_bytes(history_steps)) return;
    out_.use(::new (memory.data()) Memory);
    kept_.use(memory.data() + sizeof(Memory), history_steps);
  }

  // For triggers of a config, as a TriggeredHistory says.

  /// In the memory of the latest `configure`.
  [[nodiscard]] Status keep_steps(std::uint32_t history_steps, std::uint32_t after_steps) {
    const bool fits = history_steps == 0 || memory_.size() >= memory_bytes(history_steps);
    configure(memory_, fits ? history_steps : 0, after_steps);
    return fits ? Status::ok : Status::no_memory;
  }

  bool has_reached(std::uint32_t load, std::uint64_t step) const { return steps_.has_reached(load, step); }

  /// True while remains are handed on too: then it begins behind them, unless that would be too much.
  bool start(std::uint32_t load) {
    if (!walking_ || !of_remains_) return begin_write_out(WriteOutCause::trigger, step_ - steps_.since(load));
    trigger(WriteOutCause::trigger);
    return true;
  }

  std::uint64_t written_bytes() const { return written_bytes_; }
  std::uint32_t written_records() const { return out_.records() - records_before_; }
  void allow(std::uint64_t bytes) { allowed_bytes_ = bytes; }
  std::uint32_t refused() const { return write_outs_refused_; }

  /// Hands on what is kept, at the next call from the drainer.
  void trigger() { trigger(WriteOutCause::call); }
  void trigger(WriteOutCause cause) {
    triggered_.store(static_cast<std::uint8_t>(cause),
                     std::memory_order_release);  // partner: `look_for_trigger`
  }

  /// From now on only `hand_on_some` hands on. While nothing is being handed on.
  void hand_on_in_pieces() { in_pieces_ = true; }

  /// Hands on about `budget_bytes`, names included. True: there is more. Only after `hand_on_in_pieces`.
  bool hand_on_some(std::size_t budget_bytes) {
    look_for_trigger();
    while (walking_ && budget_bytes != 0) {
      static_cast<void>(out_.take_bytes());
      if (!hand_on_run()) return false;
      const std::uint32_t bytes = out_.take_bytes();
      budget_bytes -= bytes < budget_bytes ? bytes : budget_bytes;
    }
    return walking_;
  }

  /// What is left of an earlier boot.
  using Remains = HistoryRemains;

  /// Finds the newest boot before `before` (default: this one) of which there are steps. Reads the area up to
  /// three times. `unfinished` while something is handed on; `no_memory` before `configure`.
  Result<Remains> remains(std::uint32_t before = UINT32_MAX) {
    if (!build::kEnabled) return Remains{};
    if (!out_.has_memory()) return Status::no_memory;
    if (walking_) return Status::unfinished;
    return remains_.find(tape_, out_, before);
  }

  /// Hands on what the latest `remains` found, as a trigger would do. `not_found` when that is nothing, or is
  /// not there any more; errors of `remains`.
  [[nodiscard]] Status hand_on_remains() {
    if (!build::kEnabled) return Status::ok;
    if (walking_) return Status::unfinished;
    const Remains& found = remains_.found();
    const std::uint32_t objects = found.objects + found.torn_objects;
    if (objects == 0 || tape_.is_gone(remains_.place().sequence)) return Status::not_found;
    walking_ = of_remains_ = true;
    start_walk(remains_.place(), WriteOutCause::remains);
    out_.start(found.first_step, found.last_step + (found.torn_objects != 0 ? 1 : 0), 0);
    out_.expect(objects);
    torn_objects_ = remains_.take();
    if (!in_pieces_) hand_on_all();
    return Status::ok;
  }

  /// How often the history was handed on.
  std::uint32_t triggers() const { return triggers_; }

  /// Objects that were handed on.
  std::uint32_t handed_on() const { return out_.handed_on(); }

  /// Objects of the history that the other sink refused, or the flash did not give back.
  std::uint32_t lost() const { return out_.lost(); }

  /// Objects that were let go because they were too old, or the area went round.
  std::uint32_t let_go() const { return counts_.let_go; }

  /// Objects that are kept.
  std::uint32_t kept() const { return passed_ + out_.expected() + kept_.objects(); }

  /// Calls that were refused for want of room, or by `allow`.
  std::uint32_t refused_calls() const { return counts_.refused; }

  /// Steps that were larger than the area, and the latest of them, as this object counts.
  std::uint32_t too_large() const { return counts_.too_large; }
  std::uint64_t too_large_step() const { return counts_.too_large_step; }

  /// Write-outs whose lines the other sink refused; the next lines tell that.
  std::uint32_t untold() const { return counts_.untold; }

  /// The latest step.
  std::uint64_t step() const { return step_; }

  /// As those of a FlashLog. `prepare` erases nothing that is to be handed on.
  Result<bool> prepare() {
    if (!tape_.may_prepare(needed_sequence())) return false;
    const Result<bool> again = tape_.prepare();
    drop_gone();
    return again;
  }
  std::uint32_t erases() const { return tape_.erases(); }
  std::uint32_t boot() const { return tape_.boot(); }
  std::uint32_t retired() const { return tape_.retired(); }

  Result<ObjectId> begin(const ObjectName& name) {
    if (history_steps_ == 0) return sink_.begin(name);
    if (const Status status = begin_any(name, 0); status != Status::ok) return status;
    const Result<ObjectId> object = tape_.begin(name);
    if (object.ok()) begun_[static_cast<std::uint32_t>(object.value())] = {step_, 0, kind_of(name)};
    drop_gone();
    return object;
  }

  Status append(ObjectId object, std::span<const Bytes> parts) {
    if (history_steps_ == 0) return sink_.append(object, parts);
    std::uint32_t bytes = 0;
    for (const Bytes part : parts) bytes += static_cast<std::uint32_t>(part.size());
    if (!take_room(bytes)) return Status::no_space;
    begun_[static_cast<std::uint32_t>(object)].bytes += bytes;
    Status status = tape_.append(object, parts);
    unsealed_ = bytes < kMinSealedData ? unsealed_ + bytes : 0;
    // So that a run can be handed on in short time.
    if (status == Status::ok && unsealed_ >= kRunBytes - kMinSealedData) {
      status = tape_.seal(step_);
      unsealed_ = 0;
    }
    drop_gone();
    return status;
  }

  Status commit(ObjectId object, ObjectId with = kNoObject) {
    if (history_steps_ == 0) return sink_.commit(object, with);
    if (!may_commit(object, with)) {
      if (with != kNoObject) tape_.abort(with);
      abort(object);
      return Status::no_space;
    }
    const Status status = tape_.commit(object, with);
    if (status == Status::ok) {
      count(object);
      if (with != kNoObject) count(with);
    }
    ended();
    return status;
  }

  void abort(ObjectId object) {
    if (history_steps_ == 0) return sink_.abort(object);
    tape_.abort(object);
    ended();
  }

  Status claim_journal(const ObjectName& name) {
    return history_steps_ == 0 ? sink_.claim_journal(name) : Status::ok;
  }

  Status append_lines(const ObjectName& name, std::span<const Bytes> parts) {
    if (history_steps_ == 0) return sink_.append_lines(name, parts);
    std::uint32_t bytes = 0;
    for (const Bytes part : parts) bytes += static_cast<std::uint32_t>(part.size());
    Status status = begin_any(name, bytes);
    if (status == Status::ok && !take_allowed(step_, bytes)) status = Status::no_space;
    if (status == Status::ok) status = tape_.append_lines(name, parts);
    // Longer ones are several entries.
    const std::uint32_t entries = bytes / kMaxBody + 1;
    if (status == Status::ok) count(step_, entries, bytes);
    ended();
    return status;
  }

  Status sync() {
    if (history_steps_ == 0) return sink_.sync();
    look_for_trigger();
    const Status status = tape_.sync();
    const Status other = sink_.sync();
    return status == Status::ok ? other : status;
  }

  /// A word for journals and messages.
  static constexpr std::string_view cause_word(WriteOutCause cause) { return history_cause_word(cause); }

 private:
  using Place = HistoryTape::Place;
  using Run = HistoryTape::Run;
  using Memory = HistoryOut::Memory;

  static_assert(sizeof(Memory) % alignof(KeptStep) == 0);

  /// An object that is open in the area.
  struct Begun {
    std::uint64_t step = 0;
    std::uint32_t bytes = 0;
    ObjectKind kind = ObjectKind::extra;
  };

  static ObjectKind kind_of([[maybe_unused]] const ObjectName& name) {
    const ObjectFacts facts = name.facts;
    return facts.kind;
  }

  /// Before anything has come, the step that is to come.
  std::uint64_t latest_step() const { return step_ != 0 ? step_ : 1; }

  // What comes.

  /// Of an object, or of lines with `bytes` bytes.
  Status begin_any(const ObjectName& name, std::uint32_t bytes) {
    if (!out_.has_memory()) return Status::no_memory;
    look_for_trigger();
    const std::size_t name_bytes = name.root.size() + name.directory.size() + name.file.size();
    if (name_bytes > kMaxNameBytes) return Status::name_too_long;
    const ObjectFacts facts = name.facts;
    is_step_due_ = steps_.begins(facts) || is_step_due_;
    if (is_step_due_) {
      // Of the steps before only those that are handed on stay.
      step_begin_ = tape_.end();
      if (!take_room(0)) return Status::no_space;
      if (const Status status = begin_step(); status != Status::ok) return status;
    }
    if (!take_room(bytes + 2 * static_cast<std::uint32_t>(name_bytes))) return Status::no_space;
    unsealed_ += static_cast<std::uint32_t>(name_bytes);
    return tape_.tell_facts(name);
  }

  Status begin_step() {
    ++step_;
    is_too_large_ = is_step_due_ = false;
    const Status status = tape_.begin_step(step_);
    unsealed_ = 0;
    step_begin_ = tape_.end();
    drop_gone();
    if (status != Status::ok) return status;
    if (is_handing_on() && at_.sequence == 0) at_ = step_begin_;
    if (!is_handing_on()) {
      if (kept_.is_full()) drop_first();
      kept_.add(step_begin_);
    }
    // The other sink's objects are ended before the next step's begin.
    if (!in_pieces_) hand_on_all();
    return Status::ok;
  }

  /// Whether the latest step is handed on as it comes.
  bool is_handing_on() const { return walking_ && !of_remains_ && step_ <= out_.until(); }

  /// Whether what comes of that step is.
  bool is_of_write_out(std::uint64_t step) const {
    return walking_ && !of_remains_ && step >= out_.from() && step <= out_.until();
  }

  /// Whether what comes of that step may have `bytes` more. If not, the write-out ends with the latest step.
  bool take_allowed(std::uint64_t step, std::uint32_t bytes) {
    if (!is_of_write_out(step) || take_bytes(bytes)) return true;
    if (out_.until() > step_) out_.extend(step_);
    ++counts_.refused;
    return false;
  }

  /// Whether write-outs may have `bytes` more; then they have them.
  [[gnu::noinline]] bool take_bytes(std::uint32_t bytes) {
    if (bytes > allowed_bytes_) {
      ++write_outs_refused_;
      return false;
    }
    allowed_bytes_ -= bytes;
    written_bytes_ += bytes;
    return true;
  }

  bool may_commit(ObjectId object, ObjectId with) {
    const Begun& first = begun_[static_cast<std::uint32_t>(object)];
    const std::uint32_t more = with == kNoObject ? 0 : begun_[static_cast<std::uint32_t>(with)].bytes;
    return take_allowed(first.step, first.bytes + more);
  }

  std::uint32_t needed_sequence() const {
    if (walking_ && at_.sequence != 0) return at_.sequence;
    return step_begin_.sequence != 0 ? step_begin_.sequence : tape_.end().sequence;
  }

  bool take_room(std::uint32_t bytes) {
    if (tape_.has_room(bytes + kRunBytes / 4, needed_sequence())) return true;
    ++counts_.refused;
    if (!tape_.has_room(bytes + kRunBytes / 4, step_begin_.sequence) && !is_too_large_) {
      is_too_large_ = true;
      ++counts_.too_large;
      counts_.too_large_step = step_;
    }
    return false;
  }

  void count(ObjectId object) {
    const Begun& begun = begun_[static_cast<std::uint32_t>(object)];
    count(begun.step, 1, begun.bytes);
    if (begun.kind == ObjectKind::report) trigger(WriteOutCause::overflow);
    if (begun.kind == ObjectKind::failure) trigger(WriteOutCause::failure);
  }

  /// Objects of `step` were committed.
  void count(std::uint64_t step, std::uint32_t objects, std::uint32_t bytes) {
    const std::uint64_t back = step_ - step;
    if (is_of_write_out(step)) {
      out_.expect(objects);
    } else if (back < kept_.count()) {
      KeptStep& kept = kept_.at(kept_.count() - 1 - static_cast<std::uint32_t>(back));
      kept.objects += objects;
      kept.bytes += bytes;
    } else {
      counts_.let_go += objects;
    }
  }

  void ended() {
    unsealed_ = 0;
    drop_gone();
    look_for_trigger();
    if (!in_pieces_) hand_on_all();
  }

  void drop_gone() {
    while (kept_.count() != 0 && tape_.is_gone(kept_.at(0).place.sequence)) drop_first();
  }

  void drop_first() {
    // What has not been passed yet may still be handed on.
    if (walking_ && !of_remains_) {
      passed_ += kept_.at(0).objects;
      passed_bytes_ += kept_.at(0).bytes;
    } else {
      counts_.let_go += kept_.at(0).objects;
    }
    kept_.drop_first();
  }

  // What is handed on.

  void look_for_trigger() {
    const std::uint8_t cause = triggered_.load(std::memory_order_acquire);  // partner: `trigger`
    if (cause == 0 || !out_.has_memory() || (walking_ && of_remains_)) return;
    triggered_.store(0, std::memory_order_relaxed);
    static_cast<void>(begin_write_out(static_cast<WriteOutCause>(cause), step_));
  }

  /// All that is kept, and what comes until `after_steps_` steps behind `step`. False: it may not be so much.
  bool begin_write_out(WriteOutCause cause, std::uint64_t step) {
    if (!out_.has_memory()) return false;
    if (walking_ && out_.is_past_end()) finish();
    if (!take_bytes(passed_bytes_ + kept_.bytes())) return false;
    const std::uint32_t kept = passed_ + kept_.objects();
    passed_ = 0;
    passed_bytes_ = 0;
    ++triggers_;
    if (!walking_) {
      const Place at = kept_.count() != 0 ? kept_.at(0).place : Place();
      start_walk(at, cause);
      const std::uint64_t first = step_ + 1 - kept_.count();
      out_.start(first, 0, first);
      walking_ = true;
    }
    // All that is kept, also where another model has gone on since `step`.
    const std::uint64_t until = (step != 0 ? step : 1) + after_steps_;
    const std::uint64_t last = latest_step() > until ? latest_step() : until;
    if (out_.until() < last) out_.extend(last);
    out_.expect(kept);
    kept_.clear();
    if (!in_pieces_) hand_on_all();
    return true;
  }

  void start_walk(const Place& at, WriteOutCause cause) {
    at_ = at;
    cause_ = cause;
    handed_before_ = out_.handed_on();
    lost_before_ = out_.lost();
  }

  void hand_on_all() {
    while (walking_ && hand_on_run()) continue;
  }

  /// Hands on the entries under the next CRC. False when there is nothing now.
  bool hand_on_run() {
    if (at_.sequence == 0) return false;
    tape_.settle();
    const Place before = at_;
    switch (tape_.take_run(at_, nullptr)) {
      case Run::good:
        at_ = before;
        if (tape_.take_run(at_, &out_) != Run::good) out_.lose_open();
        break;
      case Run::bad:
        out_.lose_open();
        break;
      case Run::broken:
        out_.lose_open();
        at_ = before;
        if (!tape_.to_next_block(at_)) return at_end(false, before);
        break;
      default:
        return at_end(tape_.is_end(at_), before);
    }
    if (out_.is_past_end() && !out_.has_open()) finish();
    return walking_;
  }

  /// Nothing follows `at` that has a CRC. Always false.
  bool at_end(bool of_tape, const Place& at) {
    at_ = at;
    if (of_remains_) {
      finish();
      return false;
    }
    // All that was committed has been seen, or never will be.
    out_.lose_expected();
    if (!of_tape) {
      out_.lose_open();
      at_ = tape_.end();
    }
    return false;
  }

  void finish() {
    out_.lose_open();
    out_.lose_expected();
    counts_.let_go += passed_;
    passed_ = 0;
    passed_bytes_ = 0;
    const WrittenOutMark mark = {out_.from(),
                                 out_.last_step(),
                                 of_remains_ ? remains_.found().boot : tape_.boot(),
                                 out_.handed_on() - handed_before_,
                                 out_.lost() - lost_before_,
                                 cause_};
    walking_ = of_remains_ = false;
    // A step that is marked is not handed on again, so it must not be lost with the sink's memory. Where the
    // area takes no more, the sink still has the line.
    if (sink_.sync() == Status::ok) static_cast<void>(tape_.mark(mark));
    drop_gone();
    tell(mark);
    torn_objects_ = 0;
  }

  void tell(const WrittenOutMark& mark) {
    const Bytes part = as_bytes(history_lines(out_.line_memory(), mark, torn_objects_, counts_));
    if (sink_.append_lines(out_.name_beside("opdump.history"), {&part, 1}) != Status::ok) ++counts_.untold;
  }

  Sink& sink_;
  HistoryTape tape_;
  HistoryOut out_;
  MutableBytes memory_;
  KeptSteps kept_;
  std::uint32_t history_steps_ = 0;
  std::uint32_t after_steps_ = 0;
  StepCount steps_;
  std::uint64_t step_ = 0;
  Place step_begin_;
  Begun begun_[kMaxOpenObjects];
  std::uint32_t unsealed_ = 0;  // bytes behind the latest CRC
  bool in_pieces_ = false;
  bool is_step_due_ = true;    // the next object begins a step
  bool is_too_large_ = false;  // the latest step

  // What is handed on: `walking_` until a step behind the last one has begun and all objects have ended.
  bool walking_ = false;
  bool of_remains_ = false;
  WriteOutCause cause_ = WriteOutCause::none;
  Place at_;
  std::uint32_t passed_ = 0;  // objects that left `kept_` meanwhile
  std::uint32_t passed_bytes_ = 0;
  std::uint64_t allowed_bytes_ = UINT64_MAX;
  std::uint64_t written_bytes_ = 0;
  std::uint32_t write_outs_refused_ = 0;
  std::uint32_t records_before_ = 0;
  RemainsSearch remains_;
  std::uint32_t torn_objects_ = 0;  // of the last step of remains that are handed on

  std::uint32_t triggers_ = 0;
  std::uint32_t handed_before_ = 0;
  std::uint32_t lost_before_ = 0;
  HistoryCounts counts_;
  std::atomic<std::uint8_t> triggered_{0};
};

using FlashHistory = BasicFlashHistory<Sink>;

/// For a TriggerSink (opdump/parts/trigger_sink.hpp).
using TriggeredFlashHistory = BasicFlashHistory<TriggeredHistory>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
