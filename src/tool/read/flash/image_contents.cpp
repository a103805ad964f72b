#include "src/tool/read/flash/image_contents.hpp"

#include <string.h>
#include <algorithm>
#include <compare>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <vector>

#include "platform/flashlog/flash_history.hpp"
#include "platform/flashlog/impl/damaged_places.hpp"
#include "platform/posix/tree_sink.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/journal/journal_line.hpp"

namespace opdump::tool {

namespace {

using Object = flashlog::LogReader::Object;
using flashlog::ObjectState;

constexpr std::string_view kJournalEnd = ".journal";

bool is_named(const Object& object) {
  return object.directory_known && !object.file.empty();
}

/// The beginning of an object is overwritten only where its stream's is, as the log went round, of which `cut`
/// tells; elsewhere it is lost.
ObjectState real_state(bool cut, const Object& object) {
  const bool may_be_overwritten = cut && object.walk.first_segment == 0;
  return object.state == ObjectState::overwritten && !may_be_overwritten ? ObjectState::damaged
                                                                         : object.state;
}

void count(const Object& object, ImageTally& tally) {
  BootTally& boot = tally.boots[object.boot];
  switch (object.state) {
    case ObjectState::committed:
      if (is_named(object)) {
        ++tally.committed;
        tally.committed_bytes += object.bytes;
        ++boot.committed;
        boot.committed_bytes += object.bytes;
      } else {
        ++tally.nameless;
      }
      break;
    case ObjectState::lines:
      ++(is_named(object) ? tally.journals : tally.nameless);
      if (is_named(object) && object.file.ends_with(kJournalEnd)) boot.dumps.emplace(object.directory);
      break;
    case ObjectState::aborted:
      ++tally.aborted;
      break;
    case ObjectState::torn:
      ++tally.torn;
      break;
    case ObjectState::damaged:
      ++tally.damaged;
      break;
    case ObjectState::overwritten:
      ++tally.overwritten;
      break;
  }
}

std::string root_below(const std::string& directory, bool boots_apart, const Object& object) {
  return boots_apart ? directory + '/' + boot_directory(object.boot) : directory;
}

/// The first file below `directory` that would be written and is there; empty: none is.
std::string file_there(FlashImage& image, const std::string& directory, const ImageChoice& choice,
                       bool boots_apart) {
  constexpr std::size_t kMostOfName = 255;
  std::string there;
  std::error_code none;
  if (!std::filesystem::exists(directory, none)) return there;
  walk_image(image, choice, [&](const Object& object) {
    const bool written = object.state == ObjectState::committed || object.state == ObjectState::lines;
    if (!written || !is_named(object) || !there.empty()) return;
    const std::string folder = path_of(root_below(directory, boots_apart, object), object.directory);
    // A name that is too long becomes a line of a table.
    const bool mapped = object.file.size() > kMostOfName;
    const std::string path = path_of(folder, mapped ? std::string_view("mapping.csv") : object.file);
    if (std::filesystem::exists(path, none)) there = path;
  });
  return there;
}

class TreeWriter {
 public:
  TreeWriter(FlashImage& image, const std::string& directory, bool boots_apart,
             const std::function<void(const std::string& message)>& error)
      : image_(image),
        directory_(directory),
        boots_apart_(boots_apart),
        cut_(image.cut_boot().has_value()),
        error_(error),
        sink_(new posix::TreeSink),
        memory_(64 * 1024) {}

  void write(const Object& object) {
    note_cut(object);
    if (object.state == ObjectState::damaged) error_(path_text(object) + ": damaged, not written");
    if (object.state != ObjectState::committed && object.state != ObjectState::lines) return;
    if (!is_named(object))
      return error_("block " + std::to_string(image_.reader().segments()[object.walk.at.segment].block) +
                    ": damage has taken the name of a " + std::string(state_text(object)) + " object of " +
                    std::to_string(object.bytes) + " bytes, so it is not written");
    const std::string root = root_of(object);
    if (const int problem = make_directories(root); problem != 0)
      return error_(root + ": " + strerror(problem));
    const ObjectName name = {.root = root, .directory = object.directory, .file = object.file};
    const Status status =
        object.state == ObjectState::lines ? add_lines(object, name) : add_file(object, name);
    if (status != Status::ok) error_(path_text(object) + ": " + std::string(to_string(status)));
  }

  /// To be called once, behind all objects.
  void finish(std::map<std::uint32_t, BootTally>& boots) {
    for (const auto& [boot, journals] : journals_) {
      ClockSteps clock;
      bool agree = true;
      for (const auto& [name, steps] : journals) {
        for (const ClockStep& step : steps.steps()) agree = clock.add(step) && agree;
      }
      if (!agree) {
        error_("boot " + std::to_string(boot) +
               ": its journals contradict each other in when the clock was set");
        continue;
      }
      tell_clock(journals, clock);
      boots[boot].clock = clock;
    }
    if (!cut_journal_.file.empty())
      append(cut_journal_, std::string(journal_word(JournalLineKind::overwritten)) + '\n');
    if (const Status status = sink_->sync(); status != Status::ok)
      error_(directory_ + ": " + std::string(to_string(status)));
  }

 private:
  struct Journal {
    std::string root;
    std::string directory;
    std::string file;

    auto operator<=>(const Journal&) const = default;
  };
  using Journals = std::map<Journal, ClockSteps>;

  void append(const Journal& journal, const std::string& lines) {
    const Bytes part = as_bytes(std::string_view(lines));
    const ObjectName name = {.root = journal.root, .directory = journal.directory, .file = journal.file};
    if (const Status status = sink_->append_lines(name, {&part, 1}); status != Status::ok)
      error_(journal.directory + '/' + journal.file + ": " + std::string(to_string(status)));
  }

  /// A boot has one clock: what one of its journals tells holds for the others.
  void tell_clock(const Journals& journals, const ClockSteps& clock) {
    for (const auto& [journal, known] : journals) {
      if (known == clock) continue;
      char lines[64 * ClockSteps::kMost];
      TextWriter writer(lines);
      for (const ClockStep& step : clock.steps()) {
        add_clock_step(writer, step);
        writer.add('\n');
      }
      append(journal, std::string(writer.text()));
    }
  }

  /// Of lines that are whole.
  void note_clock(const Object& object, const std::string& root, std::string_view lines) {
    if (!object.file.ends_with(kJournalEnd)) return;
    ClockSteps& steps =
        journals_[object.boot][{root, std::string(object.directory), std::string(object.file)}];
    JournalLine line;
    std::string reason;
    for (std::size_t end = 0; end != lines.npos && !lines.empty(); lines.remove_prefix(end + 1)) {
      end = lines.find('\n');
      if (end == lines.npos) break;
      const std::string_view text = lines.substr(0, end);
      if (journal_kind(text) == JournalLineKind::clock && parse_journal_line(text, line, reason) &&
          !steps.add(line.clock))
        error_(path_text(object) + ": contradicts itself in when the clock was set");
    }
  }

  /// The journal of what lost its beginning is the first one in the stream that did.
  void note_cut(const Object& object) {
    if (!cut_ || object.walk.first_segment != 0) return;
    const bool is_journal = object.state == ObjectState::lines && object.file.ends_with(kJournalEnd);
    if (is_journal && object.directory_known && cut_journal_.file.empty())
      cut_journal_ = {root_of(object), std::string(object.directory), std::string(object.file)};
  }

  std::string root_of(const Object& object) const { return root_below(directory_, boots_apart_, object); }

  Status add_file(const Object& object, const ObjectName& name) {
    const Result<ObjectId> file = sink_->begin(name);
    if (!file.ok()) return file.status();
    Status status = Status::ok;
    const Status read = image_.reader().read(object, memory_, [&](Bytes bytes) {
      status = sink_->append(file.value(), {&bytes, 1});
      return status == Status::ok;
    });
    if (status == Status::ok) status = read;
    if (status == Status::ok) return sink_->commit(file.value());
    sink_->abort(file.value());
    return status;
  }

  Status add_lines(const Object& object, const ObjectName& name) {
    std::vector<std::byte> lines;
    const Status status = image_.reader().read(object, memory_, [&](Bytes bytes) {
      lines.insert(lines.end(), bytes.begin(), bytes.end());
      return true;
    });
    if (status != Status::ok) return status;
    const Bytes part = lines;
    note_clock(object, std::string(name.root), {reinterpret_cast<const char*>(lines.data()), lines.size()});
    return sink_->append_lines(name, {&part, 1});
  }

  FlashImage& image_;
  const std::string& directory_;
  const bool boots_apart_;
  const bool cut_;
  Journal cut_journal_;
  std::map<std::uint32_t, Journals> journals_;  ///< by boot
  const std::function<void(const std::string& message)>& error_;
  std::unique_ptr<posix::TreeSink> sink_;
  std::vector<std::byte> memory_;
};

}  // namespace

std::string path_text(const Object& object) {
  std::string text = object.directory_known ? std::string(object.directory) : "?";
  if (!text.empty()) text += '/';
  return object.file.empty() ? text + '?' : text.append(object.file);
}

std::string cut_text(std::uint32_t boot) {
  return "the log has gone round: newer records have taken the beginning of boot " + std::to_string(boot);
}

std::string missing_boot_text(const FlashImage& image, std::uint32_t boot) {
  constexpr std::size_t kMost = 20;
  const std::vector<std::uint32_t> boots = image.boots();
  if (std::find(boots.begin(), boots.end(), boot) != boots.end()) return {};
  std::string text = "holds nothing of boot " + std::to_string(boot) + "; its boots are ";
  const std::size_t first = boots.size() > kMost ? boots.size() - kMost : 0;
  if (first != 0) text += "..., ";
  for (std::size_t i = first; i < boots.size(); ++i)
    text += (i == first ? "" : ", ") + std::to_string(boots[i]);
  return text;
}

std::string boot_directory(std::uint32_t boot) {
  constexpr std::size_t kDigits = 6;
  const std::string number = std::to_string(boot);
  return "boot_" + std::string(kDigits - std::min(kDigits, number.size()), '0') + number;
}

std::string_view state_text(const Object& object) {
  switch (object.state) {
    case ObjectState::committed:
      return "committed";
    case ObjectState::aborted:
      return "aborted";
    case ObjectState::torn:
      return "torn";
    case ObjectState::damaged:
      return "damaged";
    case ObjectState::overwritten:
      return "overwritten";
    case ObjectState::lines:
      return "journal";
  }
  return "?";
}

ImageTally walk_image(FlashImage& image, const ImageChoice& choice,
                      const std::function<void(const Object&)>& use) {
  ImageTally tally;
  const bool cut = image.cut_boot().has_value();
  for (Object object; !interrupted() && image.reader().next(object);) {
    if (choice.boot && object.boot != *choice.boot) continue;
    if (choice.not_written_out != nullptr && choice.not_written_out->was_written_out(object)) continue;
    object.state = real_state(cut, object);
    count(object, tally);
    use(object);
  }
  tally.unreadable_runs = image.reader().unreadable_runs();
  return tally;
}

std::optional<ImageTally> extract_image(FlashImage& image, const std::string& directory,
                                        const ImageChoice& choice, bool apart,
                                        const std::function<void(const std::string& message)>& error) {
  if (const std::string there = file_there(image, directory, choice, apart); !there.empty()) {
    error(there + ": already exists, and nothing in '" + directory + "' is replaced: nothing was written");
    return std::nullopt;
  }
  if (const Status status = image.rewind(); status != Status::ok) {
    error(std::string(to_string(status)));
    return std::nullopt;
  }
  if (const int problem = make_directories(directory); problem != 0) {
    error(directory + ": " + strerror(problem));
    return std::nullopt;
  }
  TreeWriter writer(image, directory, apart, error);
  Progress progress(std::uint64_t{image.geometry().block_bytes} * image.geometry().block_count);
  ImageTally tally = walk_image(image, choice, [&](const Object& object) {
    writer.write(object);
    progress.add(object.bytes);
  });
  writer.finish(tally.boots);
  return tally;
}

void find_losses(FlashImage& image, std::optional<std::uint32_t> boot,
                 const std::function<void(const std::string& message)>& error) {
  for (const std::string& hole : image.holes(boot)) error(hole);
  const flashlog::LogRuns& runs = image.reader().runs();
  flashlog::DamagedPlaces places(runs);
  Progress progress(runs.segments().size(), "blocks checked");
  std::uint32_t checked = 0;
  for (std::optional<flashlog::DamagedPlace> place; !interrupted() && places.go_past(place);) {
    progress.add(places.segment() - checked);
    checked = places.segment();
    if (!place || (boot && place->boot != *boot)) continue;
    progress.wipe();
    error("boot " + std::to_string(place->boot) + " is damaged from byte " +
          std::to_string(image.byte_of(place->begin)) + " on, up to what is good again at byte " +
          std::to_string(image.byte_of(place->end)) + ": what it told there is lost");
  }
  // The search behind damage has used up what opening the image allows it.
  static_cast<void>(image.rewind());
}

namespace {

using flashlog::Position;

/// Steps that were handed on, of which some may be told twice.
bool has(const std::vector<HistoryMarks::WrittenOut>& written, std::uint64_t step) {
  return std::any_of(written.begin(), written.end(), [step](const HistoryMarks::WrittenOut& one) {
    return step >= one.first && step <= one.last;
  });
}

}  // namespace

/// The marks of one run.
class HistoryMarks::Finder final : public flashlog::RunVisitor {
 public:
  struct Step {
    Position at;
    std::uint64_t step = 0;
  };

  void restart(flashlog::Walk::RunBegin) override {
    steps.clear();
    written.clear();
    got_ = 0;
  }

  void entry(const flashlog::Entry& entry) override {
    kind_ = entry.begin < from ? flashlog::Kind::data : entry.head.kind();
    at_ = entry.begin;
    got_ = 0;
  }

  void body(Bytes bytes) override {
    const bool wanted = kind_ == flashlog::Kind::step || kind_ == flashlog::Kind::written_out;
    if (!wanted || bytes.size() > sizeof memory_ - got_) return;
    copy_bytes(memory_ + got_, bytes);
    got_ += bytes.size();
    if (kind_ == flashlog::Kind::step && got_ == sizeof(flashlog::StepMark)) {
      flashlog::StepMark mark;
      std::memcpy(&mark, memory_, sizeof mark);
      steps.push_back({at_, mark.step});
    }
    if (kind_ == flashlog::Kind::written_out && got_ == sizeof(flashlog::WrittenOutMark))
      std::memcpy(&written.emplace_back(), memory_, sizeof(flashlog::WrittenOutMark));
  }

  std::vector<Step> steps;
  std::vector<flashlog::WrittenOutMark> written;

 private:
  flashlog::Kind kind_{};
  Position at_;
  std::size_t got_ = 0;
  std::byte memory_[64];
};

HistoryMarks::HistoryMarks(FlashImage& image) {
  const flashlog::LogRuns& runs = image.reader().runs();
  flashlog::Walk walk;
  Finder finder;
  if (!runs.resynchronise(walk, 0, finder)) return;
  Position last;
  std::uint32_t unreadable = 0;
  while (runs.visit(walk, finder)) {
    const auto passed =
        image.reader().segments().subspan(last.segment, walk.run.at.segment - last.segment + 1);
    const bool hole = std::any_of(passed.begin() + 1, passed.end(),
                                  [](const flashlog::Segment& segment) { return segment.behind_hole; });
    if (hole || walk.unreadable_runs != unreadable) behind_damage_.push_back(walk.run.at);
    unreadable = walk.unreadable_runs;
    last = walk.run.at;
    for (const Finder::Step& step : finder.steps) {
      Boot& boot = boots_[image.reader().segments()[step.at.segment].boot];
      if (boot.steps.empty() || boot.steps.back().second != step.step)
        boot.steps.emplace_back(step.at, step.step);
    }
    for (const flashlog::WrittenOutMark& mark : finder.written)
      boots_[mark.boot].written.push_back({mark.first, mark.last, mark.objects, mark.lost, mark.cause});
    walk.at = walk.run_end;
  }
}

std::optional<std::uint64_t> HistoryMarks::step_of(const flashlog::LogReader::Object& object) const {
  const auto boot = boots_.find(object.boot);
  if (boot == boots_.end()) return std::nullopt;
  const auto& steps = boot->second.steps;
  const auto behind = std::upper_bound(steps.begin(), steps.end(), object.walk.at,
                                       [](const Position& at, const auto& step) { return at < step.first; });
  if (behind == steps.begin()) return std::nullopt;
  const auto& [begin, step] = *std::prev(behind);
  const auto damage = std::upper_bound(behind_damage_.begin(), behind_damage_.end(), begin);
  if (damage != behind_damage_.end() && *damage <= object.walk.at) return std::nullopt;
  return step;
}

bool HistoryMarks::was_written_out(const flashlog::LogReader::Object& object) const {
  const std::optional<std::uint64_t> step = step_of(object);
  return step && has(boots_.at(object.boot).written, *step);
}

std::vector<std::string> HistoryMarks::lines() const {
  std::vector<std::string> lines;
  for (const auto& [number, boot] : boots_) {
    std::string line = "boot " + std::to_string(number) + ": a history";
    if (boot.steps.empty()) {
      line += ", none of whose steps is left";
    } else {
      line += " of " + range_text("step", boot.steps.front().second, boot.steps.back().second);
    }
    std::string written;
    for (const WrittenOut& one : boot.written) {
      written += (written.empty() ? "" : ", ") + range_text("step", one.first, one.last) + " (" +
                 std::string(flashlog::FlashHistory::cause_word(one.cause));
      written += one.lost != 0 ? ", " + std::to_string(one.lost) + " lost)" : ")";
    }
    line += written.empty() ? "; never written out" : "; written out: " + written;
    lines.push_back(line);
  }
  return lines;
}

}  // namespace opdump::tool
