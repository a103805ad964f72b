#include "src/tool/verify/journaled_dumps.hpp"

#include <sys/stat.h>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/read/dump/directory_entries.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/journal/journal_line.hpp"

namespace opdump::tool {
namespace {

bool is_time(std::string_view name) {
  constexpr std::size_t kDigits = 14;
  return name.size() == kDigits && parse_decimal(name);
}

std::string own_name(const std::string& directory) {
  const std::string path = real_path(directory);
  return path.substr(path.rfind('/') + 1);
}

void find_named(const std::string& directory, const std::string& name, std::vector<JournaledDump>& dumps,
                std::uint64_t& journal_bytes, Findings& findings) {
  std::string error;
  const std::vector<DirectoryEntry> entries = read_directory(directory, error);
  if (!error.empty()) {
    const std::string message = "cannot be read: " + error;
    findings.add(FindingKind::none, true, {directory, message}, {{"path", directory}, {"message", message}});
    return;
  }
  JournaledDump dump = {directory, {}};
  for (const DirectoryEntry& entry : entries) {
    JournalName journal;
    if (entry.kind != DirectoryEntry::Kind::file || !parse_journal_name(entry.name, journal)) continue;
    dump.journals.push_back(entry.name);
    struct stat status {};
    if (stat(path_of(directory, entry.name).c_str(), &status) == 0)
      journal_bytes += static_cast<std::uint64_t>(status.st_size);
  }
  if (!dump.journals.empty() || is_time(name)) {
    dumps.push_back(std::move(dump));
    return;
  }
  for (const DirectoryEntry& entry : entries) {
    if (entry.kind == DirectoryEntry::Kind::directory)
      find_named(path_of(directory, entry.name), entry.name, dumps, journal_bytes, findings);
  }
}

}  // namespace

void find_dumps(const std::string& directory, std::vector<JournaledDump>& dumps, std::uint64_t& journal_bytes,
                Findings& findings) {
  find_named(directory, own_name(directory), dumps, journal_bytes, findings);
}

}  // namespace opdump::tool
