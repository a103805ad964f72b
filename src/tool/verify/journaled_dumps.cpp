#include "src/tool/verify/journaled_dumps.hpp"

#include <sys/stat.h>
#include <algorithm>
#include <optional>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/journal/journal_line.hpp"
#include "src/tool/read/journal/journal_reader.hpp"

namespace opdump::tool {

void JournaledDevice::join(JournaledDevice& other) {
  all_closed &= other.all_closed;
  unnamed += other.unnamed;
  is_unsure |= other.is_unsure;
  found += other.found;
  removed += other.removed;
  is_cut |= other.is_cut;
  has_history |= other.has_history;
  counts_rows |= other.counts_rows;
  has_rows |= other.has_rows;
  other = {};
}

JournaledDevices::Devices::iterator JournaledDevices::of(const std::string& path) {
  if (const std::optional<std::uint64_t> number = device_in(path)) return devices_.find(*number);
  if (devices_.size() < 2) return devices_.begin();
  const auto with_gaps = std::find_if(devices_.begin(), devices_.end(),
                                      [](const auto& device) { return device.second.has_gaps; });
  if (with_gaps == devices_.end()) return devices_.begin();
  is_shared_ = true;
  return with_gaps;
}

bool JournaledDevices::all_closed(Devices::iterator device) const {
  return std::all_of(devices_.begin(), devices_.end(), [&](const auto& other) {
    return other.second.all_closed || (device != devices_.end() && other.first != device->first);
  });
}

/// All devices that journals without names count records of become the first of these.
void JournaledDevices::join() {
  JournaledDevice* first = nullptr;
  for (auto& [number, device] : devices_) {
    if (!device.has_gaps) continue;
    if (first == nullptr) {
      first = &device;
    } else {
      first->join(device);
    }
  }
}

void JournaledDevices::tell(const Teller& teller) {
  if (is_shared_) join();
  for (const auto& [number, device] : devices_) {
    if (!device.has_gaps) continue;
    if (device.removed != 0) {
      teller.file(FindingKind::removed, number, count_text(device.removed, "file"));
      teller.nameless(device.removed);
    }
    const std::uint64_t found = device.found + device.removed;
    if (found == device.unnamed) continue;
    const bool fewer = found < device.unnamed;
    if (device.is_unsure || (!fewer && !device.all_closed)) continue;
    const std::string text = std::to_string(found) + (device.has_rows ? " files and rows" : " files") +
                             ", and the journals without names count " + count_text(device.unnamed, "record");
    if (fewer && device.is_cut) {
      teller.overwritten(number, text, device.unnamed - found);
    } else {
      teller.file(fewer ? FindingKind::missing : FindingKind::unlisted, number, text);
      if (fewer) teller.nameless(device.unnamed - found);
    }
  }
}

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
    if (entry.name == kHistoryFile) {
      for (const std::string& step : torn_steps(path_of(directory, entry.name)))
        findings.add(FindingKind::part, true, {directory, step}, {{"path", directory}, {"message", step}});
    }
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
