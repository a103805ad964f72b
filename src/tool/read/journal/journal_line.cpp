#include "src/tool/read/journal/journal_line.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "opdump/base/status.hpp"
#include "opdump/base/text.hpp"
#include "opdump/impl/drain/journal.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {
namespace {

using Kind = JournalLine::Kind;

/// What the line of each Kind begins with.
constexpr std::string_view kLineWords[] = {
    "opdump-journal", "provenance",  "from",      "begun", "written", "row",     "digests",   "lost",
    "reduced",        "gap",         "to",        "op",    "never",   "chunk",   "driver",    "clock",
    "history",        "fired",       "trigger",   "wrote", "closed",  "removed", "forgotten", "files_removed",
    "dumps_removed",  "overwritten", "unreceived"};
static_assert(std::size(kLineWords) == static_cast<std::size_t>(Kind::unreceived) + 1);

/// How many / a record's path has outside a model and in one, and in MindSpore's layouts: of Lite, in a
/// rank's folder.
constexpr std::ptrdiff_t kSingleParts = 1;
constexpr std::ptrdiff_t kModelParts = 4;
constexpr std::ptrdiff_t kLiteParts = 2;
constexpr std::ptrdiff_t kRankParts = 3;

/// Cuts the part before the first `separator` off `text`; all of it when there is none.
std::string_view cut_first(std::string_view& text, char separator) {
  const std::size_t at = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

/// Cuts the folders `{step}/{time}` of MindSpore's whole graphs off `path`; what is left is as in CANN's
/// layout. On false `path` has none, and stays.
bool cut_graph_folders(std::string_view& path, std::string_view& step) {
  constexpr std::size_t kTimeDigits = 14;
  std::string_view rest = path;
  const std::string_view first = cut_first(rest, '/');
  const std::string_view time = cut_first(rest, '/');
  const std::ptrdiff_t parts = std::count(rest.begin(), rest.end(), '/');
  if (time.size() != kTimeDigits || !parse_decimal(time) || (parts != kSingleParts && parts != kModelParts))
    return false;
  path = rest;
  step = first;
  return true;
}

/// Only as the core writes it, with no zero before it.
template <class Number>
bool parse_canonical(std::string_view text, Number& number) {
  const std::optional<std::uint64_t> value = parse_decimal(text);
  if (!value || *value > std::numeric_limits<Number>::max() || (text.size() > 1 && text[0] == '0'))
    return false;
  number = static_cast<Number>(*value);
  return true;
}

/// Reads numbers with commas between them, and nothing else.
template <class... Number>
bool parse_numbers(std::string_view text, Number&... numbers) {
  std::size_t left = sizeof...(numbers);
  return (
      ((--left == 0) == (text.find(',') == text.npos) && parse_canonical(cut_first(text, ','), numbers)) &&
      ...);
}

/// As `TextWriter::add_sanitised` leaves it.
bool is_sanitised(std::string_view name) {
  return !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
    return c == ' ' || c == '.' || c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

/// What CANN's own files may have behind the time stamp: what tells a thread, and ".csv" or ".bin" behind that.
bool is_thread_suffix(std::string_view suffix) {
  constexpr int kParts = 4;
  std::string_view rest = suffix.substr(1);
  for (int part = 0; part < kParts; ++part) {
    std::uint32_t value = 0;
    const std::string_view text = cut_first(rest, '.');
    if (!parse_canonical(text, value) && (part != 0 || text != "FFTSPLUS")) return false;
  }
  return rest.empty() || rest == "csv" || rest == "bin";
}

/// What may stand behind a time stamp: nothing, ".csv", what CANN has there, that of a report, or
/// `.{input|output}.{index}.{format}.{dtype}.npy`, or the same without the dtype.
bool is_suffix(std::string_view suffix) {
  if (suffix.empty() || suffix == ".csv" || suffix == ".bin" || suffix == RecordFormat::kReportSuffix)
    return true;
  if (is_thread_suffix(suffix)) return true;
  std::string_view rest = suffix.substr(1);
  const std::string_view role = cut_first(rest, '.');
  std::uint16_t index = 0;
  return (role == "input" || role == "output") && parse_canonical(cut_first(rest, '.'), index) &&
         is_sanitised(cut_first(rest, '.')) &&
         (rest == "npy" || (is_sanitised(cut_first(rest, '.')) && rest == "npy"));
}

bool parse_file(std::string_view file, JournalPath& path) {
  constexpr std::size_t kTimeDigits = 16;
  std::uint32_t number = 0;
  std::string_view rest = file;
  const std::string_view type = cut_first(rest, '.');
  const std::string_view name = cut_first(rest, '.');
  const std::string_view task = cut_first(rest, '.');
  const bool has_time = rest.find('.') != rest.npos;
  std::string_view stream = cut_first(rest, '.');
  if (has_time && rest.find('.') < kTimeDigits) {
    // CANN may count its files in front of the task.
    if (!parse_canonical(stream, number)) return false;
    stream = cut_first(rest, '.');
  }
  std::uint64_t time = 0;
  if (!is_sanitised(type) || !is_sanitised(name) || !parse_canonical(task, number) ||
      !parse_canonical(stream, number))
    return false;
  if (has_time) {
    path.suffix = rest.substr(std::min(rest.find('.'), rest.size()));
    const std::string_view digits = rest.substr(0, rest.size() - path.suffix.size());
    if (digits.size() < kTimeDigits || !parse_decimal(digits)) return false;
    if (digits.size() > kTimeDigits && !parse_canonical(digits, time)) return false;
    if (!is_suffix(path.suffix)) return false;
  }
  path.timed = has_time;
  path.op = file.substr(0, type.size() + 1 + name.size());
  return true;
}

/// `{type}.{name}.{task}` or `exception_info.{stream}.{task}`, with a time or without.
bool parse_failure(std::string_view file, JournalPath& path) {
  constexpr std::size_t kTimeDigits = 17;
  std::string_view rest = file;
  const std::string_view type = cut_first(rest, '.');
  const std::string_view name = cut_first(rest, '.');
  const std::string_view task = cut_first(rest, '.');
  std::uint32_t number = 0;
  if (!is_sanitised(type) || !is_sanitised(name) || !parse_canonical(task, number)) return false;
  path.timed = !rest.empty();
  if (path.timed && (rest.size() != kTimeDigits || !parse_decimal(rest))) return false;
  path.suffix = {};
  path.op = type == "exception_info" ? file.substr(0, type.size() + 1 + name.size() + 1 + task.size())
                                     : file.substr(0, type.size() + 1 + name.size());
  return true;
}

/// `{name}_{input|output}_{index}_shape_...bin`, or `{name}` of a record without a file.
bool parse_lite_file(std::string_view file, JournalPath& path) {
  path.op = file;
  if (const std::optional<LiteName> name = parse_lite_name(file)) path.op = name->op;
  path.suffix = file.substr(path.op.size());
  path.lite = path.timed = true;
  return !file.empty() && file.find('/') == file.npos && file != "." && file != "..";
}

bool is_status(std::string_view text) {
  for (unsigned code = 1; code <= 0xff; ++code) {
    const std::string_view known = to_string(static_cast<Status>(code));
    if (known == text) return known != to_string(static_cast<Status>(0xff));
  }
  return false;
}

const LossKind* find_kind(std::string_view word) {
  const auto* found = std::find_if(std::begin(kLossKinds), std::end(kLossKinds),
                                   [word](const LossKind& kind) { return kind.word == word; });
  return found == std::end(kLossKinds) ? nullptr : found;
}

bool are_causes(std::string_view text) {
  if (text == kUnfinishedWord) return true;
  const bool has_status = text.find(':') != text.npos;
  std::string_view words = cut_first(text, ':');
  if (has_status && !is_status(text)) return false;
  do {
    if (find_kind(cut_first(words, '+')) == nullptr) return false;
  } while (!words.empty());
  return true;
}

bool parse_header(std::string_view text, std::string_view rest, JournalLine& line, std::string& reason) {
  const std::string_view version = cut_first(rest, ',');
  if (!text.starts_with(kJournalHead)) {
    reason = "version " + std::string(version.substr(0, 20)) + " of the journal's format is not known here";
    return false;
  }
  line.records = rest == "records";
  if (line.records || rest == "gaps") return true;
  reason = "the detail is neither 'records' nor 'gaps'";
  return false;
}

bool parse_provenance(std::string_view rest, JournalLine& line) {
  Provenance& told = line.provenance;
  for (std::string_view* text : {&told.build_id, &told.config, &told.opdump, &told.model}) {
    if (rest.find(',') == rest.npos) return false;
    *text = cut_first(rest, ',');
  }
  told.runtime = rest;
  return check(told) != Status::invalid_argument;
}

bool parse_closed(std::string_view rest, JournalLine& line) {
  constexpr std::size_t kCounts = std::size(kDumpCountFields);
  for (std::size_t i = 0; i < kCounts; ++i) {
    const bool more = rest.find(',') != rest.npos;
    if (more != (i + 1 < kCounts) || !parse_canonical(cut_first(rest, ','), line.counts.*kDumpCountFields[i]))
      return false;
  }
  return true;
}

/// Cuts all of `fields` off `rest`, with a comma behind each.
bool parse_op(std::string_view rest, JournalLine& line) {
  const auto take = [&rest](auto& number) {
    return rest.find(',') != rest.npos && parse_canonical(cut_first(rest, ','), number);
  };
  if (!take(line.steps_seen) || !take(line.lost_steps.first) || !take(line.lost_steps.last)) return false;
  for (const auto field : kOpCountFields) {
    if (!take(line.op_counts.*field)) return false;
  }
  std::uint32_t id = 0;
  if (!take(id)) return false;
  line.path.in_model = true;
  line.path.model_id = id;
  line.path.model = cut_first(rest, '/');
  line.path.op = rest;
  const std::string_view type = cut_first(rest, '.');
  return is_sanitised(line.path.model) && is_sanitised(type) && is_sanitised(rest);
}

bool parse_never(std::string_view rest, JournalLine& line) {
  NeverCaptured& never = line.never;
  const std::string_view word = cut_first(rest, ',');
  const auto* kind = std::find_if(std::begin(kNeverKinds), std::end(kNeverKinds),
                                  [word](const NeverKind& known) { return known.word == word; });
  if (kind == std::end(kNeverKinds)) return false;
  never.cause = static_cast<NeverCause>(kind - std::begin(kNeverKinds));
  if (!parse_canonical(cut_first(rest, ','), never.steps.first) ||
      !parse_canonical(cut_first(rest, ','), never.steps.last) ||
      !parse_canonical(cut_first(rest, ','), never.model_id) || std::count(rest.begin(), rest.end(), '/') < 2)
    return false;
  never.model = cut_first(rest, '/');
  never.type = cut_first(rest, '/');
  never.name = rest;
  return is_sanitised(never.model) && is_sanitised(never.type);
}

bool parse_chunk(std::string_view rest, JournalLine& line) {
  const std::string_view word = cut_first(rest, ',');
  const auto* kind = std::find_if(std::begin(kChunkFaultKinds), std::end(kChunkFaultKinds),
                                  [word](const ChunkFaultKind& known) { return known.word == word; });
  if (kind == std::end(kChunkFaultKinds)) return false;
  line.fault = static_cast<ChunkFault>(kind - std::begin(kChunkFaultKinds));
  if (!parse_canonical(cut_first(rest, ','), line.chunks) || rest.find(',') == rest.npos) return false;
  if (!parse_canonical(cut_first(rest, ','), line.bytes)) return false;
  line.path_text = rest;
  return line.fault != ChunkFault::other || !rest.empty();
}

bool parse_driver(std::string_view rest, JournalLine& line) {
  line.driver_call = cut_first(rest, ',');
  const bool negative = rest.starts_with('-');
  std::uint32_t size = 0;
  if (!is_sanitised(line.driver_call) || !parse_canonical(rest.substr(negative ? 1 : 0), size) || size == 0)
    return false;
  line.driver_code = static_cast<std::int32_t>(negative ? 0 - size : size);
  return (line.driver_code < 0) == negative;
}

/// Cuts the number and the cause of a trigger off `rest`.
bool take_trigger(std::string_view& rest, ToldFiring& firing) {
  if (!parse_canonical(cut_first(rest, ','), firing.trigger)) return false;
  const std::string_view word = cut_first(rest, ',');
  const auto* cause = std::find(std::begin(kTriggerWords), std::end(kTriggerWords), word);
  firing.cause = static_cast<TriggerCause>(cause - std::begin(kTriggerWords));
  return cause != std::end(kTriggerWords);
}

bool is_number(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefin+-.") == text.npos;
}

bool parse_fired(std::string_view rest, JournalLine& line) {
  ToldFiring& firing = line.firing;
  constexpr std::ptrdiff_t kCommas = 6;
  if (std::count(rest.begin(), rest.end(), ',') < kCommas || !take_trigger(rest, firing) ||
      !parse_canonical(cut_first(rest, ','), firing.step))
    return false;
  firing.value = cut_first(rest, ',');
  firing.limit = cut_first(rest, ',');
  if (!parse_canonical(cut_first(rest, ','), firing.model_id)) return false;
  firing.where = rest;
  const bool has_limit = firing.limit.starts_with('<') || firing.limit.starts_with('>');
  return is_number(firing.value) && has_limit == has_limits(firing.cause) &&
         (firing.limit.empty() || is_number(firing.limit.substr(1))) && !rest.empty();
}

bool parse_trigger(std::string_view rest, JournalLine& line) {
  FiringCounts& counts = line.firing_counts;
  auto& [cooldown, firings, bytes, crowded] = counts.held;
  return take_trigger(rest, line.firing) && parse_numbers(rest, counts.fired, cooldown, firings, bytes,
                                                          crowded, counts.cut, counts.unread, counts.looks);
}

/// Behind the recorder and the first number.
bool parse_forgotten(std::string_view rest, JournalLine& line) {
  ForgottenRecords& told = line.forgotten;
  constexpr std::ptrdiff_t kCommas = 2 + kForgottenLosses;
  if (std::count(rest.begin(), rest.end(), ',') != kCommas) return false;
  bool good = parse_canonical(cut_first(rest, ','), line.last) &&
              parse_canonical(cut_first(rest, ','), told.written) &&
              parse_canonical(cut_first(rest, ','), told.reduced);
  for (const auto count : kLossFields) good = good && parse_canonical(cut_first(rest, ','), told.lost.*count);
  return good && parse_canonical(rest, told.unclear);
}

bool parse_path(std::string_view text, JournalLine& line) {
  line.path_text = text;
  return text.empty() || parse_journal_path(text, line.path);
}

}  // namespace

std::string causes_text(std::string_view words) {
  if (words == kUnfinishedWord) return std::string(to_string(Status::unfinished));
  const std::string_view status = words.substr(std::min(words.find(':'), words.size()));
  words.remove_suffix(status.size());
  std::string text;
  while (!words.empty()) {
    const LossKind* kind = find_kind(cut_first(words, '+'));
    text += (text.empty() ? "" : " or ") + std::string(kind->text);
  }
  return status.empty() ? text : text + ": " + std::string(status.substr(1));
}

std::string causes_text(const LossCounts& counts) {
  std::string text;
  for (const LossKind& kind : kLossKinds) {
    const std::uint32_t count = counts.*kind.count;
    if (count != 0)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + ": " + std::string(kind.text);
  }
  return text;
}

bool parse_journal_name(std::string_view name, JournalName& journal) {
  constexpr std::string_view kStart = "opdump.";
  constexpr std::string_view kEnd = ".journal";
  if (!name.starts_with(kStart) || !name.ends_with(kEnd) || name.size() <= kStart.size() + kEnd.size())
    return false;
  name.remove_prefix(kStart.size());
  name.remove_suffix(kEnd.size());
  std::uint32_t device = 0;
  if (!parse_canonical(cut_first(name, '.'), device) || !parse_canonical(name, journal.id)) return false;
  journal.device = device;
  return true;
}

bool is_record_suffix(std::string_view suffix) {
  return suffix.empty() ||
         (!suffix.ends_with(".csv") && !suffix.ends_with(".bin") && is_thread_suffix(suffix));
}

std::optional<std::uint64_t> device_in(std::string_view path) {
  std::string_view step;
  cut_graph_folders(path, step);
  const std::ptrdiff_t parts = std::count(path.begin(), path.end(), '/');
  if (parts == kLiteParts || parts == kRankParts) return {};
  return parse_decimal(cut_first(path, '/'));
}

bool parse_journal_path(std::string_view text, JournalPath& path) {
  path = {};
  std::string_view rest = text;
  std::uint32_t number = 0;
  std::string_view graph_step;
  const bool is_graph = cut_graph_folders(rest, graph_step);
  if (is_graph && !parse_canonical(graph_step, path.step)) return false;
  const std::size_t graph_bytes = text.size() - rest.size();
  const std::ptrdiff_t parts = std::count(rest.begin(), rest.end(), '/');
  if (parts == kLiteParts) {
    path.model = cut_first(rest, '/');
    path.in_model = true;
    if (!is_sanitised(path.model) || !parse_canonical(cut_first(rest, '/'), path.step) ||
        !parse_lite_file(rest, path))
      return false;
    path.record = path.untimed = text.substr(0, text.size() - path.suffix.size());
    return true;
  }
  path.has_device = parts != 0 && parts != kRankParts;
  if (path.has_device && !parse_canonical(cut_first(rest, '/'), number)) return false;
  path.device = number;
  path.in_model = rest.find('/') != rest.npos;
  if (path.in_model) {
    path.model = cut_first(rest, '/');
    if (!is_sanitised(path.model) || !parse_canonical(cut_first(rest, '/'), number) ||
        !parse_canonical(cut_first(rest, '/'), path.step))
      return false;
    path.model_id = number;
  }
  if (!parse_file(rest, path) && (parts != kSingleParts || is_graph || !parse_failure(rest, path)))
    return false;
  path.untimed = text.substr(0, text.size() - path.suffix.size());
  if (path.timed) path.untimed = path.untimed.substr(0, path.untimed.rfind('.'));
  path.record = path.untimed.substr(graph_bytes);
  return true;
}

bool parse_journal_line(std::string_view text, JournalLine& line, std::string& reason) {
  line = {};
  std::string_view rest = text;
  const std::string_view word = cut_first(rest, ',');
  const auto* known = std::find(std::begin(kLineWords), std::end(kLineWords), word);
  if (known == std::end(kLineWords)) {
    reason = "no line of a journal begins so";
    return false;
  }
  line.kind = static_cast<Kind>(known - std::begin(kLineWords));
  reason = "not a line '" + std::string(word) + "' as a journal has it";
  if (line.kind == Kind::header) return parse_header(text, rest, line, reason);
  if (line.kind == Kind::provenance) return parse_provenance(rest, line);
  if (line.kind == Kind::clock)
    return parse_numbers(rest, line.clock.shown_us, line.clock.unix_us) && check(line.clock) == Status::ok;
  if (line.kind == Kind::closed) return parse_closed(rest, line);
  if (line.kind == Kind::op) return parse_op(rest, line);
  if (line.kind == Kind::fired) return parse_fired(rest, line);
  if (line.kind == Kind::trigger) return parse_trigger(rest, line);
  if (line.kind == Kind::history) return parse_numbers(rest, line.history_steps, line.after_steps);
  if (line.kind == Kind::wrote) return parse_numbers(rest, line.sequence, line.last);
  if (line.kind == Kind::never) return parse_never(rest, line);
  if (line.kind == Kind::chunk) return parse_chunk(rest, line);
  if (line.kind == Kind::driver) return parse_driver(rest, line);
  if (line.kind == Kind::removed) {
    line.path_text = rest;
    return !rest.empty();
  }
  if (line.kind == Kind::overwritten) return text == word;
  if (line.kind == Kind::files_removed) return parse_canonical(rest, line.bytes);
  if (line.kind == Kind::unreceived)
    return parse_numbers(rest, line.first_frame, line.last_frame) && line.first_frame <= line.last_frame;
  if (line.kind == Kind::dumps_removed)
    return parse_numbers(rest, line.bytes, line.first_time, line.last_time);
  constexpr std::uint32_t kMostRecorders = 255;
  if (!parse_canonical(cut_first(rest, ','), line.recorder) || line.recorder >= kMostRecorders) return false;
  if (line.kind == Kind::from || line.kind == Kind::to) return parse_canonical(rest, line.sequence);
  if (rest.find(',') == rest.npos || !parse_canonical(cut_first(rest, ','), line.sequence)) return false;
  if (line.kind == Kind::forgotten) return parse_forgotten(rest, line);
  if (line.kind == Kind::digests) return parse_numbers(rest, line.last, line.bytes);
  if (line.kind == Kind::gap) {
    if (!parse_canonical(cut_first(rest, ','), line.last)) return false;
    line.causes = rest;
    return are_causes(rest);
  }
  if (line.kind == Kind::begun) return !rest.empty() && parse_path(rest, line) && line.path.timed;
  if (line.kind != Kind::written && line.kind != Kind::row) {
    if (rest.find(',') == rest.npos) return false;
    line.causes = cut_first(rest, ',');
    if (!are_causes(line.causes)) return false;
    if (line.kind == Kind::lost) return parse_path(rest, line);
  }
  if (rest.find(',') == rest.npos || !parse_canonical(cut_first(rest, ','), line.bytes)) return false;
  if (!parse_path(rest, line)) return false;
  if (line.kind == Kind::row) return line.path.timed && line.path.suffix.empty();
  if (line.kind == Kind::reduced)
    return line.path.timed && (line.path.suffix == ".csv" || line.path.suffix.empty());
  return rest.empty() || line.path.timed;
}

}  // namespace opdump::tool
