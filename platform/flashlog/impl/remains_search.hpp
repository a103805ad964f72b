#pragma once
#include <cstdint>

#include "platform/flashlog/history_tape.hpp"
#include "platform/flashlog/impl/history_out.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// What a tape holds of an earlier boot.
struct HistoryRemains {
  std::uint32_t boot = 0;          ///< 0: there is nothing
  std::uint64_t first_step = 0;    ///< of what was not written out, as that boot counted
  std::uint64_t last_step = 0;     ///< the last whole one; less than `first_step` when there is none
  std::uint32_t objects = 0;       ///< of these
  bool torn = false;               ///< the step behind them is: power went before it was whole
  std::uint32_t torn_objects = 0;  ///< of that step, which are handed on too
  bool written_out = false;        ///< all that is there was
};

/// Finds what a tape holds of the boots before this one.
class RemainsSearch {
 public:
  /// The newest boot before `before` (default: this one) of which there are steps. Reads the area up to three
  /// times. While `out` hands nothing on.
  const HistoryRemains& find(HistoryTape& tape, HistoryOut& out, std::uint32_t before) {
    found_ = {};
    if (before > tape.boot()) before = tape.boot();
    for (;;) {
      Place at;
      const std::uint32_t boot = tape.find_boot(before, at);
      if (boot == 0) break;
      found_.boot = before = boot;
      if (look_through(tape, out, at)) break;
      found_ = {};
    }
    return found_;
  }

  const HistoryRemains& found() const { return found_; }

  /// Where the entries of that boot begin.
  const HistoryTape::Place& place() const { return place_; }

  /// What was found is handed on now. Returns how many objects of a torn step are.
  std::uint32_t take() {
    const std::uint32_t torn = found_.torn_objects;
    found_.objects = found_.torn_objects = 0;
    return torn;
  }

 private:
  using Place = HistoryTape::Place;
  using Run = HistoryTape::Run;

  /// Fills in `found_` for its boot, whose first entry is `at`. False when it has no steps.
  bool look_through(HistoryTape& tape, HistoryOut& out, const Place& at) {
    tape.settle();
    HistoryOut::Seen& seen = out.seen();
    seen = {};
    seen.boot = found_.boot;
    look_along(tape, out, at, 1);
    // What a later boot has handed on stands in its own part of the area.
    for (std::uint32_t later = UINT32_MAX;;) {
      Place begin;
      later = tape.find_boot(later, begin);
      if (later <= found_.boot) break;
      look_along(tape, out, begin, UINT64_MAX);
    }
    const std::uint64_t behind = seen.written_until + 1;
    found_.torn = look_along(tape, out, at, behind);
    found_.objects = seen.objects + (found_.torn ? 0 : seen.latest_objects);
    found_.torn_objects = found_.torn ? seen.latest_objects : 0;
    found_.last_step = seen.last_step - (found_.torn ? 1 : 0);
    found_.first_step = seen.first_step > behind ? seen.first_step : behind;
    found_.written_out = seen.last_step < behind;
    place_ = at;
    return seen.last_step != 0;
  }

  /// Looks at all entries of a boot, and counts those of steps from `from` on. Whether the last one is torn.
  static bool look_along(HistoryTape& tape, HistoryOut& out, Place at, std::uint64_t from) {
    out.look(from);
    for (bool torn = false;;) {
      const Place before = at;
      const Run run = tape.take_run(at, nullptr);
      if (run == Run::good) {
        at = before;
        torn = tape.take_run(at, &out) != Run::good;
        if (!torn) continue;
      }
      if (run == Run::none) {
        torn = torn || out.has_open();
        out.lose_open();
        return torn;
      }
      torn = true;
      out.lose_open();
      if (run == Run::bad || run == Run::good) continue;
      at = before;
      if (!tape.to_next_block(at)) return true;
    }
  }

  HistoryRemains found_;
  Place place_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
