#include "src/tool/verify/journal_check.hpp"

namespace opdump::tool {
namespace {

using Kind = JournalLine::Kind;

std::string record_text(std::uint32_t recorder, std::uint32_t sequence) {
  return "record " + std::to_string(sequence) + " of recorder " + std::to_string(recorder);
}

}  // namespace

void JournalCheck::problem(const std::string& what) {
  sound_ = false;
  listener_.on_problem(number_, what);
}

void JournalCheck::take_damaged(std::uint64_t number, const std::string& reason) {
  number_ = number;
  closed_ = false;
  problem(reason);
}

void JournalCheck::take(const JournalLine& line, std::uint64_t number) {
  number_ = number;
  // Of what is removed to make room the sink tells, also behind the end of a dump.
  if (line.kind == Kind::removed || line.kind == Kind::overwritten) return;
  if (line.kind == Kind::files_removed) return listener_.on_files_removed(line.bytes, records_);
  if (line.kind == Kind::unreceived) return listener_.on_unreceived(line.first_frame, line.last_frame);
  if (line.kind == Kind::unsynced) return listener_.on_unsynced(line.driver_code);
  if (line.kind == Kind::dumps_removed)
    return listener_.on_dumps_removed(line.bytes, line.first_time, line.last_time);
  // Of another dump of the same boot `opdump extract` tells it, also behind the end.
  if (line.kind == Kind::clock) return take_clock(line.clock);
  closed_ = false;
  if (!has_header_ && line.kind != Kind::header) {
    cut_ = may_be_cut_;
    if (!cut_) problem("a line before the journal's head");
  }
  has_header_ = true;
  if (line.path.has_device && line.path.device != device_)
    problem("a record of device " + std::to_string(line.path.device) + ", not of the journal's");
  switch (line.kind) {
    case Kind::header:
      return take_header(line);
    case Kind::provenance:
      return listener_.on_provenance(line.provenance);
    case Kind::from:
      return take_from(line);
    case Kind::to:
      return take_to(line);
    case Kind::op:
      return take_op(line);
    case Kind::never:
      return listener_.on_never(line.never);
    case Kind::chunk:
      return listener_.on_chunk(line);
    case Kind::driver:
      return listener_.on_driver(line.driver_call, line.driver_code);
    case Kind::history:
      return listener_.on_history(line.history_steps, line.after_steps);
    case Kind::fired:
      return listener_.on_fired(line.firing, 0);
    case Kind::firings_forgotten:
      return listener_.on_fired(line.firing, line.firing_counts.fired);
    case Kind::trigger:
      return listener_.on_trigger(number_, line.firing, line.firing_counts);
    case Kind::wrote:
      return listener_.on_wrote(line.sequence, line.last);
    case Kind::closed:
      return take_closed(line);
    case Kind::begun:
    case Kind::written:
    case Kind::row:
    case Kind::digests:
    case Kind::lost:
    case Kind::reduced:
    case Kind::gap:
    case Kind::forgotten:
      return take_record(line);
    case Kind::clock:
    case Kind::removed:
    case Kind::files_removed:
    case Kind::dumps_removed:
    case Kind::overwritten:
    case Kind::unsynced:
    case Kind::unreceived:
      return;
  }
}

void JournalCheck::take_clock(const ClockStep& step) {
  const std::size_t known = clock_.steps().size();
  if (!clock_.add(step)) {
    problem("the clock was set from " + std::to_string(step.shown_us) + " to " +
            std::to_string(step.unix_us) + ", which other lines contradict: no time is moved");
  } else if (clock_.steps().size() != known) {
    listener_.on_clock(step);
  }
}

/// A line of a recorder that has not begun.
void JournalCheck::take_headless(const JournalLine& line) {
  const std::string recorder = "recorder " + std::to_string(line.recorder);
  if (may_be_cut_ && !streams_[line.recorder].known) {
    cut_ = true;
    return listener_.on_cut(line.recorder, line.sequence);
  }
  if (!records_ && !streams_[line.recorder].known) {
    problem("the beginning is gone, as where newer records took its place: how " + recorder +
            " began is unknown");
  } else {
    problem(line.kind == Kind::to ? recorder + " ends without a line 'from'"
                                  : recorder + " has no line 'from' before this");
  }
}

void JournalCheck::take_header(const JournalLine& line) {
  if (number_ != 1 && line.records != records_) problem("the detail is another one than before");
  records_ = line.records;
}

void JournalCheck::take_from(const JournalLine& line) {
  Stream& stream = streams_[line.recorder];
  if (stream.open) {
    problem("recorder " + std::to_string(line.recorder) + " begins again before its lines ended");
  } else if (stream.known && static_cast<std::int32_t>(line.sequence - stream.next) < 0) {
    problem("recorder " + std::to_string(line.recorder) + " begins with a number it has passed");
  }
  stream.known = stream.open = true;
  stream.has_begun = false;
  stream.next = line.sequence;
}

bool JournalCheck::reach(std::uint32_t recorder, Stream& stream, std::uint32_t sequence) {
  const std::int32_t ahead = static_cast<std::int32_t>(sequence - stream.next);
  if (ahead < 0) {
    problem(record_text(recorder, sequence) + " comes a second time or too late");
    return false;
  }
  if (ahead == 0) return true;
  if (!records_) {
    written_ += static_cast<std::uint32_t>(ahead);
  } else if (ahead == 1) {
    problem("no line tells of " + record_text(recorder, stream.next));
  } else {
    problem("no line tells of records " + std::to_string(stream.next) + " to " +
            std::to_string(sequence - 1) + " of recorder " + std::to_string(recorder));
  }
  return true;
}

void JournalCheck::end_begun(const JournalLine& line, Stream& stream) {
  stream.has_begun = false;
  if (line.kind == Kind::reduced) {
    JournalPath begun;
    if (!parse_journal_path(stream.begun, begun) || begun.untimed != line.path.untimed)
      problem("not the path that was begun");
    return tell(line, line.path_text);
  }
  JournalLine whole = line;
  whole.path_text = stream.begun;
  // Was parsed once already, in its `begun` line.
  static_cast<void>(parse_journal_path(whole.path_text, whole.path));
  const bool may_tell = line.kind == Kind::lost && line.path.untimed == whole.path.untimed;
  if (!line.path_text.empty() && !may_tell) problem("not the path that was begun");
  tell(whole, whole.path_text);
}

void JournalCheck::take_record(const JournalLine& line) {
  Stream& stream = streams_[line.recorder];
  if (!records_ && (line.kind == Kind::begun || line.kind == Kind::written || line.kind == Kind::row ||
                    line.kind == Kind::digests))
    problem("a journal of gaps only has no such line");
  const bool first_of_cut = may_be_cut_ && !stream.open && !stream.known;
  if (!stream.open) {
    take_headless(line);
    stream.known = stream.open = true;
    stream.has_begun = false;
    stream.next = line.sequence;
  }
  if (stream.has_begun) {
    const bool ends = line.kind == Kind::written || line.kind == Kind::lost || line.kind == Kind::reduced;
    if (ends && line.sequence == stream.next - 1) return end_begun(line, stream);
    problem(record_text(line.recorder, stream.next - 1) + " was begun and has no end");
    stream.has_begun = false;
  }
  const bool is_range = line.kind == Kind::gap || line.kind == Kind::digests || line.kind == Kind::forgotten;
  const std::uint32_t last = is_range ? line.last : line.sequence;
  if (static_cast<std::int32_t>(last - line.sequence) < 0) {
    return problem(line.kind == Kind::gap ? "the gap ends before it begins"
                                          : "the records end before they begin");
  }
  if (line.kind == Kind::forgotten) {
    const ForgottenRecords& told = line.forgotten;
    if (std::uint64_t{told.written} + told.all_lost() != std::uint64_t{last} - line.sequence + 1 ||
        told.reduced > told.written)
      return problem("the counts of records " + std::to_string(line.sequence) + " to " +
                     std::to_string(last) + " do not add up");
  }
  if (line.kind == Kind::written && line.path_text.empty()) {
    // Its path was in the line `begun`.
    if (first_of_cut) {
      listener_.on_cut(line.recorder, line.sequence + 1);
      stream.next = line.sequence + 1;
      return;
    }
    problem("a record without path");
  }
  if (reach(line.recorder, stream, line.sequence)) stream.next = last + 1;
  if (line.kind == Kind::begun) {
    stream.has_begun = true;
    stream.begun = line.path_text;
    return;
  }
  tell(line, line.path_text);
}

void JournalCheck::tell(const JournalLine& line, std::string_view path_text) {
  if (line.kind == Kind::written) {
    ++written_;
    if (!path_text.empty())
      listener_.on_written(line.recorder, line.sequence, line.path, path_text, line.bytes);
  } else if (line.kind == Kind::row) {
    ++written_;
    if (path_text.empty()) return problem("a row without path");
    listener_.on_row(line.path, path_text, line.bytes);
  } else if (line.kind == Kind::digests) {
    const std::uint32_t count = line.last - line.sequence + 1;
    written_ += count;
    listener_.on_digests(count, line.bytes);
  } else if (line.kind == Kind::reduced) {
    ++written_;
    ++reduced_;
    listener_.on_reduced(line.recorder, line.sequence, line.causes, line.path, path_text, line.bytes);
  } else if (line.kind == Kind::forgotten) {
    written_ += line.forgotten.written;
    reduced_ += line.forgotten.reduced;
    lost_ += line.forgotten.all_lost();
    listener_.on_forgotten(line, records_);
  } else if (line.kind == Kind::lost) {
    ++lost_;
    listener_.on_lost(line.recorder, line.sequence, line.causes, path_text.empty() ? nullptr : &line.path);
  } else {
    lost_ += line.last - line.sequence + 1;
    listener_.on_gap(line.recorder, line.sequence, line.last, line.causes);
  }
}

void JournalCheck::take_to(const JournalLine& line) {
  Stream& stream = streams_[line.recorder];
  if (!stream.open) {
    take_headless(line);
  } else {
    if (stream.has_begun) problem(record_text(line.recorder, stream.next - 1) + " was begun and has no end");
    reach(line.recorder, stream, line.sequence);
  }
  stream.known = true;
  stream.open = stream.has_begun = false;
  stream.next = line.sequence;
}

void JournalCheck::take_op(const JournalLine& line) {
  const OpCounts& counts = line.op_counts;
  const std::uint32_t unrecorded = counts.lost() - counts.sink_failed - counts.quota;
  if (counts.wanted != counts.captured + counts.degraded + unrecorded || counts.cut_short > unrecorded ||
      line.lost_steps.first > line.lost_steps.last) {
    problem("the counts of " + std::string(line.path.op) + " do not add up");
  } else {
    listener_.on_op(line);
  }
}

void JournalCheck::take_closed(const JournalLine& line) {
  for (std::size_t recorder = 0; recorder < kMostRecorders; ++recorder) {
    if (!streams_[recorder].open) continue;
    problem("recorder " + std::to_string(recorder) + " has no line 'to' before this");
    streams_[recorder].open = streams_[recorder].has_begun = false;
  }
  const std::uint32_t written = static_cast<std::uint32_t>(written_ - closed_written_);
  const std::uint32_t lost = static_cast<std::uint32_t>(lost_ - closed_lost_);
  const DumpCounts& counts = line.counts;
  const std::uint32_t counted = counts.lost();
  const bool cut = cut_ && sound_ && counts.written >= written && counted >= lost;
  const bool adds_up =
      counts.wanted == counts.empty + counts.written + counted &&
      counts.cut_short <= counted - counts.sink_failed - counts.quota &&
      counts.captured + counts.degraded == counts.written + counts.sink_failed + counts.quota;
  may_be_cut_ = cut_ = false;
  // After damage they cannot agree, and that is told already.
  if (adds_up && cut) {
    written_ += counts.written - written;
    lost_ += counted - lost;
    listener_.on_cut_counts(counts.written - written, counted - lost);
  } else if (sound_ && (counts.written != written || counted < lost)) {
    problem("counts " + std::to_string(counts.written) + " written and " + std::to_string(counted) +
            " lost, and the lines before tell of " + std::to_string(written) + " and " +
            std::to_string(lost));
  } else if (!adds_up) {
    problem("the counts do not add up");
  } else if (sound_ && counted > lost) {
    lost_ += counted - lost;
    listener_.on_untold(number_, counted - lost, counts);
  }
  if (adds_up && !sound_ && !records_) {
    written_ = closed_written_ + counts.written;
    lost_ = closed_lost_ + counted;
    if (counted > lost) listener_.on_untold(number_, counted - lost, counts);
  }
  const std::uint64_t told = reduced_ - closed_reduced_ + counts.sink_failed + counts.quota;
  if (adds_up && !cut && counts.degraded > told)
    listener_.on_untold_reduced(number_, counts.degraded - static_cast<std::uint32_t>(told));
  closed_written_ = written_;
  closed_lost_ = lost_;
  closed_reduced_ = reduced_;
  sound_ = true;
  closed_ = true;
}

bool JournalCheck::reached(std::uint32_t recorder, std::uint32_t& next) const {
  next = streams_[recorder].next;
  return streams_[recorder].known;
}

}  // namespace opdump::tool
