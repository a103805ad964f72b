#pragma once
#include <cstdint>

#include "opdump/base/status.hpp"
#include "opdump/base/text.hpp"
#include "opdump/format/journal_lines.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A clock that came to know the calendar, all times in microseconds. What it had stamped before lies
/// `unix_us - shown_us` later than its stamp says. Every stamp below `unix_us` is one from before: a clock
/// that is only set forward shows no such time afterwards.
struct ClockStep {
  std::uint64_t shown_us = 0;  ///< what the clock showed when it was set
  std::uint64_t unix_us = 0;   ///< what it has shown instead: since 1970-01-01 UTC
};

/// `invalid_argument` for a clock that was not set forward: stamps of before and after would mix.
constexpr Status check(const ClockStep& step) {
  return step.shown_us < step.unix_us ? Status::ok : Status::invalid_argument;
}

/// Adds the line of a journal, without its end.
inline void add_clock_step(TextWriter& line, const ClockStep& step) {
  line.add(kJournalStart<JournalLineKind::clock>)
      .add_decimal(step.shown_us)
      .add(',')
      .add_decimal(step.unix_us);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
