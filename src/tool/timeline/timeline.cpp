#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/human_text.hpp"
#include "src/tool/cli/interrupt.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/dump/lite_name.hpp"
#include "src/tool/dump/record_file.hpp"
#include "src/tool/dump/record_name.hpp"
#include "src/tool/flash/found_dump.hpp"
#include "src/tool/timeline/journal_track.hpp"
#include "src/tool/verify/dump_clocks.hpp"
#include "src/tool/verify/file_soundness.hpp"
#include "src/tool/verify/journal_reader.hpp"

namespace opdump::tool {
namespace {

constexpr char kTimelineHelp[] =
    R"(opdump timeline - writes when operators were dumped, and what was lost, for ui.perfetto.dev

usage: opdump timeline DUMP [-o FILE] [--overwrite]

  -o FILE      default: stdout
  --overwrite  FILE may be there already, and is replaced

DUMP is a directory with all that is below it, or a flash image. FILE is JSON, which ui.perfetto.dev and
chrome://tracing open. Times are those of the dump, in microseconds since 1970; where
a journal says that the clock was set later, what was captured before is moved to the time that it was.

  a process      a device, of several boots one for each
  a thread       a recorder; where no journal tells of the records, a stream
  op             a record, from its time stamp to that of the recorder's next one: its 'dur' is that distance and no
                 running time, as "dur_is_gap" says
  statistics, reduced
                 the same of a record of which only statistics were written
  drop           records that were lost because there was no room
  wait           records that were lost because there was no room within the limit
  lost           records that were lost for other causes. What has no time stamp stands at the time of what the
                 recorder told before
  never, driver, removed, closed, ...
                 what else the journal tells, at the time of its latest record
  step           from the first to the last record of a step
  bytes written  how many bytes each recorder had written by then

  opdump timeline dump -o trace.json

exit status
  0  everything was written
  1  something could not be read or written, or a record's file is not whole; stderr says which, and the rest is
     written
  2  the command line is wrong
)";

/// A record of which no journal tells.
struct LooseRecord {
  std::uint64_t process = 0;
  std::uint64_t stream = 0;
  std::uint64_t at = 0;
  std::string name;
  std::string model;
  std::optional<std::uint64_t> step;
  std::string path;
  std::uint64_t bytes = 0;

  /// Files with one tensor each belong to one record.
  bool continues(const LooseRecord& before) const {
    return process == before.process && stream == before.stream && at == before.at && name == before.name;
  }
};

std::string directory_of(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

/// What tells the form of a record's file, as `problem_of` takes it; nothing when the name is not a record's.
std::optional<std::string_view> record_suffix(const std::string& real_name) {
  const std::string_view name = real_name;
  if (const std::optional<LiteName> lite = parse_lite_name(name)) return name.substr(lite->op.size());
  if (parse_tensor_name(name)) return ".npy";
  if (name.ends_with(".csv") && find_record_name(name)) return ".csv";
  return parse_record_name(name) ? std::optional(std::string_view()) : std::nullopt;
}

class Timeline {
 public:
  Timeline(const FileList& files, TraceWriter& trace) : files_(files), trace_(trace), clocks_(files) {}

  /// False when something could not be read.
  bool write() {
    std::uint64_t bytes = 0;
    for (const FoundFile& file : files_) {
      JournalName name;
      if (!parse_journal_name(file.real_name, name)) continue;
      journals_.push_back(file);
      struct stat status {};
      if (stat(file.path.c_str(), &status) == 0) bytes += static_cast<std::uint64_t>(status.st_size);
    }
    Progress progress(bytes);
    for (const FoundFile& journal : journals_) read_journal(journal, progress);
    progress.wipe();
    write_loose();
    spans_.write(trace_);
    check_files();
    return good_ && !interrupted();
  }

  const TimelineSums& sums() const { return sums_; }

  /// Whether there was neither a record nor a journal.
  bool found_nothing() const { return sums_.records == 0 && journals_.empty(); }

 private:
  static constexpr std::uint64_t kJournalThreads = 256;  // more than a journal has recorders
  static constexpr std::uint64_t kBootProcesses = 100000;

  void fail(const std::string& message) {
    say("opdump timeline: " + message);
    good_ = false;
  }

  /// Names it when it comes up first.
  std::uint64_t process_of(std::optional<std::uint32_t> boot, std::uint64_t device) {
    const std::uint64_t process = device + (boot ? (std::uint64_t{*boot} + 1) * kBootProcesses : 0);
    if (named_.insert(process).second)
      trace_.name_process(
          process, "device " + std::to_string(device) + (boot ? ", boot " + std::to_string(*boot) : ""));
    return process;
  }

  void read_journal(const FoundFile& file, Progress& progress) {
    JournalName name;
    parse_journal_name(file.real_name, name);
    JournalReader reader;
    if (!reader.open(file.path)) return fail(file.path + ": " + reader.error());
    const std::string label = journals_.size() == 1 ? "" : ", journal " + std::to_string(name.id);
    JournalTrack track(process_of(boot_of(file.path), name.device), 1 + next_journal_++ * kJournalThreads,
                       label, name.id, read_clock_steps(file.path), trace_, spans_, sums_);
    for (;;) {
      const JournalReader::Next next = reader.next();
      if (next == JournalReader::Next::end || interrupted()) break;
      if (next == JournalReader::Next::failed) {
        fail(file.path + ": " + reader.error());
        break;
      }
      progress.add(reader.line().size() + 1);
      if (next == JournalReader::Next::torn) {
        progress.say("opdump timeline: " + file.path + ": the last line is not whole and is left out");
        break;
      }
      JournalLine line;
      std::string reason = "a line longer than any a journal has";
      if (next == JournalReader::Next::line && parse_journal_line(reader.line(), line, reason)) {
        track.take(line);
      } else {
        progress.wipe();
        fail(file.path + ": line " + std::to_string(reader.number()) + ": " + reason);
      }
    }
    track.finish();
    if (track.tells_records()) told_.insert(directory_of(file.path));
  }

  /// Whether a journal above the file tells of every record.
  bool is_told(const std::string& path) const {
    for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash != 0;
         slash = path.rfind('/', slash - 1)) {
      if (told_.count(path.substr(0, slash + 1)) != 0) return true;
    }
    return false;
  }

  std::vector<LooseRecord> loose_records() {
    std::vector<LooseRecord> records;
    for (const FoundFile& file : files_) {
      const std::optional<RecordName> name = find_record_name(file.real_name);
      if (!name || name->name_only || is_told(file.path)) continue;
      LooseRecord record;
      const std::string real = real_path(directory_of(file.path));
      std::uint64_t device = 0;
      if (const std::optional<RecordPlace> place = parse_record_place(real)) {
        device = device_of(real, *place);
        record.model = printable(place->model);
        record.step = place->step;
      }
      record.process = process_of(boot_of(file.path), device);
      record.stream = name->stream;
      record.at = clocks_.time_of(file, name->unix_us);
      record.name = printable(std::string(name->type) + ' ' + std::string(name->name));
      record.path = file.path;
      struct stat status {};
      if (stat(file.path.c_str(), &status) == 0) record.bytes = static_cast<std::uint64_t>(status.st_size);
      records.push_back(std::move(record));
    }
    std::stable_sort(records.begin(), records.end(), [](const LooseRecord& a, const LooseRecord& b) {
      return std::tie(a.process, a.stream, a.at, a.name) < std::tie(b.process, b.stream, b.at, b.name);
    });
    std::vector<LooseRecord> joined;
    for (LooseRecord& record : records) {
      if (!joined.empty() && record.continues(joined.back())) {
        joined.back().bytes += record.bytes;
      } else {
        joined.push_back(std::move(record));
      }
    }
    return joined;
  }

  void write_loose() {
    const std::uint64_t first_thread = 1 + next_journal_ * kJournalThreads;
    const std::vector<LooseRecord> records = loose_records();
    for (std::size_t i = 0; i < records.size(); ++i) {
      const LooseRecord& record = records[i];
      const TraceWriter::Track track = {record.process, first_thread + record.stream};
      const auto same = [&](std::size_t other) {
        return other < records.size() && records[other].process == record.process &&
               records[other].stream == record.stream;
      };
      if (i == 0 || !same(i - 1)) trace_.name_thread(track, "stream " + std::to_string(record.stream));
      JsonWriter& json =
          trace_.slice(track, record.at, same(i + 1) ? records[i + 1].at - record.at : 0, "op", record.name);
      if (!record.model.empty()) json.key("model").text(record.model);
      if (record.step) json.key("step").number(*record.step);
      json.key("bytes")
          .number(record.bytes)
          .key("file")
          .text(printable(record.path))
          .key("dur_is_gap")
          .flag(true);
      trace_.end();
      if (record.step) spans_.add(record.process, record.model, *record.step, record.at);
      ++sums_.records;
    }
  }

  /// Tells which files are not whole, though their records are in the trace.
  void check_files() {
    Progress progress(files_.size(), "checking files");
    RecordFile file;
    for (const FoundFile& found : files_) {
      if (interrupted()) return;
      progress.add();
      const std::optional<std::string_view> suffix = record_suffix(found.real_name);
      const std::string problem = suffix ? problem_of(file, found.path, *suffix) : std::string();
      if (problem.empty()) continue;
      progress.wipe();
      fail(problem.starts_with(found.path) ? problem : found.path + ": " + problem);
    }
  }

  const FileList& files_;
  TraceWriter& trace_;
  DumpClocks clocks_;
  StepSpans spans_;
  TimelineSums sums_;
  std::vector<FoundFile> journals_;
  std::set<std::string> told_;
  std::set<std::uint64_t> named_;
  std::uint64_t next_journal_ = 0;
  bool good_ = true;
};

bool is_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

int run_timeline(Words words) {
  std::optional<std::string> output;
  bool overwrite = false;
  std::vector<std::string> paths;
  const Option options[] = {{"-o", "--output", nullptr, &output},
                            {"--overwrite", {}, &overwrite},
                            {"-d", "--dump_file", nullptr, nullptr, &paths}};
  if (const std::optional<int> end = read_options({"timeline", kTimelineHelp, options}, words, paths))
    return *end;
  if (paths.empty()) return usage_error("timeline", "a DUMP is missing");
  if (paths.size() > 1) return usage_error("timeline", "one DUMP at a time, not also '" + paths[1] + "'");
  if (output && output->empty()) return usage_error("timeline", "'-o' needs a file");
  catch_interrupts();
  bool good = true;
  const auto fail = [&good](const std::string& message) {
    say("opdump timeline: " + message);
    good = false;
  };
  if (output && !overwrite && is_file(*output)) {
    fail(*output + ": is there already; '--overwrite' replaces it");
    return kExitFailed;
  }
  const SearchReport report = {fail, [](const std::string& message) { say("opdump timeline: " + message); }};
  FoundDump dump;
  dump.add(paths[0], true, report);
  ExportFile file;
  if (output && !file.create_at(*output)) {
    fail(file.error());
    return kExitFailed;
  }
  TraceWriter trace(output ? &file : nullptr);
  Timeline timeline(dump.files(), trace);
  good &= timeline.write();
  dump.tell_missing(report);
  const TimelineSums& sums = timeline.sums();
  if (interrupted()) die_of_interrupt();
  if (timeline.found_nothing()) {
    if (good) fail(paths[0] + ": there is neither a record nor a journal");
    return kExitFailed;
  }
  const bool written = trace.finish() && (!output || file.commit());
  if (!written) fail(file.error());
  if (output && written)
    print_line(count_text(sums.records, "record") + ", " + std::to_string(sums.reduced) +
               " of them reduced, " + std::to_string(sums.lost) + " lost, written to " + *output);
  return good ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
