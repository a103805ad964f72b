#include "src/tool/read/journal/journal_line.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "opdump/base/status.hpp"
#include "opdump/base/text.hpp"
#include "opdump/format/journal_lines.hpp"
#include "opdump/impl/drain/journal.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {
namespace {

using Kind = JournalLine::Kind;

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

template <auto kField>
bool take_number(std::string_view text, JournalLine& line) {
  return parse_canonical(text, line.*kField);
}

/// Of what a line has in an object of its own.
template <auto kObject, auto kField>
bool take_number_of(std::string_view text, JournalLine& line) {
  return parse_canonical(text, (line.*kObject).*kField);
}

template <auto kObject, auto kField>
bool take_text_of(std::string_view text, JournalLine& line) {
  (line.*kObject).*kField = text;
  return true;
}

template <HeldFiring kHeld>
bool take_held(std::string_view text, JournalLine& line) {
  return parse_canonical(text, line.firing_counts.held[static_cast<std::size_t>(kHeld)]);
}

bool take_recorder(std::string_view text, JournalLine& line) {
  constexpr std::uint32_t kMostRecorders = 255;
  return parse_canonical(text, line.recorder) && line.recorder < kMostRecorders;
}

bool take_causes(std::string_view text, JournalLine& line) {
  line.causes = text;
  return are_causes(text);
}

bool take_path(std::string_view text, JournalLine& line) {
  line.path_text = text;
  return text.empty() || parse_journal_path(text, line.path);
}

bool take_file(std::string_view text, JournalLine& line) {
  line.path_text = text;
  return true;
}

bool take_model_id(std::string_view text, JournalLine& line) {
  std::uint32_t id = 0;
  const bool good = parse_canonical(text, id);
  line.never.model_id = line.firing.model_id = id;
  line.path.model_id = id;
  return good;
}

bool take_op(std::string_view text, JournalLine& line) {
  line.path.in_model = true;
  line.path.model = cut_first(text, '/');
  line.path.op = text;
  const std::string_view type = cut_first(text, '.');
  return is_sanitised(line.path.model) && is_sanitised(type) && is_sanitised(text);
}

/// The place of `word` among `words`, whose elements `word_of` tells the words of.
template <class Words, class Chosen, class WordOf>
bool take_word(const Words& words, std::string_view word, Chosen& chosen, const WordOf& word_of) {
  const auto* found = std::find_if(std::begin(words), std::end(words),
                                   [&](const auto& known) { return word_of(known) == word; });
  chosen = static_cast<Chosen>(found - std::begin(words));
  return found != std::end(words);
}

bool take_never(std::string_view text, JournalLine& line) {
  return take_word(kNeverKinds, text, line.never.cause, [](const NeverKind& known) { return known.word; });
}

bool take_fault(std::string_view text, JournalLine& line) {
  return take_word(kChunkFaultKinds, text, line.fault,
                   [](const ChunkFaultKind& known) { return known.word; });
}

bool take_trigger(std::string_view text, JournalLine& line) {
  return take_word(kTriggerWords, text, line.firing.cause, [](std::string_view known) { return known; });
}

/// Of a line `op` or `never`.
template <auto kLost, auto kNever>
bool take_step(std::string_view text, JournalLine& line) {
  return parse_canonical(text, line.lost_steps.*kLost) && parse_canonical(text, line.never.steps.*kNever);
}

bool take_names(std::string_view text, JournalLine& line) {
  if (std::count(text.begin(), text.end(), '/') < 2) return false;
  line.never.model = cut_first(text, '/');
  line.never.type = cut_first(text, '/');
  line.never.name = text;
  return is_sanitised(line.never.model) && is_sanitised(line.never.type);
}

bool take_call(std::string_view text, JournalLine& line) {
  line.driver_call = text;
  return is_sanitised(text);
}

bool take_code(std::string_view text, JournalLine& line) {
  const bool negative = text.starts_with('-');
  std::uint32_t size = 0;
  if (!parse_canonical(text.substr(negative ? 1 : 0), size) || size == 0) return false;
  line.driver_code = static_cast<std::int32_t>(negative ? 0 - size : size);
  return (line.driver_code < 0) == negative;
}

bool is_number(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefin+-.") == text.npos;
}

bool take_value(std::string_view text, JournalLine& line) {
  line.firing.value = text;
  return is_number(text);
}

bool take_limit(std::string_view text, JournalLine& line) {
  line.firing.limit = text;
  const bool has_limit = text.starts_with('<') || text.starts_with('>');
  return has_limit == has_limits(line.firing.cause) && (text.empty() || is_number(text.substr(1)));
}

/// What reads the fields of `kJournalLines`.
struct LineField {
  std::string_view name;
  bool (*take)(std::string_view text, JournalLine& line);
};

using Line = JournalLine;
constexpr LineField kLineFields[] = {
    {"AFTER", take_number<&Line::after_steps>},
    {"BUILD", take_text_of<&Line::provenance, &Provenance::build_id>},
    {"BYTES", take_number<&Line::bytes>},
    {"CALL", take_call},
    {"CAUSES", take_causes},
    {"CHUNKS", take_number<&Line::chunks>},
    {"CODE", take_code},
    {"CONFIG", take_text_of<&Line::provenance, &Provenance::config>},
    {"COOLDOWN", take_held<HeldFiring::cooldown>},
    {"CROWDED", take_held<HeldFiring::crowded>},
    {"CUT", take_number_of<&Line::firing_counts, &FiringCounts::cut>},
    {"FAULT", take_fault},
    {"FILE", take_file},
    {"FIRED", take_number_of<&Line::firing_counts, &FiringCounts::fired>},
    {"FIRINGS", take_held<HeldFiring::firings>},
    {"FIRST", take_step<&LostSteps::first, &StepRange::first>},
    {"FIRST_FRAME", take_number<&Line::first_frame>},
    {"HELD_BYTES", take_held<HeldFiring::bytes>},
    {"I", take_number_of<&Line::firing, &ToldFiring::trigger>},
    {"ID", take_model_id},
    {"LAST", take_step<&LostSteps::last, &StepRange::last>},
    {"LAST_FRAME", take_number<&Line::last_frame>},
    {"LIMIT", take_limit},
    {"LOOKS", take_number_of<&Line::firing_counts, &FiringCounts::looks>},
    {"MODEL", take_text_of<&Line::provenance, &Provenance::model>},
    {"N", take_number<&Line::bytes>},
    {"NAMES", take_names},
    {"NEVER", take_never},
    {"NEWEST", take_number<&Line::last_time>},
    {"OLDEST", take_number<&Line::first_time>},
    {"OP", take_op},
    {"OPDUMP", take_text_of<&Line::provenance, &Provenance::opdump>},
    {"PATH", take_path},
    {"R", take_recorder},
    {"RECORDS", take_number<&Line::sequence>},
    {"REDUCED", take_number_of<&Line::forgotten, &ForgottenRecords::reduced>},
    {"REFUSED", take_number<&Line::last>},
    {"RUNTIME", take_text_of<&Line::provenance, &Provenance::runtime>},
    {"S", take_number<&Line::sequence>},
    {"SEEN", take_number<&Line::steps_seen>},
    {"SHOWN", take_number_of<&Line::clock, &ClockStep::shown_us>},
    {"STEP", take_number_of<&Line::firing, &ToldFiring::step>},
    {"STEPS", take_number<&Line::history_steps>},
    {"T", take_number<&Line::last>},
    {"TIME", take_number_of<&Line::clock, &ClockStep::unix_us>},
    {"TRIGGER", take_trigger},
    {"UNCLEAR", take_number_of<&Line::forgotten, &ForgottenRecords::unclear>},
    {"UNREAD", take_number_of<&Line::firing_counts, &FiringCounts::unread>},
    {"VALUE", take_value},
    {"WHERE", take_text_of<&Line::firing, &ToldFiring::where>},
    {"WRITTEN", take_number_of<&Line::forgotten, &ForgottenRecords::written>},
};

/// Those that stand for as many numbers as a table has.
constexpr std::string_view kLineCounts[] = {"COUNTS", "LOSSES", "OP_COUNTS"};

constexpr const LineField* find_field(std::string_view name) {
  for (const LineField& field : kLineFields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

static_assert(
    [] {
      for (std::string_view form : std::span(kJournalLines).subspan(1)) {
        for (std::size_t at = form.find(','); at != form.npos; at = form.find(',')) {
          form.remove_prefix(at + 1);
          const std::string_view name = form.substr(0, form.find(','));
          if (find_field(name) == nullptr && std::ranges::find(kLineCounts, name) == std::end(kLineCounts))
            return false;
        }
      }
      return true;
    }(),
    "a field of kJournalLines has no reader");

/// Cuts the numbers of all `fields` off `rest`.
template <class Counts, class Fields>
bool take_counts(std::string_view& rest, bool more, Counts& counts, const Fields& fields) {
  std::size_t left = std::size(fields);
  for (const auto field : fields) {
    --left;
    if ((more || left != 0) && rest.find(',') == rest.npos) return false;
    const std::string_view text = more || left != 0 ? cut_first(rest, ',') : std::exchange(rest, {});
    if (!parse_canonical(text, counts.*field)) return false;
  }
  return true;
}

/// Reads the fields of `form`, as a line of `kJournalLines` has them behind its word.
bool take_fields(std::string_view form, std::string_view rest, JournalLine& line) {
  while (!form.empty()) {
    const std::string_view name = cut_first(form, ',');
    const bool more = !form.empty();
    const LineField* const field = find_field(name);
    if (field == nullptr) {
      const bool good = name == kLineCounts[0]   ? take_counts(rest, more, line.counts, kDumpCountFields)
                        : name == kLineCounts[1] ? take_counts(rest, more, line.forgotten.lost, kLossFields)
                                                 : take_counts(rest, more, line.op_counts, kOpCountFields);
      if (!good) return false;
      continue;
    }
    if (more && rest.find(',') == rest.npos) return false;
    if (!field->take(more ? cut_first(rest, ',') : rest, line)) return false;
  }
  return true;
}

/// What holds between the fields of a line.
bool is_sound(const JournalLine& line) {
  const bool names_file = line.path.timed && line.path.suffix.empty();
  switch (line.kind) {
    case Kind::provenance:
      return check(line.provenance) != Status::invalid_argument;
    case Kind::begun:
      return line.path.timed;
    case Kind::written:
      return line.path_text.empty() || line.path.timed;
    case Kind::row:
      return names_file;
    case Kind::reduced:
      return names_file || (line.path.timed && line.path.suffix == ".csv");
    case Kind::chunk:
      return line.fault != ChunkFault::other || !line.path_text.empty();
    case Kind::clock:
      return check(line.clock) == Status::ok;
    case Kind::fired:
      return !line.firing.where.empty();
    case Kind::removed:
      return !line.path_text.empty();
    case Kind::unreceived:
      return line.first_frame <= line.last_frame;
    default:
      return true;
  }
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
  const std::optional<Kind> kind = journal_kind(word);
  if (!kind) {
    reason = "no line of a journal begins so";
    return false;
  }
  line.kind = *kind;
  reason = "not a line '" + std::string(word) + "' as a journal has it";
  if (line.kind == Kind::header) return parse_header(text, rest, line, reason);
  std::string_view form = kJournalLines[static_cast<std::size_t>(line.kind)];
  cut_first(form, ',');
  return (!form.empty() || text == word) && take_fields(form, rest, line) && is_sound(line);
}

}  // namespace opdump::tool
