#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "src/tool/cli/progress.hpp"
#include "src/tool/dump/clock_steps.hpp"
#include "src/tool/timeline/step_spans.hpp"
#include "src/tool/timeline/trace_writer.hpp"
#include "src/tool/verify/journal_line.hpp"

namespace opdump::tool {

/// Counts of what became events.
struct TimelineSums {
  std::uint64_t records = 0;  ///< slices
  std::uint64_t lost = 0;
  std::uint64_t reduced = 0;  ///< of `records`
};

/// A record whose slice goes to the next one.
struct PendingSlice {
  std::uint64_t at = 0;
  std::string category;
  std::string name;
  std::string model;
  std::optional<std::uint64_t> step{};
  std::string file;
  std::uint64_t bytes = 0;
  std::uint32_t sequence = 0;
  std::string causes;
};

/// The events of one journal. Needs the same memory whatever its length.
class JournalTrack {
 public:
  /// `process`: that of the device. Threads are numbered from `first_thread` on, one for each recorder.
  /// Times, also `began`, are moved as `clock` has it.
  JournalTrack(std::uint64_t process, std::uint64_t first_thread, std::string label, std::uint64_t began,
               ClockSteps clock, TraceWriter& trace, StepSpans& spans, TimelineSums& sums)
      : process_(process),
        first_thread_(first_thread),
        label_(std::move(label)),
        clock_(std::move(clock)),
        began_(clock_.time_of(began)),
        trace_(trace),
        spans_(spans),
        sums_(sums),
        latest_(began_) {}

  void take(const JournalLine& line);

  /// After the last line.
  void finish();

  bool tells_records() const { return tells_records_; }

 private:
  struct Recorder {
    std::uint64_t at = 0;  ///< of the latest event
    std::uint64_t bytes = 0;
    std::optional<PendingSlice> pending{};
    std::string begun;  ///< path of a record that has begun
  };

  Recorder& recorder(std::uint32_t number);
  TraceWriter::Track track(std::uint32_t number) const { return {process_, first_thread_ + number}; }
  std::optional<std::uint64_t> time_of(std::string_view text, const JournalPath& path) const;
  std::uint64_t advance(Recorder& recorder, std::optional<std::uint64_t> at);
  void take_record(const JournalLine& line, std::string_view category);
  void take_lost(const JournalLine& line);
  void end_pending(std::uint32_t number, Recorder& recorder, std::optional<std::uint64_t> next);
  void told(const JournalLine& line);
  void write_counts(const DumpCounts& counts);

  const std::uint64_t process_;
  const std::uint64_t first_thread_;
  const std::string label_;
  const ClockSteps clock_;
  const std::uint64_t began_;
  TraceWriter& trace_;
  StepSpans& spans_;
  TimelineSums& sums_;
  std::map<std::uint32_t, Recorder> recorders_;
  std::uint64_t latest_;
  bool tells_records_ = true;
};

}  // namespace opdump::tool
