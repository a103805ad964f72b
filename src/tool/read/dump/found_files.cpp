#include "src/tool/read/dump/found_files.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "opdump/base/bytes.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "platform/posix/tree/tree_files.hpp"
#include "platform/posix/tree/tree_quota.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/csv_file.hpp"
#include "src/tool/read/dump/digest_file.hpp"
#include "src/tool/read/dump/mapped_file.hpp"
#include "src/tool/read/dump/record_name.hpp"
#include "src/tool/read/dump/sealed_head.hpp"

namespace opdump::tool {

namespace {

/// Where the directory itself tells what the entry is, which many file systems do, the file is not asked.
DirectoryEntry::Kind entry_kind(const std::string& directory, const dirent& entry) {
  if (entry.d_type == DT_REG) return DirectoryEntry::Kind::file;
  if (entry.d_type == DT_DIR) return DirectoryEntry::Kind::directory;
  struct stat status {};
  if (entry.d_type != DT_UNKNOWN || !look_at(path_of(directory, entry.d_name), status))
    return DirectoryEntry::Kind::other;
  if (S_ISREG(status.st_mode)) return DirectoryEntry::Kind::file;
  return S_ISDIR(status.st_mode) ? DirectoryEntry::Kind::directory : DirectoryEntry::Kind::other;
}

/// What a directory lists beside what is in it, and dumps that give way to newer ones.
bool is_passed_over(std::string_view name) {
  return name == "." || name == ".." || posix::is_removed_dump(name);
}

}  // namespace

std::string path_of(const std::string& directory, std::string_view name) {
  std::string path = directory;
  if (!path.empty() && path.back() != '/') path += '/';
  return path.append(name);
}

bool look_at(const std::string& path, struct stat& status) {
  return fstatat(AT_FDCWD, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

std::vector<DirectoryEntry> read_directory(const std::string& directory, std::string& error) {
  std::vector<DirectoryEntry> entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  if (open == nullptr) {
    error = strerror(errno);
    return entries;
  }
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (is_passed_over(name)) continue;
    entries.push_back({std::string(name), entry_kind(directory, *entry)});
  }
  if (errno != 0) error = strerror(errno);
  std::sort(entries.begin(), entries.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return natural_less(a.name, b.name); });
  return entries;
}

namespace {

bool is_note(std::string_view name) {
  if (!name.ends_with(posix::kPairSuffix)) return false;
  name.remove_suffix(posix::kPairSuffix.size());
  return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
}

/// Takes what stands before the next NUL off `text`; empty when there is none.
std::string take_name(std::string_view& text) {
  const std::size_t end = text.find('\0');
  if (end == text.npos) return {};
  const std::string name(text.substr(0, end));
  text.remove_prefix(end + 1);
  return name;
}

}  // namespace

void PendingPairs::read(const std::string& directory, std::string_view name) {
  if (!is_note(name)) return;
  MappedFile file;
  if (!file.open(directory + "/" + std::string(name))) return;
  std::string_view text = as_text(file.bytes());
  const std::string first = take_name(text);
  const std::string second = take_name(text);
  if (first.empty() || second.empty() || !text.empty()) return;
  others_[first] = second;
  others_[second] = first;
}

const std::string* PendingPairs::other(std::string_view name) const {
  const auto found = others_.find(name);
  return found == others_.end() ? nullptr : &found->second;
}

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

std::string joined(const std::string& directory, std::string_view name) {
  std::string path = directory;
  if (!path.empty() && path.back() != '/') path += '/';
  return path.append(name);
}

/// By time, those without one behind; of one time by their names.
using TimedFile = std::pair<std::uint64_t, FoundFile>;

std::uint64_t time_of(const FoundFile& file) {
  const std::optional<RecordName> name = find_record_name(file.real_name);
  return name && !name->name_only ? name->unix_us : UINT64_MAX;
}

bool comes_before(const TimedFile& a, const TimedFile& b) {
  return a.first != b.first ? a.first < b.first : natural_less(a.second.real_name, b.second.real_name);
}

enum class EntryKind { file, directory, other };

/// Where the directory itself tells what the entry is, which many file systems do, the file is not asked.
/// Nothing, and an errno, when it cannot be. A symbolic link to a directory is something else.
std::optional<EntryKind> kind_of(const dirent& entry, const std::string& path) {
  if (entry.d_type == DT_REG) return EntryKind::file;
  if (entry.d_type == DT_DIR) return EntryKind::directory;
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return std::nullopt;
  if (S_ISDIR(status.st_mode)) return EntryKind::directory;
  if (S_ISLNK(status.st_mode) && stat(path.c_str(), &status) != 0) return std::nullopt;
  return S_ISREG(status.st_mode) ? EntryKind::file : EntryKind::other;
}

/// A search through one directory and those below it.
class DirectorySearch {
 public:
  DirectorySearch(bool recursive, const TakeFile& take, const SearchReport& report)
      : recursive_(recursive), take_(take), report_(report) {}

  void find_in(const std::string& directory, const std::string& below) {
    for (const std::string& name : find_here(directory, below)) {
      if (recursive_) find_in(joined(directory, name), below.empty() ? name : joined(below, name));
    }
  }

 private:
  /// Gives the files directly in `directory`, and returns the names of its directories.
  std::vector<std::string> find_here(const std::string& directory, const std::string& below) {
    MappingFile mapping;
    const std::string problem = mapping.read(joined(directory, kMappingFileName));
    std::vector<TimedFile> files;
    std::vector<std::string> directories;
    PendingPairs pairs;
    list(directory, below, mapping, files, directories, pairs);
    std::stable_sort(files.begin(), files.end(), comes_before);
    std::sort(directories.begin(), directories.end(), natural_less);
    for (const auto& [time, file] : files) {
      const std::string* const other = pairs.other(file.path.substr(file.path.rfind('/') + 1));
      if (other == nullptr) {
        take_(file);
      } else {
        report_.note(file.path + ": passed over, not committed: its writer was cut off before " + *other +
                     ", without which it does not count");
      }
    }
    if (!problem.empty()) report_.note(problem);
    return directories;
  }

  void list(const std::string& directory, const std::string& below, const MappingFile& mapping,
            std::vector<TimedFile>& files, std::vector<std::string>& directories, PendingPairs& pairs) {
    const std::unique_ptr<DIR, CloseDirectory> open(opendir(directory.c_str()));
    if (open == nullptr) return report_.error(directory + ": " + strerror(errno));
    for (;;) {
      errno = 0;
      const dirent* entry = readdir(open.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (is_passed_over(name) || name == kMappingFileName) continue;
      const std::string path = joined(directory, name);
      const std::optional<EntryKind> kind = kind_of(*entry, path);
      if (!kind) {
        report_.error(path + ": " + strerror(errno));
      } else if (*kind == EntryKind::directory) {
        directories.emplace_back(name);
      } else if (*kind == EntryKind::other) {
        report_.note(path + ": passed over, not a regular file");
      } else if (name.ends_with(kUnfinishedSuffix)) {
        report_.note(path + ": passed over, not finished: its writer still runs or was cut off");
        pairs.read(directory, name);
      } else {
        FoundFile file = {path, mapping.real_name(std::string(name)), below, false};
        const std::uint64_t time = time_of(file);
        files.emplace_back(time, std::move(file));
      }
    }
    if (errno != 0) report_.error(directory + ": " + strerror(errno));
  }

  const bool recursive_;
  const TakeFile& take_;
  const SearchReport& report_;
};

}  // namespace

std::uint64_t bytes_of(const FoundFile& file) {
  struct stat status {};
  return stat(file.path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::uint64_t total_bytes(const std::vector<FoundFile>& files) {
  std::uint64_t bytes = 0;
  Progress progress(files.size(), "measuring files");
  for (const FoundFile& file : files) {
    bytes += bytes_of(file);
    progress.add();
  }
  return bytes;
}

std::optional<std::uint32_t> parse_boot(std::string_view text) {
  const std::optional<std::uint64_t> number = parse_decimal(text);
  if (!number || *number > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

std::optional<std::uint32_t> boot_of(std::string_view path) {
  constexpr std::string_view kStart = "boot_";
  for (std::size_t slash = path.rfind('/'); slash != path.npos; slash = path.rfind('/')) {
    path = path.substr(0, slash);
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (!name.starts_with(kStart)) continue;
    if (const std::optional<std::uint32_t> boot = parse_boot(name.substr(kStart.size()))) return boot;
  }
  return std::nullopt;
}

std::string real_path(const std::string& directory) {
  const std::unique_ptr<char, decltype(&free)> real(
      realpath(directory.empty() ? "." : directory.c_str(), nullptr), free);
  return real == nullptr ? directory : real.get();
}

std::string stray_note(const FoundFile& file) {
  return file.path + (is_digest_name(file.real_name)
                          ? ": passed over, holds digests, which 'opdump diff' compares"
                          : ": passed over, not a dump record");
}

Stray judge_stray(const FoundFile& file) {
  if (file.named || parse_record_name(file.real_name) || parse_lite_name(file.real_name)) return Stray::error;
  const auto ends = [&file](std::string_view suffix) { return file.real_name.ends_with(suffix); };
  const bool expected = ends(".npy") || ends(".journal") || ends(".bin") || ends(".json");
  return expected ? Stray::expected : Stray::worth_a_note;
}

namespace {

void find_any(const std::string& path, bool recursive, const TakeFile& take, const SearchReport& report) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return report.error(path + ": " + strerror(errno));
  if (S_ISDIR(status.st_mode)) return DirectorySearch(recursive, take, report).find_in(path, {});
  if (!S_ISREG(status.st_mode)) return report.error(path + ": neither a file nor a directory");
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  MappingFile mapping;
  const std::string directory = slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
  if (const std::string problem = mapping.read(joined(directory, kMappingFileName)); !problem.empty())
    report.note(problem);
  take({path, mapping.real_name(name), {}, true});
}

}  // namespace

SearchReport said_by(const std::string& command, std::uint64_t& faults) {
  const auto note = [command](const std::string& message) { say("opdump " + command + ": " + message); };
  return {.error =
              [note, &faults](const std::string& message) {
                ++faults;
                note(message);
              },
          .note = note};
}

SearchReport above_bar(const SearchReport& report, Progress& progress) {
  const auto above = [&progress](const std::function<void(const std::string&)>& tell) {
    return [&progress, &tell](const std::string& message) {
      progress.wipe();
      tell(message);
    };
  };
  return {.error = above(report.error), .note = above(report.note)};
}

void find_files(const std::string& path, bool recursive, const TakeFile& take, const SearchReport& report,
                SealedFiles sealed) {
  if (sealed == SealedFiles::wanted) return find_any(path, recursive, take, report);
  bool first = true;
  std::string key;
  Progress progress(0, "files found");
  const auto take_open = [&](const FoundFile& file) {
    progress.add();
    // A dump is sealed as a whole.
    if (first) key = sealed_for(file.path);
    first = false;
    if (key.empty() || sealed_for(file.path).empty()) take(file);
  };
  find_any(path, recursive, take_open, above_bar(report, progress));
  progress.wipe();
  if (!key.empty()) report.error(sealed_text(path, key));
}

void find_files(const std::string& path, bool recursive, std::vector<FoundFile>& files,
                const SearchReport& report, SealedFiles sealed) {
  find_files(
      path, recursive, [&files](const FoundFile& file) { files.push_back(file); }, report, sealed);
}

std::vector<std::byte> sealed_head_of(const std::string& path) {
  const posix::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::vector<std::byte> head(sealed::kHeadBytes);
  if (!file || read(file.get(), head.data(), head.size()) != static_cast<ssize_t>(head.size()) ||
      !begins_stream(head))
    return {};
  return head;
}

std::string sealed_for(const std::string& path) {
  const std::vector<std::byte> head = sealed_head_of(path);
  return head.empty() ? std::string() : cards::hexadecimal(SealedHead(head).key_id());
}

std::string sealed_text(const std::string& path, const std::string& key_id) {
  return path + ": sealed for key " + key_id + ": 'opdump open --key FILE " + path +
         " -o DIR' opens it first";
}

}  // namespace opdump::tool
