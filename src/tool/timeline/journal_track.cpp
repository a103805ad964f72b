#include "src/tool/timeline/journal_track.hpp"

#include <algorithm>
#include <utility>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/display_text.hpp"

namespace opdump::tool {
namespace {

/// "Conv2D conv1" of "Conv2D.conv1".
std::string op_text(std::string_view op) {
  std::string text(op);
  if (const std::size_t dot = text.find('.'); dot != std::string::npos) text[dot] = ' ';
  return printable(text);
}

/// A loss as one of the kinds that a time line tells apart.
std::string_view category_of(std::string_view causes) {
  const std::string_view cause = causes.substr(0, causes.find_first_of("+:"));
  if (cause == kind_of(LossCause::timed_out).word) return "wait";
  if (cause == kind_of(LossCause::ring_full).word || cause == kind_of(LossCause::too_large).word)
    return "drop";
  return "lost";
}

}  // namespace

/// The time in a path, by the calendar; nothing where it has none.
std::optional<std::uint64_t> JournalTrack::time_of(std::string_view text, const JournalPath& path) const {
  if (!path.timed || path.lite || path.untimed.size() + 1 >= text.size()) return std::nullopt;
  const std::string_view rest = text.substr(path.untimed.size() + 1);
  const std::optional<std::uint64_t> stamp =
      parse_decimal(rest.substr(0, rest.size() - std::min(path.suffix.size(), rest.size())));
  return stamp ? std::optional(clock_.time_of(*stamp)) : std::nullopt;
}

JournalTrack::Recorder& JournalTrack::recorder(std::uint32_t number) {
  const auto [found, is_new] = recorders_.try_emplace(number);
  if (is_new) {
    found->second.at = began_;
    trace_.name_thread(track(number), "recorder " + std::to_string(number) + label_);
  }
  return found->second;
}

/// What has no time of its own, or an earlier one, happened at the time of what was told before.
std::uint64_t JournalTrack::advance(Recorder& recorder, std::optional<std::uint64_t> at) {
  recorder.at = std::max(recorder.at, at.value_or(0));
  latest_ = std::max(latest_, recorder.at);
  return recorder.at;
}

void JournalTrack::end_pending(std::uint32_t number, Recorder& recorder, std::optional<std::uint64_t> next) {
  if (!recorder.pending) return;
  const PendingSlice& record = *recorder.pending;
  JsonWriter& json =
      trace_.slice(track(number), record.at, next ? *next - record.at : 0, record.category, record.name);
  if (!record.model.empty()) json.key("model").text(record.model);
  if (record.step) json.key("step").number(*record.step);
  json.key("sequence").number(record.sequence).key("bytes").number(record.bytes);
  if (!record.causes.empty()) json.key("causes").text(record.causes);
  json.key("file").text(record.file).key("dur_is_gap").flag(true);
  trace_.end();
  recorder.bytes += record.bytes;
  trace_.counter(process_, record.at, "bytes written" + label_ + ", recorder " + std::to_string(number),
                 "bytes", recorder.bytes);
  recorder.pending.reset();
}

void JournalTrack::take_record(const JournalLine& line, std::string_view category) {
  Recorder& from = recorder(line.recorder);
  JournalPath path = line.path;
  std::string text(line.path_text);
  if (text.empty()) {
    text = std::exchange(from.begun, {});
    if (text.empty() || !parse_journal_path(text, path)) path = {};
  }
  const std::uint64_t at = advance(from, time_of(text, path));
  end_pending(line.recorder, from, at);
  PendingSlice& record = from.pending.emplace();
  record.at = at;
  record.category = category;
  record.name = path.op.empty() ? "record" : op_text(path.op);
  record.model = printable(path.model);
  if (path.in_model) {
    record.step = path.step;
    spans_.add(process_, record.model, path.step, at);
  }
  record.file = printable(text);
  record.bytes = line.bytes;
  record.sequence = line.sequence;
  if (line.kind == JournalLine::Kind::reduced) record.causes = causes_text(line.causes);
  ++sums_.records;
  if (line.kind == JournalLine::Kind::reduced) ++sums_.reduced;
}

void JournalTrack::take_lost(const JournalLine& line) {
  Recorder& from = recorder(line.recorder);
  const bool is_gap = line.kind == JournalLine::Kind::gap;
  const bool has_path = !is_gap && !line.path_text.empty();
  const std::uint64_t at = advance(from, has_path ? time_of(line.path_text, line.path) : std::nullopt);
  if (from.pending && at > from.pending->at) end_pending(line.recorder, from, at);
  from.begun.clear();
  std::string name = std::string(category_of(line.causes)) + ": " + causes_text(line.causes);
  if (has_path) name = op_text(line.path.op) + ' ' + name;
  JsonWriter& json = trace_.instant(track(line.recorder), at, category_of(line.causes), name);
  json.key("from").number(line.sequence).key("to").number(is_gap ? line.last : line.sequence);
  if (has_path) {
    json.key("op").text(op_text(line.path.op));
    if (line.path.in_model)
      json.key("model").text(printable(line.path.model)).key("step").number(line.path.step);
  }
  trace_.end();
  sums_.lost += is_gap ? std::uint64_t{line.last} - line.sequence + 1 : 1;
}

void JournalTrack::write_counts(const DumpCounts& counts) {
  constexpr std::string_view kNames[] = {"wanted", "captured", "degraded", "empty", "cut_short"};
  JsonWriter& json = trace_.instant({process_, first_thread_}, latest_, "closed", "closed" + label_, true);
  for (std::size_t i = 0; i < std::size(kNames); ++i) json.key(kNames[i]).number(counts.*kDumpCountFields[i]);
  for (const LossKind& kind : kLossKinds) json.key(kind.word).number(counts.*kind.count);
  json.key("written").number(counts.written);
  trace_.end();
}

/// What is told of the whole dump, at the time of the latest record.
void JournalTrack::told(const JournalLine& line) {
  using Kind = JournalLine::Kind;
  const auto begin = [this](std::string_view category, const std::string& name) -> JsonWriter& {
    return trace_.instant({process_, first_thread_}, latest_, category, name, true);
  };
  switch (line.kind) {
    case Kind::op: {
      JsonWriter& json = begin("op counts", "counts of " + op_text(line.path.op));
      json.key("model").text(printable(line.path.model)).key("steps").number(line.steps_seen);
      json.key("first lost step")
          .number(line.lost_steps.first)
          .key("last lost step")
          .number(line.lost_steps.last);
      json.key("wanted").number(line.op_counts.wanted);
      for (const LossKind& kind : kLossKinds) {
        if (line.op_counts.*kind.count != 0) json.key(kind.word).number(line.op_counts.*kind.count);
      }
      break;
    }
    case Kind::provenance: {
      JsonWriter& json = begin("provenance", "what the dump comes from");
      const std::pair<std::string_view, std::string_view> parts[] = {{"build_id", line.provenance.build_id},
                                                                     {"config", line.provenance.config},
                                                                     {"opdump", line.provenance.opdump},
                                                                     {"model", line.provenance.model},
                                                                     {"runtime", line.provenance.runtime}};
      for (const auto& [name, text] : parts) {
        if (!text.empty()) json.key(name).text(printable(text));
      }
      break;
    }
    case Kind::never: {
      const NeverKind& kind = kind_of(line.never.cause);
      JsonWriter& json = begin("never", "never captured: " + std::string(kind.text));
      json.key("model")
          .text(printable(line.never.model))
          .key("type")
          .text(printable(line.never.type))
          .key("name")
          .text(printable(line.never.name));
      if (has_steps(line.never.cause))
        json.key("first step").number(line.never.steps.first).key("last step").number(line.never.steps.last);
      break;
    }
    case Kind::chunk:
      begin("chunk", "chunks: " + std::string(kChunkFaultKinds[static_cast<std::size_t>(line.fault)].word))
          .key("chunks")
          .number(line.chunks)
          .key("bytes")
          .number(line.bytes)
          .key("file")
          .text(printable(line.path_text));
      break;
    case Kind::driver:
      begin("driver", "driver call failed")
          .key("call")
          .text(printable(line.driver_call))
          .key("code")
          .real(line.driver_code);
      break;
    case Kind::clock:
      begin("clock", "the clock was set")
          .key("shown_us")
          .number(line.clock.shown_us)
          .key("unix_us")
          .number(line.clock.unix_us);
      break;
    case Kind::removed:
      begin("removed", "removed to make room").key("file").text(printable(line.path_text));
      break;
    case Kind::dumps_removed:
      begin("removed", "dumps removed to make room")
          .key("dumps")
          .number(line.bytes)
          .key("first")
          .number(line.first_time)
          .key("last")
          .number(line.last_time);
      break;
    case Kind::overwritten:
      begin("overwritten", "the log has gone round: what was before is gone");
      break;
    case Kind::unreceived:
      begin("unreceived", "frames that never arrived")
          .key("first")
          .number(line.first_frame)
          .key("last")
          .number(line.last_frame);
      break;
    default:
      return;
  }
  trace_.end();
}

void JournalTrack::take(const JournalLine& line) {
  using Kind = JournalLine::Kind;
  switch (line.kind) {
    case Kind::header:
      tells_records_ = line.records;
      break;
    case Kind::begun:
      recorder(line.recorder).begun = line.path_text;
      break;
    case Kind::written:
      take_record(line, "op");
      break;
    case Kind::row:
      take_record(line, "statistics");
      break;
    case Kind::reduced:
      take_record(line, "reduced");
      break;
    case Kind::lost:
    case Kind::gap:
      take_lost(line);
      break;
    case Kind::digests: {
      Recorder& from = recorder(line.recorder);
      JsonWriter& json = trace_.instant(track(line.recorder), from.at, "digests", "digests");
      json.key("from").number(line.sequence).key("to").number(line.last).key("bytes").number(line.bytes);
      trace_.end();
      break;
    }
    case Kind::closed:
      write_counts(line.counts);
      break;
    case Kind::from:
    case Kind::to:
      static_cast<void>(recorder(line.recorder));
      break;
    default:
      told(line);
  }
}

void JournalTrack::finish() {
  for (auto& [number, recorder] : recorders_) end_pending(number, recorder, std::nullopt);
}

}  // namespace opdump::tool
