#include "src/tool/verify/dump_check.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "opdump/impl/format/digest_table.hpp"
#include "opdump/impl/format/statistic_table.hpp"
#include "src/config/refusal.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/human_text.hpp"
#include "src/tool/dump/digest_file.hpp"
#include "src/tool/dump/found_files.hpp"
#include "src/tool/dump/lite_name.hpp"
#include "src/tool/dump/mapped_file.hpp"
#include "src/tool/dump/mapping_file.hpp"
#include "src/tool/dump/pending_pairs.hpp"
#include "src/tool/dump/record_name.hpp"
#include "src/tool/verify/dump_provenance.hpp"
#include "src/tool/verify/findings.hpp"
#include "src/tool/verify/journal_reader.hpp"

namespace opdump::tool {
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

/// Bytes of a table behind its header; 0 when it cannot be read.
std::uint64_t row_bytes(const std::string& path) {
  MappedFile file;
  if (!file.open(path)) return 0;
  const std::string_view text = as_text(file.bytes());
  const std::size_t header_end = text.find('\n');
  return header_end == text.npos ? 0 : text.size() - header_end - 1;
}

/// The status of what is at `path` itself, not behind a link.
bool look_at(const std::string& path, struct stat& status) {
  return fstatat(AT_FDCWD, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
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

constexpr std::string_view verb_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::reduced:
      return " reduced";
    case FindingKind::removed:
      return " removed";
    default:
      return " lost";
  }
}

}  // namespace

std::string path_of(const std::string& directory, std::string_view name) {
  std::string path = directory;
  if (!path.empty() && path.back() != '/') path += '/';
  return path.append(name);
}

bool list_directory(const std::string& directory, std::vector<DirectoryEntry>& entries) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  if (open == nullptr) return false;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat status {};
    DirectoryEntry found{std::string(name)};
    if (look_at(path_of(directory, name), status)) {
      if (S_ISREG(status.st_mode)) found.kind = DirectoryEntry::Kind::file;
      if (S_ISDIR(status.st_mode)) found.kind = DirectoryEntry::Kind::directory;
    }
    entries.push_back(std::move(found));
  }
  if (errno != 0) return false;
  std::sort(entries.begin(), entries.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return natural_less(a.name, b.name); });
  return true;
}

DumpCheck::DumpCheck(VerifyContext& context, std::string directory)
    : context_(context), directory_(std::move(directory)) {}

void DumpCheck::check(const std::vector<std::string>& journal_names) {
  for (const std::string& name : journal_names) read_removals(name);
  std::sort(removed_.begin(), removed_.end());
  for (const std::string& name : journal_names) check_journal(name);
  check_tables();
  std::sort(listed_.begin(), listed_.end());
  walk({});
  tell_counted_files();
  tell_losses();
  const BesideCards::Cards& cards = context_.cards.in(directory_);
  never_.tell([&](std::uint64_t device, const std::string& model,
                  const std::string& name) { return closest_name(cards, device, model, name); },
              context_.findings);
  if (context_.findings.complete()) op_steps_.tell(context_.findings);
  if (context_.wanted == nullptr) return;
  if (context_.wants_cards) context_.wanted->take(cards);
  known_.sort();
  const auto has = [&](std::uint64_t device) { return devices_.contains(device); };
  context_.is_of_wanted |= context_.wanted->is_of(has);
  context_.wanted->find_absent(known_, directory_, has, context_.findings);
  if (never_.empty()) context_.wanted->find_misses(context_.findings);
}

/// What was removed or overwritten is told behind the line that says it was written.
void DumpCheck::read_removals(const std::string& name) {
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
    names_files |= reader.line().starts_with("written,") || reader.line().starts_with("row,");
    const bool is_cut = reader.line() == "overwritten";
    if ((!is_cut && !reader.line().starts_with("removed,")) ||
        !parse_journal_line(reader.line(), line, reason))
      continue;
    if (is_cut) {
      Cut& cut = cuts_[name];
      cut.may_be = true;
      cut.records = names_files;
      continue;
    }
    removed_.push_back(path_hash(line.path_text));
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
  Cut none;
  const auto cut = cuts_.find(name);
  cut_ = cut == cuts_.end() ? &none : &cut->second;
  digested_ = digest_bytes_ = 0;
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
    if (!check->closed()) tell_not_final(*check);
  }
  tell_cut();
  summary.records = check->records();
  summary.closed = check->closed();
  summary.written = check->written();
  summary.lost = check->lost();

  Device& device = devices_[summary.name.device];
  device.has_journal = true;
  device.all_closed &= summary.closed;
  device.is_cut |= cut_->may_be;
  if (!summary.records) {
    device.has_gaps = true;
    device.unnamed += summary.written - check->reduced();
  }
  check_digests(name, summary, device);
  cut_ = nullptr;
  context_.journals.push_back(std::move(summary));
}

void DumpCheck::tell_not_final(const JournalCheck& check) {
  std::string what = "what was captured is unknown from the start";
  bool first = true;
  for (std::uint32_t recorder = 0; recorder < JournalCheck::kMostRecorders; ++recorder) {
    std::uint32_t next = 0;
    if (!check.reached(recorder, next)) continue;
    if (first) what = "what was captured after ";
    what += (first ? "" : ", ");
    what += next == 0 ? "the start" : "sequence number " + std::to_string(next - 1);
    what += " of recorder " + std::to_string(recorder);
    first = false;
  }
  if (!first) what += " is unknown";
  context_.findings.add(FindingKind::not_final, true, {journal_, "was not finalized: " + what},
                        {{"journal", journal_}, {"message", "was not finalized: " + what}});
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

/// Whether the file that is not there made room for newer ones. A recorder's files are written one after
/// another, so none of it is there before.
bool DumpCheck::is_overwritten(std::uint32_t recorder, std::uint32_t sequence) {
  const bool is_first = cut_->there.empty() || cut_->complete_from.contains(recorder);
  if (!cut_->may_be || !is_first || cut_->there.contains(recorder)) return false;
  ++cut_->files;
  cut_->complete_from[recorder] = sequence + 1;
  return true;
}

void DumpCheck::tell_cut() {
  const Cut& cut = *cut_;
  if (cut.complete_from.empty() && cut.written + cut.lost == 0) return;
  std::uint64_t count = cut.written + cut.lost + cut.files;
  std::string rest;
  for (const auto& [recorder, next] : cut.complete_from) {
    rest += (rest.empty() ? "recorder " : ", recorder ") + std::to_string(recorder) +
            (cut.records ? " is complete from" : " is told of from") + " sequence number " +
            std::to_string(next) + " on";
  }
  std::string what = "the beginning is gone";
  if (cut.counted || !cut.lines) {
    what += ", " + count_text(count, "record");
    if (cut.lost != 0) what += ", of which " + std::to_string(cut.lost) + " were lost before";
  } else {
    count = 0;
    for (const auto& [recorder, next] : cut.complete_from) count += next;
    what += ", " + count_text(count, "record") + " at most";
  }
  std::vector<FindingField> fields = {{"journal", journal_},
                                      {cut.counted || !cut.lines ? "count" : "most", {}, count, true},
                                      {"message", rest.empty() ? what : what + ": " + rest}};
  if (cut.complete_from.size() == 1) {
    fields.push_back({"recorder", {}, cut.complete_from.begin()->first, true});
    fields.push_back({"complete_from", {}, cut.complete_from.begin()->second, true});
  }
  context_.findings.add_overwritten(fields, count);
  context_.findings.add_row(FindingKind::overwritten, {journal_, what, rest});
}

void DumpCheck::on_problem(std::uint64_t number, const std::string& what) {
  const std::string place = number == 0 ? journal_ : journal_ + ':' + std::to_string(number);
  context_.findings.add(FindingKind::journal, true, {place + ": " + what},
                        {{"journal", journal_}, {"line", {}, number, true}, {"message", what}});
}

void DumpCheck::add_file(FindingKind kind, bool wrong, const std::string& path, const std::string& message) {
  context_.findings.add(kind, wrong, {path_of(directory_, path), message},
                        {{"path", path_of(directory_, path)}, {"message", message}});
}

const DumpCheck::RealNames& DumpCheck::real_names(const std::string& directory) {
  constexpr std::size_t kMostMappings = 16;
  const auto found = mappings_.find(directory);
  if (found != mappings_.end()) return found->second;
  if (mappings_.size() == kMostMappings) mappings_.clear();
  MappingFile mapping;
  // A row that cannot be read is told by the walk.
  static_cast<void>(mapping.read(path_of(directory, kMappingFileName)));
  RealNames& names = mappings_[directory];
  for (const auto& [file, real] : mapping.rows()) names[real] = file;
  return names;
}

/// Where the file of the journal's `path` is: under its own name or under that of `mapping.csv`.
std::string DumpCheck::find_file(const std::string& path) {
  const std::string full = path_of(directory_, path);
  struct stat status {};
  if (look_at(full, status) || (errno != ENOENT && errno != ENAMETOOLONG)) return full;
  const std::size_t slash = full.rfind('/');
  const RealNames& names = real_names(full.substr(0, slash));
  const auto found = names.find(full.substr(slash + 1));
  return found == names.end() ? full : full.substr(0, slash + 1) + found->second;
}

void DumpCheck::on_written(std::uint32_t recorder, std::uint32_t sequence, const JournalPath& path,
                           std::string_view path_text, std::uint64_t bytes) {
  if (context_.wanted != nullptr) known_.add(path);
  see(path);
  if (!check_file(recorder, sequence, path_text, bytes, path.suffix))
    add_loss(FindingKind::removed, recorder, sequence, kQuotaWord, &path);
}

void DumpCheck::on_reduced(std::uint32_t recorder, std::uint32_t sequence, std::string_view causes,
                           const JournalPath& path, std::string_view path_text, std::uint64_t bytes) {
  add_loss(FindingKind::reduced, recorder, sequence, causes, &path);
  if (path.suffix.empty()) return add_row(path_text, bytes);
  if (!check_file(recorder, sequence, path_text, bytes, path.suffix))
    add_loss(FindingKind::removed, recorder, sequence, kQuotaWord, &path);
}

void DumpCheck::on_row(const JournalPath& path, std::string_view path_text, std::uint64_t bytes) {
  if (context_.wanted != nullptr) known_.add(path);
  see(path);
  add_row(path_text, bytes);
}

void DumpCheck::add_row(std::string_view path_text, std::uint64_t bytes) {
  const std::string_view directory = path_text.substr(0, path_text.rfind('/') + 1);
  tables_[std::string(directory).append(kStatisticTableName)] += bytes;
}

/// A table holds at least the rows that the journals tell of; others may have appended to it too.
void DumpCheck::check_tables() {
  for (const auto& [path, bytes] : tables_) {
    listed_.push_back(path_hash(path));
    struct stat status {};
    const bool there = look_at(path_of(directory_, path), status);
    const bool gone = !there && errno == ENOENT;
    if (!cuts_.empty() && (gone || (there && row_bytes(path_of(directory_, path)) < bytes))) {
      const std::string message = gone ? "gone with all its rows" : "its first rows are gone";
      context_.findings.add_overwritten({{"path", path_of(directory_, path)}, {"message", message}}, 0);
      context_.findings.add_row(FindingKind::overwritten, {path_of(directory_, path), message});
    } else if (!there) {
      add_file(FindingKind::missing, true, path, errno == ENOENT ? "" : strerror(errno));
    } else if (const std::uint64_t rows = row_bytes(path_of(directory_, path)); rows < bytes) {
      add_file(FindingKind::bad_file, true, path,
               "has " + std::to_string(rows) + " bytes of rows behind its header, and " +
                   std::to_string(bytes) + " were written");
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
void DumpCheck::check_digests(const std::string& name, const JournalSummary& summary, Device& device) {
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
    }
    return;
  }
  listed_.push_back(path_hash(file));
  MappedFile digests;
  if (!digests.open(path_of(directory_, file)))
    return add_file(FindingKind::bad_file, true, file, digests.error());
  const std::uint64_t found = read_digests(file, digests.bytes(), cut_->may_be || !summary.closed);
  device.found += summary.records ? 0 : found;
  ++context_.files;
  context_.bytes += digests.bytes().size();
  if (!summary.records) return;
  const std::string there = count_text(found, "record") + " in " + count_text(digests.bytes().size(), "byte");
  if (found >= digested_ && digests.bytes().size() >= digest_bytes_) return;
  if (cut_->may_be) {
    context_.findings.add_overwritten({{"path", path_of(directory_, file)}, {"message", there}},
                                      digested_ - std::min(found, digested_));
    context_.findings.add_row(FindingKind::overwritten,
                              {path_of(directory_, file), "its first digests are gone"});
  } else {
    add_file(FindingKind::bad_file, true, file,
             "has " + there + ", and the journal tells of " + count_text(digested_, "record") + " in " +
                 count_text(digest_bytes_, "byte"));
  }
}

/// Notes each record, and returns how many there are.
std::uint64_t DumpCheck::read_digests(const std::string& name, Bytes file, bool may_be_cut) {
  DigestedOps ops;
  DigestReader reader(file, ops);
  std::uint64_t count = 0;
  for (DigestedRecord record; reader.next(record); ++count) {
    const DigestedOp& op = ops[record.op];
    std::string text = std::to_string(journal_device_) + '/';
    if (op.in_model)
      text +=
          sanitised(op.model) + '/' + std::to_string(op.model_id) + '/' + std::to_string(record.step) + '/';
    text += sanitised(op.type) + '.' + sanitised(op.name) + '.' + std::to_string(op.task) + '.' +
            std::to_string(op.stream);
    JournalPath path;
    if (!parse_journal_path(text, path)) continue;
    if (context_.wanted != nullptr) known_.add(path);
    see(path);
    const auto has = [&op](bool outputs) {
      return std::any_of(op.tensors.begin(), op.tensors.end(),
                         [outputs](const DigestedTensor& tensor) { return tensor.is_output == outputs; });
    };
    if (never_.wants_roles(journal_device_, path))
      never_.see_roles(journal_device_, path, has(false), has(true));
  }
  if (!reader.error().empty()) add_file(FindingKind::bad_file, true, name, reader.error());
  if (reader.cut_bytes() != 0 && !may_be_cut)
    add_file(FindingKind::bad_file, true, name, "its last piece is cut short");
  if (reader.nameless_bytes() != 0 && !may_be_cut)
    add_file(FindingKind::bad_file, true, name, "it has records of operators that it does not name");
  return count;
}

/// Whether the file reads as what its name's suffix says.
bool DumpCheck::is_sound(const std::string& file, std::string_view suffix) {
  if (context_.quick) return true;
  if (suffix.ends_with(".npy")) return context_.file.open_array(file, {}) == RecordFile::Opened::ok;
  if (suffix.ends_with(".bin")) return is_lite_sound(file, suffix);
  return !is_record_suffix(suffix) || context_.file.open(file) == RecordFile::Opened::ok;
}

/// The same of a file whose name tells shape and dtype; `suffix` is what stands behind the operator's name.
bool DumpCheck::is_lite_sound(const std::string& file, std::string_view suffix) {
  const std::string any_op = "op" + std::string(suffix);
  const std::optional<LiteName> name = parse_lite_name(any_op);
  return name &&
         context_.file.open_bytes(file, named_tensor(*name), name->padded()) == RecordFile::Opened::ok;
}

/// False when the file was removed to make room.
bool DumpCheck::check_file(std::uint32_t recorder, std::uint32_t sequence, std::string_view path_text,
                           std::uint64_t bytes, std::string_view suffix) {
  listed_.push_back(path_hash(path_text));
  const std::string text(path_text);
  const std::string file = find_file(text);
  struct stat status {};
  if (!look_at(file, status)) {
    const bool gone = errno == ENOENT || errno == ENAMETOOLONG || errno == ENOTDIR;
    const std::string_view below = std::string_view(file).substr(path_of(directory_, {}).size());
    if (gone && std::binary_search(removed_.begin(), removed_.end(), path_hash(below))) return false;
    if (gone && is_overwritten(recorder, sequence)) return true;
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
  } else if (!is_sound(file, suffix)) {
    add_file(FindingKind::bad_file, true, text, context_.file.error());
  } else {
    ++context_.files;
    context_.bytes += bytes;
  }
  return true;
}

void DumpCheck::on_lost(std::uint32_t recorder, std::uint32_t sequence, std::string_view causes,
                        const JournalPath* path) {
  add_loss(FindingKind::lost, recorder, sequence, causes, path);
}

void DumpCheck::add_loss(FindingKind kind, std::uint32_t recorder, std::uint32_t sequence,
                         std::string_view causes, const JournalPath* path) {
  const bool in_model = path != nullptr && path->in_model;
  if (path != nullptr) see(*path);
  const std::string op = path == nullptr ? "of an unknown operator" : std::string(path->op);
  std::string model = in_model ? std::string(path->model) : std::string();
  if (in_model && !path->lite) model += " (" + std::to_string(path->model_id) + ")";
  Loss& loss = losses_[{kind, model, op, recorder, std::string(causes)}];
  if (loss.count++ == 0) loss.first = sequence;
  loss.last = sequence;
  loss.in_model = in_model;
  if (in_model) loss.steps.add(path->step);
  if (context_.wanted != nullptr && kind != FindingKind::removed) {
    if (path == nullptr) {
      known_.add_nameless(1);
    } else {
      known_.add(*path);
    }
  }
  std::vector<FindingField> fields = {{"journal", journal_},
                                      {"recorder", {}, recorder, true},
                                      {"sequence", {}, sequence, true},
                                      {"cause", std::string(causes)}};
  if (path != nullptr) fields.push_back({"op", op});
  if (in_model) {
    fields.push_back({"model", std::string(path->model)});
    if (!path->lite) fields.push_back({"model_id", {}, path->model_id, true});
    fields.push_back({"step", {}, path->step, true});
  }
  context_.findings.add_summed(kind, fields, 1);
}

void DumpCheck::on_gap(std::uint32_t recorder, std::uint32_t first, std::uint32_t last,
                       std::string_view causes) {
  const std::uint32_t count = last - first + 1;
  if (context_.wanted != nullptr) known_.add_nameless(count);
  context_.findings.add_summed(FindingKind::gap,
                               {{"journal", journal_},
                                {"recorder", {}, recorder, true},
                                {"first", {}, first, true},
                                {"last", {}, last, true},
                                {"cause", std::string(causes)}},
                               count);
  const std::string range = first == last
                                ? "number " + std::to_string(first)
                                : "numbers " + std::to_string(first) + " to " + std::to_string(last);
  context_.findings.add_row(
      FindingKind::gap,
      {journal_, "recorder " + std::to_string(recorder) + ", " + range,
       count_text(count, "record") + " lost, with no room even to tell which: " + causes_text(causes)});
}

void DumpCheck::on_op(const JournalLine& line) {
  const OpCounts& counts = line.op_counts;
  const std::string model = std::string(line.path.model) + " (" + std::to_string(line.path.model_id) + ")";
  std::vector<FindingField> fields = {{"journal", journal_},
                                      {"op", std::string(line.path.op)},
                                      {"model", std::string(line.path.model)},
                                      {"model_id", {}, line.path.model_id, true},
                                      {"seen", {}, line.steps_seen, true},
                                      {"wanted", {}, counts.wanted, true},
                                      {"captured", {}, counts.captured, true},
                                      {"degraded", {}, counts.degraded, true},
                                      {"dropped", {}, counts.dropped(), true},
                                      {"aborted", {}, counts.aborted(), true}};
  for (const LossKind& kind : kLossKinds) fields.push_back({kind.word, {}, counts.*kind.count, true});
  StepRanges steps;
  const std::string of_all = " of " + count_text(counts.wanted, "record");
  std::string what = std::to_string(counts.degraded) + of_all + " reduced";
  if (counts.lost() != 0) {
    steps.add(line.lost_steps.first, line.lost_steps.last);
    const std::string reduced =
        counts.degraded != 0 ? "; " + std::to_string(counts.degraded) + " reduced" : "";
    what = std::to_string(counts.lost()) + of_all + " lost: " + causes_text(counts) + reduced;
    fields.push_back({"first_step", {}, line.lost_steps.first, true});
    fields.push_back({"last_step", {}, line.lost_steps.last, true});
  }
  const std::string where = counts.lost() != 0 ? steps.text() : std::string();
  context_.findings.add(FindingKind::by_op, true, {std::string(line.path.op), model, where, what}, fields);
}

void DumpCheck::on_never(const NeverCaptured& what) {
  never_.add(journal_device_, journal_, what);
}

/// A file that came whole and is not a record.
void DumpCheck::check_other(const JournalLine& line) {
  constexpr std::uint32_t kNoRecorder = JournalCheck::kMostRecorders;
  if (!check_file(kNoRecorder, 0, line.path_text, line.bytes, kNoFormat))
    add_file(FindingKind::removed, true, std::string(line.path_text), causes_text(kQuotaWord));
}

void DumpCheck::on_chunk(const JournalLine& line) {
  constexpr std::string_view kOutside = "../";
  if (line.fault == ChunkFault::other) {
    // What lies outside of this directory is none of its dump.
    if (!line.path_text.starts_with(kOutside)) check_other(line);
    return;
  }
  const ChunkFaultKind& fault = kind_of(line.fault);
  const std::string path = line.path_text.empty() ? "(no name)" : std::string(line.path_text);
  context_.findings.add(
      FindingKind::chunk, fault.wrong,
      {path, count_text(line.chunks, "chunk"), count_text(line.bytes, "byte"), std::string(fault.text)},
      {{"journal", journal_},
       {"path", path},
       {"fault", std::string(fault.word)},
       {"chunks", {}, line.chunks, true},
       {"bytes", {}, line.bytes, true}});
}

void DumpCheck::on_provenance(const Provenance& provenance) {
  // A journal has it twice.
  const std::string text = provenance_text(provenance);
  if (text == provenance_) return;
  provenance_ = text;
  context_.builds.emplace(provenance.build_id);
  context_.findings.add_note(FindingKind::provenance, {journal_, text},
                             {{"journal", journal_},
                              {"build_id", std::string(provenance.build_id)},
                              {"config", std::string(provenance.config)},
                              {"opdump", std::string(provenance.opdump)},
                              {"model", std::string(provenance.model)},
                              {"runtime", std::string(provenance.runtime)}});
}

void DumpCheck::on_driver(std::string_view call, std::int32_t code) {
  const std::string returned = std::to_string(code);
  context_.findings.add_note(FindingKind::driver, {journal_, std::string(call) + " returned " + returned},
                             {{"journal", journal_}, {"call", std::string(call)}, {"code", returned}});
}

void DumpCheck::on_untold(std::uint64_t number, std::uint32_t untold, const DumpCounts& counts) {
  if (context_.wanted != nullptr) known_.add_nameless(untold);
  context_.findings.add_summed(FindingKind::gap,
                               {{"journal", journal_},
                                {"line", {}, number, true},
                                {"count", {}, untold, true},
                                {"cause", causes_text(counts)}},
                               untold);
  context_.findings.add_row(FindingKind::gap,
                            {journal_, "line " + std::to_string(number),
                             count_text(untold, "record") +
                                 " lost, with no room even for a number; of all: " + causes_text(counts)});
}

void DumpCheck::on_untold_reduced(std::uint64_t number, std::uint32_t untold) {
  context_.findings.add(
      FindingKind::reduced, true,
      {journal_, "line " + std::to_string(number),
       count_text(untold, "record") + " reduced: no room for more in the ring, and none to tell which"},
      {{"journal", journal_}, {"line", {}, number, true}, {"count", {}, untold, true}});
}

void DumpCheck::on_dumps_removed(std::uint64_t count, std::uint64_t first, std::uint64_t last) {
  const std::string range =
      first == last ? std::to_string(first) : std::to_string(first) + " to " + std::to_string(last);
  context_.findings.add(FindingKind::rotated, false, {journal_, count_text(count, "dump"), range},
                        {{"journal", journal_},
                         {"count", {}, count, true},
                         {"first", {}, first, true},
                         {"last", {}, last, true}});
}

void DumpCheck::tell_losses() {
  for (auto& [key, loss] : losses_) {
    const auto& [kind, model, op, recorder, causes] = key;
    const std::string numbers = loss.first == loss.last ? "number " + std::to_string(loss.first)
                                                        : "numbers " + std::to_string(loss.first) + " to " +
                                                              std::to_string(loss.last);
    context_.findings.add_row(
        kind, {op, model, loss.in_model ? loss.steps.text() : std::string(),
               count_text(loss.count, "record") + std::string(verb_of(kind)) + ": " + causes_text(causes) +
                   " (recorder " + std::to_string(recorder) + ", " + numbers + ")"});
  }
}

/// Of a journal that names no files, the count of files is all that can be compared.
void DumpCheck::tell_counted_files() {
  for (const auto& [number, device] : devices_) {
    if (!device.has_gaps) continue;
    if (device.removed != 0) {
      const std::string text = count_text(device.removed, "file");
      add_file(FindingKind::removed, true, std::to_string(number), text);
      if (context_.wanted != nullptr) known_.add_nameless(device.removed);
    }
    const std::uint64_t found = device.found + device.removed;
    if (found == device.unnamed) continue;
    const bool fewer = found < device.unnamed;
    if (!fewer && !device.all_closed) continue;
    const std::string text = std::to_string(found) + " files, and the journals without names count " +
                             count_text(device.unnamed, "record");
    if (fewer && device.is_cut) {
      const std::string path = path_of(directory_, std::to_string(number));
      context_.findings.add_overwritten({{"path", path}, {"message", text}}, device.unnamed - found);
      context_.findings.add_row(FindingKind::overwritten, {path, text});
      continue;
    }
    add_file(fewer ? FindingKind::missing : FindingKind::unlisted, true, std::to_string(number), text);
  }
}

void DumpCheck::check_unnamed(Device& device, const std::string& path, std::string_view suffix) {
  const std::string full = path_of(directory_, path);
  ++device.found;
  if (!is_sound(full, suffix)) {
    add_file(FindingKind::bad_file, true, path, context_.file.error());
    return;
  }
  ++context_.files;
  struct stat status {};
  if (look_at(full, status)) context_.bytes += static_cast<std::uint64_t>(status.st_size);
}

void DumpCheck::see(const JournalPath& path) {
  never_.see(journal_device_, path);
  op_steps_.see(journal_, path);
}

/// Tells what the file of a record shows of what is said to be missing.
void DumpCheck::see_file(const std::string& path, const JournalPath& parsed) {
  if (devices_.empty()) return;
  const std::uint64_t device = parsed.has_device ? parsed.device : devices_.begin()->first;
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

void DumpCheck::walk_file(const std::string& below, const std::string& name, const std::string& real_name,
                          const PendingPairs& pairs) {
  const std::string path = below.empty() ? name : path_of(below, name);
  const std::string real_path = below.empty() ? real_name : path_of(below, real_name);
  const std::optional<std::uint64_t> number =
      parse_decimal(std::string_view(below).substr(0, below.find('/')));
  const auto device = number ? devices_.find(*number) : devices_.end();
  const bool known_device = device != devices_.end();
  bool all_closed = true;
  for (const auto& [other, journals] : devices_)
    all_closed &= journals.all_closed || (known_device && other != device->first);

  if (name.ends_with(kUnfinishedSuffix)) {
    return add_file(FindingKind::part, all_closed, path,
                    "was being written: its writer still runs or was cut off");
  }
  JournalPath parsed;
  const bool is_record =
      parse_journal_path(real_path, parsed) && parsed.timed && (!parsed.lite || !parsed.suffix.empty());
  if (is_record) see_file(path, parsed);
  const auto [first, last] = std::equal_range(listed_.begin(), listed_.end(), path_hash(real_path));
  if (last - first > 1) add_file(FindingKind::bad_file, true, path, "told to be written more than once");
  if (first != last || is_extra(directory_, real_path)) return;
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
  std::vector<DirectoryEntry> entries;
  if (!list_directory(directory, entries))
    add_file(FindingKind::bad_file, true, below, std::string("cannot be read: ") + strerror(errno));
  MappingFile mapping;
  if (const std::string problem = mapping.read(path_of(directory, kMappingFileName)); !problem.empty())
    add_file(FindingKind::bad_file, true, path_of(below, kMappingFileName), problem);
  PendingPairs pairs;
  for (const DirectoryEntry& entry : entries) {
    if (entry.kind == DirectoryEntry::Kind::file) pairs.read(directory, entry.name);
  }
  for (const DirectoryEntry& entry : entries) {
    JournalName journal;
    CardName card;
    if (entry.kind == DirectoryEntry::Kind::directory) {
      walk(below.empty() ? entry.name : path_of(below, entry.name));
    } else if (entry.kind == DirectoryEntry::Kind::other) {
      add_file(FindingKind::unlisted, false, below.empty() ? entry.name : path_of(below, entry.name),
               "neither a file nor a directory");
    } else if (entry.name != kMappingFileName &&
               !(below.empty() &&
                 (parse_journal_name(entry.name, journal) || parse_card_name(entry.name, card)))) {
      walk_file(below, entry.name, mapping.real_name(entry.name), pairs);
    }
  }
}

}  // namespace opdump::tool
