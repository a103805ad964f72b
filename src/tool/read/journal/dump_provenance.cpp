#include "src/tool/read/journal/dump_provenance.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/config/text/human_text.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/journal/journal_line.hpp"
#include "src/tool/read/journal/journal_reader.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kShownDigits = 12;
constexpr std::size_t kMostEmpty = 4096;  ///< directories without anything, of which that is remembered

void insert(std::set<std::string>& to, std::string_view text) {
  if (!text.empty()) to.emplace(text);
}

void insert(std::set<std::string>& to, const std::set<std::string>& from) {
  to.insert(from.begin(), from.end());
}

/// A journal has one such line, at its beginning, its end or both.
void read_journal(const std::string& path, DumpProvenance& to) {
  JournalReader reader;
  if (!reader.open(path)) return;
  JournalLine line;
  std::string reason;
  for (auto next = reader.next(); next == JournalReader::Next::line || next == JournalReader::Next::too_long;
       next = reader.next()) {
    if (journal_kind(reader.line()) != JournalLineKind::provenance ||
        !parse_journal_line(reader.line(), line, reason))
      continue;
    insert(to.builds, line.provenance.build_id);
    insert(to.configs, line.provenance.config);
    insert(to.versions, line.provenance.opdump);
    insert(to.models, line.provenance.model);
    insert(to.runtimes, line.provenance.runtime);
    return;
  }
}

/// "build 5d3a... or 77c1...".
std::string list_text(const std::set<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : " or ") + printable(text);
  return list;
}

bool are_apart(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return !a.empty() && !b.empty() && both.empty();
}

void add_text(std::string& to, std::string_view what, const std::string& text) {
  if (!text.empty()) to.append(to.empty() ? "" : ", ").append(what).append(text);
}

std::string text_of(const std::string& build, const std::string& config, const std::string& version,
                    const std::string& model, const std::string& runtime) {
  std::string text;
  add_text(text, "build ", build);
  add_text(text, "config ", config);
  add_text(text, "opdump ", version);
  add_text(text, "model ", model);
  add_text(text, "", runtime);
  return text;
}

}  // namespace

std::string provenance_text(const Provenance& provenance) {
  return text_of(printable(provenance.build_id), printable(provenance.config), printable(provenance.opdump),
                 printable(provenance.model), printable(provenance.runtime));
}

std::string provenance_text(const DumpProvenance& provenance) {
  return text_of(list_text(provenance.builds), list_text(provenance.configs), list_text(provenance.versions),
                 list_text(provenance.models), list_text(provenance.runtimes));
}

void write_provenance(JsonWriter& json, const DumpProvenance& provenance) {
  const std::pair<std::string_view, const std::set<std::string>*> lists[] = {
      {"build_id", &provenance.builds},
      {"config", &provenance.configs},
      {"opdump", &provenance.versions},
      {"model", &provenance.models},
      {"runtime", &provenance.runtimes}};
  if (std::all_of(std::begin(lists), std::end(lists), [](const auto& list) { return list.second->empty(); }))
    return;
  json.key("provenance").open('{');
  for (const auto& [key, texts] : lists) {
    if (texts->empty()) continue;
    json.key(key).open('[');
    for (const std::string& text : *texts) json.text(text);
    json.close(']');
  }
  json.close('}');
}

const ProvenanceReader::Found& ProvenanceReader::in(const std::string& directory) {
  if (read_.size() >= kMostEmpty) std::erase_if(read_, [](const auto& each) { return !each.second.any; });
  const auto [at, is_new] = read_.try_emplace(directory);
  Found& found = at->second;
  if (!is_new) return found;
  for (const auto& card : cards_.in(directory)) {
    found.any = true;
    insert(found.told.builds, card->model().build_id);
    insert(found.told.runtimes, card->model().runtime);
    insert(found.told.card_models, card->model().sha256);
  }
  for (const std::string& name : journal_names(directory)) {
    found.any = true;
    read_journal(directory.empty() ? name : path_of(directory, name), found.told);
  }
  return found;
}

void ProvenanceReader::add(std::string directory, DumpProvenance& to) {
  constexpr int kMostAbove = 5;
  for (int i = 0; i <= kMostAbove; ++i) {
    const Found& found = in(directory);
    insert(to.builds, found.told.builds);
    insert(to.configs, found.told.configs);
    insert(to.versions, found.told.versions);
    insert(to.runtimes, found.told.runtimes);
    insert(to.models, found.told.models);
    insert(to.card_models, found.told.card_models);
    const std::size_t slash = directory.rfind('/');
    if (found.any || slash == std::string::npos) return;
    directory.resize(slash);
  }
}

std::string unlike_models(const std::string& a_name, const DumpProvenance& a, const std::string& b_name,
                          const DumpProvenance& b) {
  if (a.models.empty() && b.models.empty()) return {};
  const std::set<std::string>& own = a.models.empty() ? a.card_models : a.models;
  const std::set<std::string>& other = b.models.empty() ? b.card_models : b.models;
  if (!are_apart(own, other)) return {};
  return "the model is another one in " + a_name + " (SHA-256 " + own.begin()->substr(0, kShownDigits) +
         "...) than in " + b_name + " (" + other.begin()->substr(0, kShownDigits) + "...)";
}

std::vector<std::string> unlike_provenance(const std::string& a_name, const DumpProvenance& a,
                                           const std::string& b_name, const DumpProvenance& b) {
  std::vector<std::string> unlike;
  const auto judge = [&](std::string_view what, const std::set<std::string>& own,
                         const std::set<std::string>& other) {
    if (!are_apart(own, other)) return;
    unlike.push_back(std::string(what) + ": " + list_text(own) + " made " + a_name + ", " + list_text(other) +
                     " made " + b_name);
  };
  judge("different builds of the program", a.builds, b.builds);
  judge("different configs", a.configs, b.configs);
  judge("different runtimes", a.runtimes, b.runtimes);
  judge("different versions of opdump", a.versions, b.versions);
  return unlike;
}

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
    if (journal_kind(text) == JournalLineKind::clock && parse_journal_line(text, line, reason))
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
