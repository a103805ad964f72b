#include "src/tool/read/journal/dump_clocks.hpp"

#include <algorithm>
#include <utility>

#include "src/tool/read/dump/directory_entries.hpp"
#include "src/tool/read/journal/journal_line.hpp"
#include "src/tool/read/journal/journal_reader.hpp"

namespace opdump::tool {
namespace {

constexpr int kMostAbove = 6;  ///< from a file's directory to that of its journal

/// Calls `use(line)` for each line of the journal at `path` that can be read.
template <class Use>
void for_each_line(const std::string& path, const Use& use) {
  JournalReader reader;
  if (!reader.open(path)) return;
  for (auto next = reader.next(); next == JournalReader::Next::line || next == JournalReader::Next::too_long;
       next = reader.next()) {
    if (next == JournalReader::Next::line) use(reader.line());
  }
}

std::string above(const std::string& directory) {
  const std::size_t slash = directory.rfind('/');
  return slash == std::string::npos ? std::string() : directory.substr(0, slash);
}

std::string below(const std::string& path, const std::string& directory) {
  return directory.empty() ? path : path.substr(directory.size() + 1);
}

/// The directory that was named on the command line.
std::string root_of(const FoundFile& file) {
  std::string directory = above(file.path);
  if (!file.below.empty()) directory.resize(directory.size() - std::min(directory.size(), file.below.size()));
  while (directory.ends_with('/')) directory.pop_back();
  return directory;
}

/// The steps that the journal at `path` tells; none if it cannot be read.
ClockSteps read_clock_steps(const std::string& path) {
  ClockSteps steps;
  for_each_line(path, [&steps](std::string_view text) {
    JournalLine line;
    std::string reason;
    if (text.starts_with("clock,") && parse_journal_line(text, line, reason))
      static_cast<void>(steps.add(line.clock));
  });
  return steps;
}

}  // namespace

DumpClocks::DumpClocks(const std::vector<FoundFile>& files) {
  JournalName name;
  for (const FoundFile& file : files) {
    if (parse_journal_name(file.real_name, name)) add(above(file.path), file.path);
  }
}

void DumpClocks::add(const std::string& directory, const std::string& path) {
  directories_[directory].paths.push_back(path);
}

const std::string& DumpClocks::look_above(const std::string& root) {
  const auto [at, is_new] = above_.try_emplace(root);
  if (!is_new) return at->second;
  std::string directory = real_path(root);
  for (int i = 0; i < kMostAbove && !directory.empty(); ++i, directory = above(directory)) {
    for (const std::string& name : journal_names(directory)) {
      add(directory, path_of(directory, name));
      at->second = directory;
    }
    if (!at->second.empty()) break;
  }
  return at->second;
}

void DumpClocks::read(Journals& journals) {
  journals.read = true;
  std::vector<ClockSteps> told;
  for (const std::string& path : journals.paths) told.push_back(read_clock_steps(path));
  journals.steps = told.front();
  if (std::all_of(told.begin(), told.end(), [&](const ClockSteps& steps) { return steps == told.front(); }))
    return;
  journals.differ = true;
  for (std::size_t i = 0; i < told.size(); ++i) {
    for_each_line(journals.paths[i], [&](std::string_view text) {
      JournalLine line;
      std::string reason;
      if (told[i].empty() || !parse_journal_line(text, line, reason) || line.path_text.empty()) return;
      const auto [at, is_new] = journals.own.try_emplace(std::string(line.path_text), told[i]);
      if (!is_new && !(at->second == told[i])) at->second = {};
    });
  }
}

std::uint64_t DumpClocks::time_of(const FoundFile& file, std::uint64_t us) {
  const std::string here = above(file.path);
  std::string directory = here;
  auto found = directories_.find(directory);
  for (int i = 0; found == directories_.end() && i < kMostAbove && !directory.empty(); ++i) {
    directory = above(directory);
    found = directories_.find(directory);
  }
  if (found == directories_.end()) {
    directory = look_above(root_of(file));
    if (directory.empty()) return us;
    found = directories_.find(directory);
  }
  Journals& journals = found->second;
  if (!journals.read) read(journals);
  if (!journals.differ) return journals.steps.time_of(us);
  std::string place = here;
  if (!place.starts_with(directory)) place = real_path(here);
  place = place.size() > directory.size() ? below(place, directory) + '/' : std::string();
  const auto own = journals.own.find(place + file.real_name);
  return own == journals.own.end() ? us : own->second.time_of(us);
}

}  // namespace opdump::tool
