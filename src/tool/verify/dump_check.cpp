#include "src/tool/verify/dump_check.hpp"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <algorithm>
#include <memory>
#include <vector>

#include "opdump/format/digest_table.hpp"
#include "opdump/format/statistic_table.hpp"
#include "platform/posix/tree/tree_files.hpp"
#include "src/config/refusal.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/read/dump/csv_file.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/mapped_file.hpp"
#include "src/tool/read/dump/record_name.hpp"
#include "src/tool/read/journal/dump_provenance.hpp"
#include "src/tool/read/journal/journal_reader.hpp"
#include "src/tool/verify/file_soundness.hpp"
#include "src/tool/verify/op_steps.hpp"

namespace opdump::tool {

std::string MappedNames::find(const std::string& full) {
  struct stat status {};
  if (look_at(full, status) || (errno != ENOENT && errno != ENAMETOOLONG)) return full;
  const std::size_t slash = full.rfind('/');
  const ByRealName& names = in(full.substr(0, slash));
  const auto found = names.find(full.substr(slash + 1));
  return found == names.end() ? full : full.substr(0, slash + 1) + found->second;
}

const MappedNames::ByRealName& MappedNames::in(const std::string& directory) {
  constexpr std::size_t kMostMappings = 16;
  const auto found = mappings_.find(directory);
  if (found != mappings_.end()) return found->second;
  if (mappings_.size() == kMostMappings) mappings_.clear();
  MappingFile mapping;
  // A row that cannot be read is told by the walk.
  static_cast<void>(mapping.read(path_of(directory, kMappingFileName)));
  ByRealName& names = mappings_[directory];
  for (const auto& [file, real] : mapping.rows()) names[real] = file;
  return names;
}

TableRows rows_of(const std::string& path) {
  MappedFile file;
  if (!file.open(path)) return {};
  const std::string_view text = as_text(file.bytes());
  const std::size_t header_end = text.find('\n');
  if (header_end == text.npos) return {};
  const std::string_view rows = text.substr(header_end + 1);
  return {rows.size(), static_cast<std::uint64_t>(std::count(rows.begin(), rows.end(), '\n'))};
}

void for_each_row(const std::string& file, std::string_view path,
                  const std::function<void(const std::string& row_path)>& use) {
  // Type, name, task, stream, time, role and index; no table tells the format, which each file's name has.
  constexpr std::size_t kNamed = 7;
  CsvFile table;
  std::vector<std::string> cells;
  if (!table.open(file) || !table.next(cells)) return;
  while (table.next(cells)) {
    if (cells.size() < kNamed) continue;
    std::string row_path(path.substr(0, path.rfind('/') + 1));
    for (std::size_t i = 0; i < kNamed; ++i) row_path += cells[i] + '.';
    use(row_path + "ND.npy");
  }
}

bool is_table(std::string_view path) {
  return path.substr(path.rfind('/') + 1) == kStatisticTableName;
}

namespace {

/// What dumps of MindSpore have besides tensors, those of whole graphs at the top and others in a rank's
/// folder; no journal names it.
bool is_extra(std::string_view directory, std::string_view path) {
  if (path.starts_with("acl_dump_") && path.ends_with(".json")) return true;
  while (directory.ends_with('/')) directory.remove_suffix(1);
  if (!directory.substr(directory.rfind('/') + 1).starts_with("rank_")) return false;
  return path.starts_with(".dump_metadata/") || path.starts_with("execution_order/") ||
         path.find("/constants/") != path.npos || path.ends_with(".json");
}

/// In the place of a suffix: the file may hold anything.
constexpr std::string_view kNoFormat = ".*";

/// Stands for the cause of a removal, as for that of a refusal.
constexpr std::string_view kQuotaWord = kind_of(LossCause::quota).word;

/// The name of an operator of the card's model that is nearly the same; empty: no card has one.
std::string closest_name(const BesideCards::Cards& cards, std::uint64_t device, const std::string& model,
                         const std::string& name) {
  std::vector<std::string_view> names;
  for (const std::unique_ptr<BesideCard>& card : cards) {
    if (card->name.device != device ||
        (card->model().name != model && sanitised(card->model().name) != model))
      continue;
    for (const RunOp& op : card->model().ops) names.push_back(op.desc.name);
  }
  return std::string(config::closest(name, names));
}

}  // namespace

DumpCheck::DumpCheck(VerifyContext& context, std::string directory)
    : JournalFindings(journal_, context.findings),
      context_(context),
      directory_(std::move(directory)),
      triggers_(*this) {}

void DumpCheck::check(const std::vector<std::string>& journal_names) {
  for (const std::string& name : journal_names) read_removals(name);
  for (const std::string& name : journal_names) check_journal(name);
  check_tables();
  walk({});
  tell_counted_files();
  losses_.tell(context_.findings);
  const BesideCards::Cards& cards = context_.cards.in(directory_);
  never_.tell([&](std::uint64_t device, const std::string& model,
                  const std::string& name) { return closest_name(cards, device, model, name); },
              context_.findings);
  if (context_.findings.complete()) op_steps_.tell(context_.findings);
  if (context_.wanted == nullptr) return;
  if (context_.wants_cards) context_.wanted->take(cards);
  known_.sort();
  const auto has = [&](std::uint64_t device) { return devices_.has(device); };
  context_.is_of_wanted |= context_.wanted->is_of(has);
  context_.wanted->find_absent(known_, directory_, has, context_.findings);
  if (never_.empty() && context_.wanted->is_of(has)) context_.wanted->find_misses(known_, context_.findings);
}

/// What was removed or overwritten is told behind the line that says it was written.
void DumpCheck::read_removals(const std::string& name) {
  using Kind = JournalLineKind;
  JournalReader reader;
  JournalLine line;
  JournalName journal;
  std::string reason;
  static_cast<void>(parse_journal_name(name, journal));
  if (!reader.open(path_of(directory_, name))) return;  // told when it is checked
  bool names_files = false;
  for (JournalReader::Next next = reader.next(); next != JournalReader::Next::end; next = reader.next()) {
    if (next == JournalReader::Next::failed) return;
    if (next != JournalReader::Next::line) continue;
    const std::optional<Kind> kind = journal_kind(reader.line());
    names_files |= kind == Kind::written || kind == Kind::row;
    if (kind == Kind::forgotten || kind == Kind::files_removed) forgets_.insert(path_of(directory_, name));
    if (kind != Kind::files_removed && kind != Kind::overwritten && kind != Kind::removed) continue;
    if (!parse_journal_line(reader.line(), line, reason)) continue;
    if (kind == Kind::files_removed) {
      devices_[journal.device].removed += line.bytes;
      continue;
    }
    if (kind == Kind::overwritten) {
      OverwrittenStart& cut = cuts_[name];
      cut.may_be = true;
      cut.records = names_files;
      continue;
    }
    removed_.insert(path_hash(line.path_text));
    ++devices_[journal.device].removed;
  }
}

void DumpCheck::check_journal(const std::string& name) {
  JournalSummary summary;
  // The caller has picked such names only.
  static_cast<void>(parse_journal_name(name, summary.name));
  journal_device_ = summary.name.device;
  journal_ = summary.path = path_of(directory_, name);
  const std::unique_ptr<JournalCheck> check(new JournalCheck(summary.name.device, *this));
  OverwrittenStart none;
  const auto cut = cuts_.find(name);
  cut_ = cut == cuts_.end() ? &none : &cut->second;
  digested_ = digest_bytes_ = 0;
  has_history_ = false;
  history_wrote_.reset();
  triggers_.clear();
  provenance_.clear();
  if (cut_->may_be) check->expect_cut(cut_->records);
  JournalReader reader;
  if (!reader.open(journal_)) {
    on_problem(0, "cannot be read: " + reader.error());
  } else {
    JournalLine line;
    std::string reason;
    for (bool more = true; more;) {
      switch (reader.next()) {
        case JournalReader::Next::line:
          if (parse_journal_line(reader.line(), line, reason)) {
            check->take(line, reader.number());
          } else {
            check->take_damaged(reader.number(), reason);
          }
          context_.progress.add(reader.line().size() + 1);
          break;
        case JournalReader::Next::too_long:
          check->take_damaged(reader.number(), "longer than any line of a journal");
          break;
        case JournalReader::Next::torn:
          check->take_damaged(reader.number(), "the last line is cut short");
          break;
        case JournalReader::Next::failed:
          check->take_damaged(reader.number(), "cannot be read: " + reader.error());
          more = false;
          break;
        case JournalReader::Next::end:
          more = false;
          break;
      }
    }
    if (!check->closed()) not_final(*check);
  }
  cut_->tell(journal_, !check->records(), context_.findings);
  summary.records = check->records();
  summary.closed = check->closed();
  summary.written = has_history_ ? history_wrote_.value_or(0) : check->written();
  summary.lost = check->lost();

  JournaledDevice& device = devices_[summary.name.device];
  device.has_journal = true;
  device.all_closed &= summary.closed;
  device.is_cut |= cut_->may_be;
  if (!summary.records) {
    device.has_gaps = true;
    (has_history_ ? device.has_history : device.counts_rows) = true;
    device.unnamed += summary.written - (has_history_ ? 0 : check->reduced());
    // Until its end, or a crash, nothing tells what a history has written.
    device.is_unsure |= has_history_ && !summary.closed && !history_wrote_;
  }
  triggers_.tell(summary.closed);
  check_digests(name, summary, device);
  cut_ = nullptr;
  context_.journals.push_back(std::move(summary));
}

void DumpCheck::on_cut(std::uint32_t recorder, std::uint32_t next) {
  cut_->lines = true;
  cut_->complete_from[recorder] = next;
}

void DumpCheck::on_cut_counts(std::uint32_t written, std::uint32_t lost) {
  cut_->counted = true;
  cut_->written = written;
  cut_->lost = lost;
  if (context_.wanted != nullptr) known_.add_nameless(std::uint64_t{written} + lost);
}

void DumpCheck::add_file(FindingKind kind, bool wrong, const std::string& path, const std::string& message) {
  context_.findings.add(kind, wrong, {path_of(directory_, path), message},
                        {{"path", path_of(directory_, path)}, {"message", message}});
}

void DumpCheck::on_written(std::uint32_t recorder, std::uint32_t sequence, const JournalPath& path,
                           std::string_view path_text, std::uint64_t bytes) {
  if (context_.wanted != nullptr) known_.add(path);
  see(path);
  count(path, &RecordCounts::written);
  if (!check_file(recorder, sequence, path_text, bytes, &path))
    add_loss(FindingKind::removed, recorder, sequence, kQuotaWord, &path);
}

void DumpCheck::on_reduced(std::uint32_t recorder, std::uint32_t sequence, std::string_view causes,
                           const JournalPath& path, std::string_view path_text, std::uint64_t bytes) {
  add_loss(FindingKind::reduced, recorder, sequence, causes, &path);
  count(path, &RecordCounts::written);
  count(path, &RecordCounts::reduced);
  if (path.suffix.empty()) return add_row(path_text, bytes);
  if (!check_file(recorder, sequence, path_text, bytes, &path))
    add_loss(FindingKind::removed, recorder, sequence, kQuotaWord, &path);
}

void DumpCheck::on_row(const JournalPath& path, std::string_view path_text, std::uint64_t bytes) {
  if (context_.wanted != nullptr) known_.add(path);
  if (context_.wanted != nullptr) known_.content(path.record).statistics = true;
  see(path);
  count(path, &RecordCounts::written);
  add_row(path_text, bytes);
}

void DumpCheck::add_row(std::string_view path_text, std::uint64_t bytes) {
  const std::string_view directory = path_text.substr(0, path_text.rfind('/') + 1);
  TableRows& rows = tables_[std::string(directory).append(kStatisticTableName)];
  rows.bytes += bytes;
  ++rows.count;
}

/// A table holds at least the rows that the journals tell of; others may have appended to it too.
void DumpCheck::check_tables() {
  for (const auto& [path, told] : tables_) {
    listed_.insert(path_hash(path));
    struct stat status {};
    const bool there = look_at(path_of(directory_, path), status);
    const bool gone = !there && errno == ENOENT;
    const std::uint64_t rows = there ? rows_of(path_of(directory_, path)).bytes : 0;
    if (!cuts_.empty() && (gone || (there && rows < told.bytes))) {
      const std::string message = gone ? "gone with all its rows" : "its first rows are gone";
      context_.findings.add_overwritten({{"path", path_of(directory_, path)}, {"message", message}}, 0);
      context_.findings.add_row(FindingKind::overwritten, {path_of(directory_, path), message});
    } else if (rows < told.bytes && (there || gone) && removed_.count(path_hash(path)) != 0) {
      add_file(FindingKind::removed, true, path, gone ? "with all its rows" : "with its first rows");
    } else if (!there) {
      add_file(FindingKind::missing, true, path, errno == ENOENT ? "" : strerror(errno));
    } else if (rows < told.bytes) {
      add_file(FindingKind::bad_file, true, path,
               "has " + std::to_string(rows) + " bytes of rows behind its header, and " +
                   std::to_string(told.bytes) + " were written");
    } else {
      ++context_.files;
      context_.bytes += static_cast<std::uint64_t>(status.st_size);
    }
  }
}

void DumpCheck::on_digests(std::uint32_t count, std::uint64_t bytes) {
  digested_ += count;
  digest_bytes_ += bytes;
}

/// The file of digests beside the journal `name`, if there is or should be one.
void DumpCheck::check_digests(const std::string& name, const JournalSummary& summary,
                              JournaledDevice& device) {
  constexpr std::string_view kJournal = ".journal";
  const std::string file = name.substr(0, name.size() - kJournal.size()) + std::string(kDigestSuffix);
  struct stat status {};
  if (!look_at(path_of(directory_, file), status)) {
    if (digested_ == 0) return;
    if (cut_->may_be) {
      context_.findings.add_overwritten({{"path", path_of(directory_, file)}, {"message", "gone"}},
                                        digested_);
      context_.findings.add_row(FindingKind::overwritten, {path_of(directory_, file), "gone"});
    } else {
      add_file(FindingKind::missing, true, file, errno == ENOENT ? "" : strerror(errno));
      known_.add_nameless(digested_);
    }
    return;
  }
  listed_.insert(path_hash(file));
  MappedFile digests;
  if (!digests.open(path_of(directory_, file)))
    return add_file(FindingKind::bad_file, true, file, digests.error());
  const bool forgets = forgets_.contains(journal_);
  const std::uint64_t found = read_digests(file, digests.bytes(), cut_->may_be || forgets || !summary.closed);
  device.found += summary.records ? 0 : found;
  ++context_.files;
  context_.bytes += digests.bytes().size();
  if (!summary.records) return;
  const std::string there = count_text(found, "record") + " in " + count_text(digests.bytes().size(), "byte");
  if (found >= digested_ && digests.bytes().size() >= digest_bytes_) return;
  if (forgets && digests.bytes().size() >= digest_bytes_) {
    const std::uint64_t nameless = digested_ - found;
    add_file(FindingKind::removed, true, file,
             "what named the operators of " + count_text(nameless, "record") + " in it");
    known_.add_nameless(nameless);
  } else if (cut_->may_be) {
    context_.findings.add_overwritten({{"path", path_of(directory_, file)}, {"message", there}},
                                      digested_ - std::min(found, digested_));
    context_.findings.add_row(FindingKind::overwritten,
                              {path_of(directory_, file), "its first digests are gone"});
  } else {
    add_file(FindingKind::bad_file, true, file,
             "has " + there + ", and the journal tells of " + count_text(digested_, "record") + " in " +
                 count_text(digest_bytes_, "byte"));
    known_.add_nameless(digested_ - std::min(found, digested_));
  }
}

/// Whether a journal tells so. A name that was too long is told as its number, also where `mapping.csv` has
/// gone with the last file beside it.
bool DumpCheck::is_removed(std::string_view path) {
  if (removed_.count(path_hash(path)) != 0) return true;
  const std::size_t name = path.rfind('/') + 1;
  char number[posix::kMaxShortNameBytes];
  char* const end = posix::put_short_name(number, path.substr(name));
  return removed_.count(path_hash(std::string(path.substr(0, name)).append(number, end))) != 0;
}

/// Whether another journal than the one being read was shortened: it may have told of any removal.
bool DumpCheck::others_forget() const {
  return forgets_.size() > forgets_.count(journal_);
}

/// False when the file was removed to make room.
bool DumpCheck::check_file(std::uint32_t recorder, std::uint32_t sequence, std::string_view path_text,
                           std::uint64_t bytes, const JournalPath* path) {
  listed_.insert(path_hash(path_text));
  const std::string text(path_text);
  const std::string file = names_.find(path_of(directory_, text));
  struct stat status {};
  if (!look_at(file, status)) {
    const bool gone = errno == ENOENT || errno == ENAMETOOLONG || errno == ENOTDIR;
    const std::string_view below = std::string_view(file).substr(path_of(directory_, {}).size());
    if (gone && (is_removed(below) || others_forget())) return false;
    if (gone && cut_->takes(recorder, sequence)) return true;
    add_file(FindingKind::missing, true, text, gone ? "" : strerror(errno));
    return true;
  }
  cut_->there.insert(recorder);
  if (!S_ISREG(status.st_mode)) {
    add_file(FindingKind::bad_file, true, text, "not a regular file");
  } else if (static_cast<std::uint64_t>(status.st_size) != bytes) {
    add_file(
        FindingKind::bad_file, true, text,
        "has " + std::to_string(status.st_size) + " bytes, and " + std::to_string(bytes) + " were written");
  } else if (const std::string problem =
                 context_.quick ? ""
                                : problem_of(context_.file, file, path == nullptr ? kNoFormat : path->suffix);
             !problem.empty()) {
    add_file(FindingKind::bad_file, true, text, problem);
  } else {
    ++context_.files;
    context_.bytes += bytes;
    if (path != nullptr && context_.wanted != nullptr && !context_.quick) see_content(*path);
  }
  return true;
}

void DumpCheck::on_lost(std::uint32_t recorder, std::uint32_t sequence, std::string_view causes,
                        const JournalPath* path) {
  add_loss(FindingKind::lost, recorder, sequence, causes, path);
  if (path != nullptr) count(*path, &RecordCounts::lost);
}

ToldRecords* DumpCheck::records_of(const JournalPath& path) {
  if (context_.by_op == nullptr) return nullptr;
  return &(*context_.by_op)[{std::string(path.in_model ? path.model : ""), std::string(path.op)}];
}

void DumpCheck::count(const JournalPath& path, std::uint64_t RecordCounts::*what) {
  if (ToldRecords* const records = records_of(path)) ++(records->lines.*what);
}

void DumpCheck::add_loss(FindingKind kind, std::uint32_t recorder, std::uint32_t sequence,
                         std::string_view causes, const JournalPath* path) {
  if (path != nullptr) see(*path);
  losses_.add(kind, journal_, recorder, sequence, causes, path, context_.findings);
  if (context_.wanted == nullptr || kind == FindingKind::removed) return;
  if (path == nullptr) {
    known_.add_nameless(1);
  } else {
    known_.add(*path);
  }
}

void DumpCheck::on_gap(std::uint32_t recorder, std::uint32_t first, std::uint32_t last,
                       std::string_view causes) {
  if (context_.wanted != nullptr) known_.add_nameless(last - first + 1);
  JournalFindings::on_gap(recorder, first, last, causes);
}

void DumpCheck::on_op(const JournalLine& line) {
  const OpCounts& counts = line.op_counts;
  if (ToldRecords* const records = records_of(line.path)) {
    records->sessions.written += counts.wanted - std::min(counts.wanted, counts.lost());
    records->sessions.reduced += counts.degraded;
    records->sessions.lost += counts.lost();
  }
  JournalFindings::on_op(line);
}

void DumpCheck::on_provenance(const Provenance& provenance) {
  // A journal has it twice.
  const std::string text = provenance_text(provenance);
  if (text == provenance_) return;
  provenance_ = text;
  context_.builds.emplace(provenance.build_id);
  JournalFindings::on_provenance(provenance);
}

void DumpCheck::on_history(std::uint32_t, std::uint32_t) {
  note_history();
}

/// Its other lines tell of a history too, of which a log that went round may have taken the line that says so.
void DumpCheck::note_history() {
  has_history_ = true;
  known_.add_history(journal_device_);
}

void DumpCheck::on_fired(const ToldFiring& firing, std::uint32_t forgotten) {
  note_history();
  triggers_.add_firing(firing, forgotten);
}

void DumpCheck::on_trigger(std::uint64_t number, const ToldFiring& trigger, const FiringCounts& counts) {
  note_history();
  triggers_.add_counts(number, trigger, counts, cut_->may_be);
}

void DumpCheck::on_wrote(std::uint32_t records, std::uint32_t lost) {
  note_history();
  history_wrote_ = records;
  if (lost != 0) refused_by_sink(lost);
}

void DumpCheck::on_chunk(const JournalLine& line) {
  constexpr std::string_view kOutside = "../";
  if (line.fault != ChunkFault::other) {
    JournalFindings::on_chunk(line);
  } else if (!line.path_text.starts_with(kOutside)) {
    check_other(line);
  }  // what lies outside of this directory is none of its dump
}

void DumpCheck::on_untold(std::uint64_t number, std::uint32_t untold, const DumpCounts& counts) {
  if (context_.wanted != nullptr) known_.add_nameless(untold);
  JournalFindings::on_untold(number, untold, counts);
}

void DumpCheck::on_forgotten(const JournalLine& what, bool names_files) {
  if (context_.wanted != nullptr)
    known_.add_nameless(std::uint64_t{what.forgotten.written} + what.forgotten.all_lost());
  JournalFindings::on_forgotten(what, names_files);
}

/// Where no line names a file, they are counted with those that are there.
void DumpCheck::on_files_removed(std::uint64_t count, bool names_files) {
  if (names_files) files_removed(count);
}

/// Notes each record, and returns how many there are.
std::uint64_t DumpCheck::read_digests(const std::string& name, Bytes file, bool may_be_cut) {
  const auto note = [this](const DigestedPath& record) {
    if (context_.wanted != nullptr) known_.add(record.path);
    if (context_.wanted != nullptr) known_.content(record.path.record).digests = true;
    see(record.path);
    if (never_.wants_roles(journal_device_, record.path))
      never_.see_roles(journal_device_, record.path, record.has_inputs, record.has_outputs);
  };
  const auto tell = [&](std::string_view problem) {
    add_file(FindingKind::bad_file, true, name, std::string(problem));
  };
  return read_digested(file, journal_device_, may_be_cut, {note, tell});
}

void DumpCheck::on_never(const NeverCaptured& what) {
  never_.add(journal_device_, journal_, what);
}

/// A file that came whole and is not a record.
void DumpCheck::check_other(const JournalLine& line) {
  constexpr std::uint32_t kNoRecorder = JournalCheck::kMostRecorders;
  if (!check_file(kNoRecorder, 0, line.path_text, line.bytes, nullptr))
    add_file(FindingKind::removed, true, std::string(line.path_text), causes_text(kQuotaWord));
}

void DumpCheck::tell_counted_files() {
  devices_.tell(
      {.file = [this](FindingKind kind, std::uint64_t device,
                      const std::string& text) { add_file(kind, true, std::to_string(device), text); },
       .nameless =
           [this](std::uint64_t records) {
             if (context_.wanted != nullptr) known_.add_nameless(records);
           },
       .overwritten =
           [this](std::uint64_t device, const std::string& text, std::uint64_t records) {
             const std::string path = path_of(directory_, std::to_string(device));
             context_.findings.add_overwritten({{"path", path}, {"message", text}}, records);
             context_.findings.add_row(FindingKind::overwritten, {path, text});
           }});
}

void DumpCheck::check_unnamed(JournaledDevice& device, const std::string& path, std::string_view suffix) {
  const std::string full = path_of(directory_, path);
  ++device.found;
  if (const std::string problem = context_.quick ? "" : problem_of(context_.file, full, suffix);
      !problem.empty())
    return add_file(FindingKind::bad_file, true, path, problem);
  ++context_.files;
  struct stat status {};
  if (look_at(full, status)) context_.bytes += static_cast<std::uint64_t>(status.st_size);
}

/// The rows that no line names are records; those of a history are not counted.
void DumpCheck::count_rows(JournaledDevice& device, const std::string& path, const std::string& real_path,
                           bool listed) {
  const auto told = tables_.find(real_path);
  const std::uint64_t named = told == tables_.end() ? 0 : told->second.count;
  const std::uint64_t rows = rows_of(path_of(directory_, path)).count;
  device.is_unsure |= device.has_history && device.counts_rows;
  if (device.counts_rows) {
    device.has_rows = true;
    device.found += rows - std::min(rows, named);
    if (context_.wanted != nullptr || !never_.empty()) see_rows(path, real_path);
  }
  if (listed) return;
  ++context_.files;
  struct stat status {};
  if (look_at(path_of(directory_, path), status))
    context_.bytes += static_cast<std::uint64_t>(status.st_size);
}

/// Tells what the rows of a table show of what is said to be missing.
void DumpCheck::see_rows(const std::string& path, const std::string& real_path) {
  for_each_row(path_of(directory_, path), real_path, [this](const std::string& row_path) {
    JournalPath parsed;
    if (!parse_journal_path(row_path, parsed)) return;
    see_file(row_path, parsed);
    if (context_.wanted != nullptr) known_.add(parsed);
    if (context_.wanted != nullptr) known_.content(parsed.record).statistics = true;
  });
}

void DumpCheck::see(const JournalPath& path) {
  never_.see(journal_device_, path);
  op_steps_.see(journal_, path);
}

/// Tells what the file of a record shows of what is said to be missing.
void DumpCheck::see_file(const std::string& path, const JournalPath& parsed) {
  if (devices_.empty()) return;
  const auto found = devices_.of(path);
  const std::uint64_t device = found == devices_.end() ? parsed.device : found->first;
  never_.see(device, parsed);
  if (!never_.wants_roles(device, parsed)) return;
  bool inputs = parsed.suffix.starts_with(".input.") || parsed.suffix.starts_with("_input_");
  bool outputs = parsed.suffix.starts_with(".output.") || parsed.suffix.starts_with("_output_");
  if (parsed.suffix.empty() && !context_.quick &&
      context_.file.open(path_of(directory_, path)) == RecordFile::Opened::ok) {
    RecordTensors tensors = context_.file.tensors();
    for (RecordTensor tensor; tensors.next(tensor);) (tensor.is_output ? outputs : inputs) = true;
  }
  never_.see_roles(device, parsed, inputs, outputs);
}

void DumpCheck::see_content(const JournalPath& parsed) {
  RecordContent& content = known_.content(parsed.record);
  const bool is_record = parsed.suffix.empty();
  if (parsed.suffix.ends_with(".csv")) {
    content.statistics = true;
    return;
  }
  content.tensors = true;
  const std::vector<std::string_view> parts = parts_of(parsed.suffix);
  const std::optional<std::uint64_t> index = parts.size() > 3 ? parse_decimal(parts[2]) : std::nullopt;
  if (!is_record && !index) {
    // A name that tells its role otherwise.
    content.roles[0] = content.roles[1] = UINT64_MAX;
    return;
  }
  if (!is_record) content.add(parts[1] == "output", *index);
  if (!is_record && !parsed.suffix.ends_with(".npy")) return;
  RecordTensors tensors = context_.file.tensors();
  for (RecordTensor tensor; tensors.next(tensor);) {
    if (!is_record) {
      tensor.is_output = parts[1] == "output";
      tensor.index = static_cast<std::uint32_t>(*index);
    }
    content.add(tensor.is_output, tensor.index);
    if (tensor.has_shape)
      content.add_size(tensor.is_output, tensor.index, tensor.shape(), tensor.original_shape(), tensor.bytes);
  }
}

void DumpCheck::walk_file(const std::string& below, const std::string& name, const std::string& real_name,
                          const PendingPairs& pairs) {
  const std::string path = below.empty() ? name : path_of(below, name);
  const std::string real_path = below.empty() ? real_name : path_of(below, real_name);
  const auto device = devices_.of(path);
  const bool known_device = device != devices_.end();
  const bool all_closed = devices_.all_closed(device);

  if (name.ends_with(kUnfinishedSuffix)) {
    return add_file(FindingKind::part, all_closed, path,
                    "was being written: its writer still runs or was cut off");
  }
  JournalPath parsed;
  const bool is_record =
      parse_journal_path(real_path, parsed) && parsed.timed && (!parsed.lite || !parsed.suffix.empty());
  if (is_record) see_file(path, parsed);
  const std::size_t listed = listed_.count(path_hash(real_path));
  if (is_record && context_.wanted != nullptr && !context_.quick && listed == 0 &&
      problem_of(context_.file, path_of(directory_, path), parsed.suffix).empty())
    see_content(parsed);
  if (listed > 1) add_file(FindingKind::bad_file, true, path, "told to be written more than once");
  if (known_device && device->second.has_gaps && is_table(real_path))
    return count_rows(device->second, path, real_path, listed != 0);
  if (listed != 0 || is_extra(directory_, real_path)) return;
  if (const std::string* other = pairs.other(name)) {
    return add_file(
        FindingKind::part, all_closed, path,
        "not committed: its writer was cut off before " + *other + ", without which it does not count");
  }
  if (is_record && context_.wanted != nullptr) known_.add(parsed);
  if (is_record && known_device && device->second.has_gaps)
    return check_unnamed(device->second, path, parsed.suffix);
  if (!is_record && name.ends_with(".npy"))
    return add_file(FindingKind::unlisted, false, path, "not a dump record, but perhaps made of one");
  const char* message = devices_.empty() ? "and there is no journal here"
                        : !known_device  ? "and there is no journal of its device"
                        : all_closed     ? ""
                                         : "written after the last line";
  add_file(FindingKind::unlisted, all_closed || (is_record && !known_device), path, message);
}

void DumpCheck::walk(const std::string& below) {
  const std::string directory = below.empty() ? directory_ : path_of(directory_, below);
  std::string error;
  const std::vector<DirectoryEntry> entries = read_directory(directory, error);
  if (!error.empty()) add_file(FindingKind::bad_file, true, below, "cannot be read: " + error);
  MappingFile mapping;
  if (const std::string problem = mapping.read(path_of(directory, kMappingFileName)); !problem.empty())
    add_file(FindingKind::bad_file, true, path_of(below, kMappingFileName), problem);
  PendingPairs pairs;
  for (const DirectoryEntry& entry : entries) {
    if (entry.kind == DirectoryEntry::Kind::file) pairs.read(directory, entry.name);
  }
  for (const DirectoryEntry& entry : entries) {
    JournalName journal;
    if (entry.kind == DirectoryEntry::Kind::directory) {
      walk(below.empty() ? entry.name : path_of(below, entry.name));
    } else if (entry.kind == DirectoryEntry::Kind::other) {
      add_file(FindingKind::unlisted, false, below.empty() ? entry.name : path_of(below, entry.name),
               "neither a file nor a directory");
    } else if (entry.name != kMappingFileName &&
               !(below.empty() &&
                 (parse_journal_name(entry.name, journal) || parse_beside_name(entry.name, kCardSuffix)))) {
      walk_file(below, entry.name, mapping.real_name(entry.name), pairs);
    }
  }
}

}  // namespace opdump::tool
