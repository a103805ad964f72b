#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/number_text.hpp"
#include "opdump/base/text.hpp"
#include "opdump/format/journal_lines.hpp"
#include "opdump/impl/capture/firing_queue.hpp"
#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/parts/triggered_history.hpp"
#include "opdump/port/clock.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/trigger.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Where a trigger looks: one operator of a loaded model, or the model's steps.
struct TriggerPoint {
  static constexpr std::size_t kNameBytes = 96;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::uint32_t next = kNone;  ///< of the same plan
  std::uint32_t op = 0;
  std::uint16_t rule = 0;
  bool in_use = false;      ///< by a loaded plan
  bool leaves_out = false;  ///< the config leaves tensors of the operator out
  bool has_looked = false;
  bool tells_value = true;  ///< the config's privacy keeps as much of the tensor
  std::uint32_t streak = 0;
  std::uint32_t digest = 0;
  std::uint64_t last_step = 0;
  std::uint32_t model_id = 0;
  // Firings that are on their way keep the place when its plan has gone. Both are atomic, of one writer each.
  std::uint32_t fired = 0;  ///< the capturing context's
  std::uint32_t taken = 0;  ///< the drain context's
  std::uint8_t name_bytes = 0;
  char name[kNameBytes] = {};  ///< as a journal has it, cut

  std::string_view name_text() const { return {name, name_bytes}; }
};

/// What is known of one trigger.
struct TriggerState {
  Count looks;   // of the recorders
  Count unread;  // likewise
  Count crowded;
  std::atomic<bool> called{false};
  std::atomic<std::uint32_t> called_load{0};  ///< the step that had begun, with `called`
  std::atomic<std::uint32_t> called_step{0};
  // Of the drain context.
  std::uint64_t cool_at_ms = 0;  ///< no firing before
  Count fired;
  Count cut;
  Count held[3];

  FiringCounts counts() const {
    FiringCounts all = {
        .fired = fired.value(), .cut = cut.value(), .unread = unread.value(), .looks = looks.value()};
    for (std::size_t i = 0; i < std::size(held); ++i) all.held[i] = held[i].value();
    all.held[static_cast<std::size_t>(HeldFiring::crowded)] = crowded.value();
    return all;
  }
};

/// The memory that triggers work in. Refers to it.
struct TriggerRoom {
  std::span<TriggerState> states{};  ///< one per trigger of the config
  std::span<FiringCounts> told{};    ///< likewise
  std::span<TriggerPoint> points{};
  Firing* firings = nullptr;  ///< OPDUMP_MAX_RECORDERS times `queued`
  std::uint32_t queued = 0;   ///< a power of two
  /// Where there is a heap: further points, in blocks that come as models need them. Null: not there yet.
  std::span<TriggerPoint*> more{};
  TriggerPoint* (*make_block)() = nullptr;  ///< `kBlockPoints` of them, or null
  static constexpr std::uint32_t kBlockPoints = 1024;

  TriggerPoint& point(std::uint32_t at) const {
    if (at < points.size()) return points[at];
    const std::size_t behind = at - points.size();
    return more[behind / kBlockPoints][behind % kBlockPoints];
  }

  /// How many there are.
  std::uint32_t size() const {
    std::size_t blocks = 0;
    while (blocks < more.size() && more[blocks] != nullptr) ++blocks;
    return static_cast<std::uint32_t>(points.size() + blocks * kBlockPoints);
  }

  /// False: there can be no more.
  bool grow() const {
    for (TriggerPoint*& block : more) {
      if (block != nullptr) continue;
      block = make_block();
      return block != nullptr;
    }
    return false;
  }
};

/// That memory, for at most `kTriggers` triggers at `kPoints` operators and models, and `kQueued` firings
/// per recorder that the drainer has not come to.
template <std::size_t kTriggers = 4, std::size_t kPoints = 8, std::size_t kQueued = 8>
class TriggerMemory {
  static_assert(std::has_single_bit(kQueued) && kPoints < TriggerPoint::kNone);

 public:
  TriggerMemory() = default;
  TriggerMemory(const TriggerMemory&) = delete;
  TriggerMemory& operator=(const TriggerMemory&) = delete;

  TriggerRoom room() {
    return {.states = states_, .told = told_, .points = points_, .firings = firings_, .queued = kQueued};
  }

 private:
  TriggerState states_[kTriggers];
  FiringCounts told_[kTriggers];
  TriggerPoint points_[kPoints];
  Firing firings_[OPDUMP_MAX_RECORDERS * kQueued];
};

/// Between a session and its history: takes what triggers have fired and begins the write-outs, in step with
/// the records, unless the trigger cools down or the boot has had all that the config gives it. Limits and
/// cooldowns begin anew with each `begin_triggers`.
///
/// The session's journal goes past the history, with lines of its own (format/journal_lines.hpp). So the
/// records that the history lets go have no line there.
///
/// All calls of a sink on the drain context; the recorders' are Triggers's (parts/triggers.hpp).
class TriggerSink final : public Sink {
 public:
  /// `below` is the sink behind `history`. All must outlive this object.
  TriggerSink(TriggeredHistory& history, Sink& below, Clock& clock, const TriggerRoom& room)
      : history_(history), below_(&below), clock_(clock), room_(room) {}
  TriggerSink(const TriggerSink&) = delete;
  TriggerSink& operator=(const TriggerSink&) = delete;

  /// Works in `room` from now on. While there are no triggers.
  void equip(const TriggerRoom& room) { room_ = room; }

  /// The sink behind the history is `below` from now on. While no journal is open.
  void hand_on_to(Sink& below) { below_ = &below; }

  /// Follows the triggers of `options` from now on, and forgets all of those before; the texts and lists stay
  /// as long as the config. `no_memory` for more than there is room for, `not_supported` without a history:
  /// there are none then. While nothing is captured or drained.
  [[nodiscard]] Status begin_triggers(const DumpOptions& options) {
    const std::span<const TriggerRule> rules = triggers_of(options);
    rules_ = {};
    journal_bytes_ = 0;
    if (!rules.empty() && options.history_steps == 0) return Status::not_supported;
    if constexpr (!build::kFaults) {
      for (const TriggerRule& rule : rules) {
        if (rule.cause() == TriggerCause::failure) return Status::not_supported;
      }
    }
    if (rules.size() > room_.states.size()) return Status::no_memory;
    limits_ = trigger_limits(options);
    history_steps_ = options.history_steps;
    after_steps_ = options.after_steps;
    for (std::size_t i = 0; i < room_.states.size(); ++i) {
      TriggerState& state = room_.states[i];
      for (Count* const count : {&state.looks, &state.unread, &state.crowded, &state.fired, &state.cut,
                                 &state.held[0], &state.held[1], &state.held[2]})
        count->clear();
      state.called.store(false, std::memory_order_relaxed);
      state.cool_at_ms = 0;
      room_.told[i] = {.looks = UINT32_MAX};
    }
    for (std::uint32_t at = 0; at < room_.size(); ++at) room_.point(at) = {};
    for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS; ++slot)
      queues_[slot].reset(room_.firings + slot * room_.queued, room_.queued);
    uptime_ms_ = 0;
    last_ms_ = clock_.monotonic_ms();
    rules_ = rules;
    history_.allow(UINT64_MAX);
    refused_ = history_.refused();
    latest_ = 0;
    firings_ = 0;
    line_bytes_ = 0;
    is_full_ = false;
    written_before_ = history_.written_bytes();
    return Status::ok;
  }

  /// As `boot` wants it of a firmware's sink: the history begins too. `not_supported` for what only the sink
  /// behind the history could follow.
  [[nodiscard]] Status follow(const DumpOptions& options, JournalDetail /*journal*/) {
    DumpOptions rest = options;
    rest.history_steps = 0;
    if (asks_files(rest)) return Status::not_supported;
    const Status status = history_.keep_steps(options.history_steps, options.after_steps);
    return status == Status::ok ? begin_triggers(options) : status;
  }

  std::span<const TriggerRule> rules() const { return rules_; }

  /// Of trigger number `trigger` of the config. Any context.
  FiringCounts counts(std::size_t trigger) const { return room_.states[trigger].counts(); }

  /// Of all triggers. Any context.
  FiringCounts counts() const {
    FiringCounts all;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      const FiringCounts one = counts(i);
      all.fired += one.fired;
      all.cut += one.cut;
      all.unread += one.unread;
      all.looks += one.looks;
      for (std::size_t held = 0; held < kHeldFirings; ++held) all.held[held] += one.held[held];
    }
    return all;
  }

  /// Fires the triggers that the config gives the program under `name`, as of the step that has begun last. Calls
  /// that the drainer has not come to count as one. `invalid_argument` when there is none. Any context.
  Status fire(std::string_view name) {
    bool any = false;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (rules_[i].cause() != TriggerCause::call || rules_[i].call != name) continue;
      any = true;
      TriggerState& state = room_.states[i];
      if (state.called.load(std::memory_order_relaxed)) continue;
      state.called_load.store(begun_load_.load(std::memory_order_relaxed), std::memory_order_relaxed);
      state.called_step.store(begun_step_.load(std::memory_order_relaxed), std::memory_order_relaxed);
      // release: its step comes before; partner: `take_calls`.
      state.called.store(true, std::memory_order_release);
    }
    return any ? Status::ok : Status::invalid_argument;
  }

  /// The step that calls of the program belong to from now on. On a recorder's context.
  void note_step(std::uint32_t load, std::uint64_t step) {
    begun_load_.store(load, std::memory_order_relaxed);
    begun_step_.store(static_cast<std::uint32_t>(step), std::memory_order_relaxed);
  }

  /// Begins what is due now that nothing of any step is still to come, and tells all counts. On the drain
  /// context, before journals end.
  void finish() {
    if (rules_.empty()) return;
    settle({}, true);
    count_cuts();
    tell_counts(true);
    char memory[kLineBytes];
    TextWriter line(memory);
    line.add(kJournalStart<JournalLineKind::wrote>).add_decimal(history_.written_records()).add(',');
    static_cast<void>(tell(line.add_decimal(history_.lost()).add('\n')));
  }

  Result<ObjectId> begin(const ObjectName& name) override {
    if (rules_.empty()) return history_.begin(name);
    settle(facts_of_object(name), false);
    const Result<ObjectId> object = history_.begin(name);
    // Now the history knows the step of this one.
    settle_reached();
    return object;
  }

  Status append(ObjectId object, std::span<const Bytes> parts) override {
    return history_.append(object, parts);
  }
  Status commit(ObjectId object, ObjectId with = kNoObject) override { return history_.commit(object, with); }
  void abort(ObjectId object) override { history_.abort(object); }

  Status claim_journal(const ObjectName& name) override {
    return rules_.empty() ? history_.claim_journal(name) : below_->claim_journal(name);
  }

  Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    if (rules_.empty()) return history_.append_lines(name, parts);
    const ObjectFacts facts = facts_of_object(name);
    if (facts.kind != ObjectKind::journal) {
      settle(facts, false);
      return history_.append_lines(name, parts);
    }
    const bool knows = knows_journal(name);
    if (knows) tell_counts(false);
    const Status status = below_->append_lines(name, parts);
    if (!knows && status == Status::ok) keep_journal(name);
    if (!knows && status == Status::ok) tell_history();
    return status;
  }

  Status sync() override {
    if (rules_.empty()) return history_.sync();
    settle({}, true);
    return history_.sync();
  }

  // For Triggers.

  TriggerRoom& room() { return room_; }

  /// Whether firings of a point are on their way to the drain context.
  static bool is_under_way(TriggerPoint& point) {
    // acquire: the drain context has read all of it; pairs with the release in `take`.
    return std::atomic_ref(point.taken).load(std::memory_order_acquire) !=
           std::atomic_ref(point.fired).load(std::memory_order_relaxed);
  }

  void put(std::size_t slot, std::uint32_t load, std::uint64_t step, std::uint32_t point,
           std::uint64_t value) {
    const Firing firing = {
        .step = step, .value = value, .load = load, .ms = clock_.monotonic_ms(), .point = point};
    TriggerPoint& of = room_.point(point);
    const std::atomic_ref fired(of.fired);
    const std::uint32_t before = fired.load(std::memory_order_relaxed);
    fired.store(before + 1, std::memory_order_relaxed);
    if (queues_[slot].put(firing)) return;
    fired.store(before, std::memory_order_relaxed);
    room_.states[of.rule].crowded.add_one();
  }

 private:
  static constexpr std::size_t kLineBytes = 288;  ///< of a line about a firing, at most
  static constexpr std::size_t kNameBytes = kMaxDumpDirectoryBytes + 64;

  /// Absent in small code, which has no triggers.
  static ObjectFacts facts_of_object(const ObjectName& name) { return name.facts; }

  void follow_time() {
    const std::uint32_t now = clock_.monotonic_ms();
    uptime_ms_ += now - last_ms_;
    last_ms_ = now;
  }

  std::uint64_t bytes_left() const {
    if (limits_.bytes_per_boot == 0) return UINT64_MAX;
    const std::uint64_t used = history_.written_bytes() - written_before_ + line_bytes_;
    return used < limits_.bytes_per_boot ? limits_.bytes_per_boot - used : 0;
  }

  /// Takes the firings that are of earlier steps than an object of `facts`, which is to come; or all.
  void settle(const ObjectFacts& facts, bool all) {
    follow_time();
    count_cuts();
    for (FiringQueue& queue : queues_) {
      for (const Firing* firing = queue.look(); firing != nullptr; firing = queue.look()) {
        const bool passed = firing->load == facts.load && facts.step > firing->step;
        if (!all && !passed && !history_.has_reached(firing->load, firing->step)) break;
        take(queue, *firing);
      }
    }
    take_calls(facts, all);
    if (limits_.bytes_per_boot != 0) history_.allow(bytes_left());
  }

  /// The history has ended write-outs that had begun.
  void count_cuts() {
    if (rules_.empty()) return;
    for (; refused_ != history_.refused(); ++refused_) {
      room_.states[latest_].cut.add_one();
      is_full_ = true;
    }
  }

  void settle_reached() {
    for (FiringQueue& queue : queues_) {
      for (const Firing* firing = queue.look();
           firing != nullptr && history_.has_reached(firing->load, firing->step); firing = queue.look())
        take(queue, *firing);
    }
  }

  /// The program's calls, once the step that had begun has come.
  void take_calls(const ObjectFacts& facts, bool all) {
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      // acquire: partner is `fire`.
      TriggerState& state = room_.states[i];
      if (rules_[i].cause() != TriggerCause::call || !state.called.load(std::memory_order_acquire)) continue;
      const std::uint32_t load = state.called_load.load(std::memory_order_relaxed);
      const std::uint32_t step = state.called_step.load(std::memory_order_relaxed);
      const bool due =
          all || load == 0 || history_.has_reached(load, step) || (facts.load == load && facts.step > step);
      if (!due) continue;
      state.called.store(false, std::memory_order_relaxed);
      state.looks.add_one();
      decide({.step = step, .load = load, .ms = last_ms_}, i, nullptr);
    }
  }

  void take(FiringQueue& queue, const Firing& firing) {
    TriggerPoint& point = room_.point(firing.point);
    decide(firing, point.rule, &point);
    queue.take();
    // release: all of the point was read; partner: `is_under_way`.
    const std::atomic_ref taken(point.taken);
    taken.store(taken.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  void decide(const Firing& firing, std::size_t number, const TriggerPoint* point) {
    TriggerState& state = room_.states[number];
    const std::uint64_t fired_ms = uptime_ms_ - static_cast<std::uint32_t>(last_ms_ - firing.ms);
    const auto hold = [&state](HeldFiring why) { state.held[static_cast<std::size_t>(why)].add_one(); };
    if (fired_ms < state.cool_at_ms) return hold(HeldFiring::cooldown);
    if (limits_.firings_per_boot != 0 && firings_ >= limits_.firings_per_boot)
      return hold(HeldFiring::firings);
    char memory[kLineBytes];
    TextWriter line(memory);
    add_firing(line, firing, number, point);
    const std::uint64_t left = bytes_left();
    const std::size_t bytes = line.text().size();
    const std::uint64_t rest = left > bytes ? left - bytes : 0;
    if (limits_.bytes_per_boot != 0) history_.allow(rest);
    count_cuts();
    if (is_full_ || rest == 0 || !history_.start(firing.load)) {
      refused_ = history_.refused();
      return hold(HeldFiring::bytes);
    }
    latest_ = number;
    state.fired.add_one();
    ++firings_;
    if (rules_[number].cooldown_s != 0)
      state.cool_at_ms = fired_ms + std::uint64_t{rules_[number].cooldown_s} * 1000;
    line_bytes_ += bytes;
    tell(line);
  }

  void add_firing(TextWriter& line, const Firing& firing, std::size_t number,
                  const TriggerPoint* point) const {
    const TriggerRule& rule = rules_[number];
    const double value = std::bit_cast<double>(firing.value);
    add_trigger(line, kJournalStart<JournalLineKind::fired>, number).add_decimal(firing.step).add(',');
    const bool tells = point != nullptr && point->tells_value;
    if (tells && has_limits(rule.cause())) add_number(line, value);
    if (tells && rule.cause() == TriggerCause::change) {
      std::byte digest[4];
      store_little_endian(digest, static_cast<std::uint32_t>(firing.value));
      line.add_hex(digest);
    }
    line.add(',');
    const bool is_below = rule.has_below() && (!rule.has_above() || value < rule.lower());
    if (has_limits(rule.cause()))
      add_number(line.add(is_below ? '<' : '>'), is_below ? rule.lower() : rule.upper());
    line.add(',').add_decimal(point != nullptr ? point->model_id : 0).add(',');
    line.add(point != nullptr ? point->name_text() : rule.call).add('\n');
  }

  /// So that nobody looks for the records that the history has let go.
  void tell_history() {
    char memory[kLineBytes];
    TextWriter line(memory);
    line.add(kJournalHead)
        .add("gaps\n")
        .add(kJournalStart<JournalLineKind::history>)
        .add_decimal(history_steps_)
        .add(',');
    static_cast<void>(tell(line.add_decimal(after_steps_).add('\n')));
  }

  /// Tells the counts of triggers that have changed since they were told, in the looks alone if `also_looks`.
  void tell_counts(bool also_looks) {
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      const FiringCounts now = counts(i);
      FiringCounts& told = room_.told[i];
      const std::uint32_t looks = told.looks;
      if (!also_looks) told.looks = now.looks;
      const bool same = now == told;
      told.looks = looks;
      if (same) continue;
      char memory[kLineBytes];
      TextWriter line(memory);
      add_trigger(line, kJournalStart<JournalLineKind::trigger>, i);
      line.add_decimal(now.fired);
      for (const std::uint32_t held : now.held) line.add(',').add_decimal(held);
      line.add(',')
          .add_decimal(now.cut)
          .add(',')
          .add_decimal(now.unread)
          .add(',')
          .add_decimal(now.looks)
          .add('\n');
      if (tell(line)) told = now;
    }
  }

  TextWriter& add_trigger(TextWriter& line, std::string_view word, std::size_t number) const {
    line.add(word).add_short_decimal(static_cast<std::uint32_t>(number));
    return line.add(',').add(kTriggerWords[static_cast<std::size_t>(rules_[number].cause())]).add(',');
  }

  bool knows_journal(const ObjectName& name) const {
    return journal_bytes_ != 0 && journal().directory == name.directory && journal().file == name.file;
  }

  void keep_journal(const ObjectName& name) {
    if (name.directory.size() + name.file.size() > sizeof names_) return;
    journal_root_ = name.root;
    journal_facts_ = name.facts;
    directory_bytes_ = name.directory.size();
    journal_bytes_ = directory_bytes_ + name.file.size();
    // Not string_view::copy, which may throw.
    copy_bytes(reinterpret_cast<std::byte*>(names_), as_bytes(name.directory));
    copy_bytes(reinterpret_cast<std::byte*>(names_ + directory_bytes_), as_bytes(name.file));
  }

  ObjectName journal() const {
    ObjectName name = {journal_root_,
                       {names_, directory_bytes_},
                       {names_ + directory_bytes_, journal_bytes_ - directory_bytes_}};
    name.facts = journal_facts_;
    return name;
  }

  /// False: there is no journal, or it does not take the line.
  bool tell(const TextWriter& line) {
    if (journal_bytes_ == 0 || line.overflowed()) return false;
    const Bytes bytes = as_bytes(line.text());
    return below_->append_lines(journal(), {&bytes, 1}) == Status::ok;
  }

  TriggeredHistory& history_;
  Sink* below_;
  Clock& clock_;
  TriggerRoom room_;
  std::span<const TriggerRule> rules_{};
  TriggerLimits limits_{};
  std::uint32_t history_steps_ = 0;
  std::uint32_t after_steps_ = 0;
  FiringQueue queues_[OPDUMP_MAX_RECORDERS];
  std::atomic<std::uint32_t> begun_load_{0};
  std::atomic<std::uint32_t> begun_step_{0};
  std::uint64_t uptime_ms_ = 0;
  std::uint32_t last_ms_ = 0;
  bool is_full_ = false;  ///< the limit of bytes has ended a write-out
  std::uint32_t firings_ = 0;
  std::uint32_t refused_ = 0;         ///< of `TriggeredHistory::refused`, seen
  std::size_t latest_ = 0;            ///< the trigger that has fired last
  std::uint64_t line_bytes_ = 0;      ///< of lines about firings
  std::uint64_t written_before_ = 0;  ///< of `TriggeredHistory::written_bytes`, by `begin_triggers`
  std::string_view journal_root_{};
  [[no_unique_address]] Maybe<!build::kLean, ObjectFacts> journal_facts_{};
  std::size_t directory_bytes_ = 0;
  std::size_t journal_bytes_ = 0;  ///< of `names_`; 0: no journal has come yet
  char names_[kNameBytes];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
