#include "src/tool/dump/found_files.hpp"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <span>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/dump/digest_file.hpp"
#include "src/tool/dump/lite_name.hpp"
#include "src/tool/dump/mapping_file.hpp"
#include "src/tool/dump/pending_pairs.hpp"
#include "src/tool/dump/record_name.hpp"
#include "src/tool/seal/sealed_notice.hpp"

namespace opdump::tool {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

std::string joined(const std::string& directory, std::string_view name) {
  std::string path = directory;
  if (!path.empty() && path.back() != '/') path += '/';
  return path.append(name);
}

struct TimedFile {
  std::optional<std::uint64_t> unix_us;
  FoundFile file;
};

/// By time where both have one, those without behind.
bool earlier(const TimedFile& a, const TimedFile& b) {
  if (a.unix_us.has_value() != b.unix_us.has_value()) return a.unix_us.has_value();
  if (a.unix_us != b.unix_us) return *a.unix_us < *b.unix_us;
  return natural_less(a.file.real_name, b.file.real_name);
}

void sort_by_time(std::span<FoundFile> files) {
  std::vector<TimedFile> timed;
  timed.reserve(files.size());
  for (FoundFile& file : files) {
    const std::optional<RecordName> name = find_record_name(file.real_name);
    timed.push_back(
        {name && !name->name_only ? std::optional(name->unix_us) : std::nullopt, std::move(file)});
  }
  std::sort(timed.begin(), timed.end(), earlier);
  for (std::size_t i = 0; i < timed.size(); ++i) files[i] = std::move(timed[i].file);
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

/// Takes away the files that belong to pairs which were not committed.
void pass_over(const PendingPairs& pairs, std::size_t first, std::vector<FoundFile>& files,
               const SearchReport& report) {
  std::vector<FoundFile> kept;
  for (std::size_t i = first; i < files.size(); ++i) {
    if (const std::string* other = pairs.other(files[i].real_name)) {
      report.note(files[i].path + ": passed over, not committed: its writer was cut off before " + *other +
                  ", without which it does not count");
    } else {
      kept.push_back(std::move(files[i]));
    }
  }
  files.resize(first);
  files.insert(files.end(), std::move_iterator(kept.begin()), std::move_iterator(kept.end()));
}

/// Adds the files directly in `directory`, and gives the names of its directories.
std::vector<std::string> list(const std::string& directory, const std::string& below,
                              std::vector<FoundFile>& files, const SearchReport& report) {
  std::vector<std::string> directories;
  PendingPairs pairs;
  const std::size_t first = files.size();
  const std::unique_ptr<DIR, CloseDirectory> open(opendir(directory.c_str()));
  if (open == nullptr) {
    report.error(directory + ": " + strerror(errno));
    return directories;
  }
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || name == kMappingFileName) continue;
    const std::string path = joined(directory, name);
    const std::optional<EntryKind> kind = kind_of(*entry, path);
    if (!kind) {
      report.error(path + ": " + strerror(errno));
    } else if (*kind == EntryKind::directory) {
      directories.emplace_back(name);
    } else if (*kind == EntryKind::other) {
      report.note(path + ": passed over, not a regular file");
    } else if (name.ends_with(kUnfinishedSuffix)) {
      report.note(path + ": passed over, not finished: its writer still runs or was cut off");
      pairs.read(directory, name);
    } else {
      files.push_back({path, std::string(name), below, false});
    }
  }
  if (errno != 0) report.error(directory + ": " + strerror(errno));
  if (!pairs.empty()) pass_over(pairs, first, files, report);
  return directories;
}

void find_in(const std::string& directory, const std::string& below, bool recursive,
             std::vector<FoundFile>& files, const SearchReport& report) {
  const std::size_t first = files.size();
  std::vector<std::string> directories = list(directory, below, files, report);
  const std::span<FoundFile> found = std::span(files).subspan(first);
  MappingFile mapping;
  if (const std::string problem = mapping.read(joined(directory, kMappingFileName)); !problem.empty())
    report.note(problem);
  for (FoundFile& file : found) file.real_name = mapping.real_name(file.real_name);
  sort_by_time(found);

  if (!recursive) return;
  std::sort(directories.begin(), directories.end(), natural_less);
  for (const std::string& name : directories)
    find_in(joined(directory, name), below.empty() ? name : joined(below, name), recursive, files, report);
}

}  // namespace

std::uint64_t total_bytes(const std::vector<FoundFile>& files) {
  std::uint64_t bytes = 0;
  for (const FoundFile& file : files) {
    struct stat status {};
    if (stat(file.path.c_str(), &status) == 0) bytes += static_cast<std::uint64_t>(status.st_size);
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
  const bool expected = ends(".npy") || ends(".journal") || ends(".csv") || ends(".bin") || ends(".json") || ends(".tokens");
  return expected ? Stray::expected : Stray::worth_a_note;
}

namespace {

/// Of the files from number `first` on.
void pass_over_sealed(const std::string& path, std::vector<FoundFile>& files, std::size_t first,
                      const SearchReport& report) {
  // A dump is sealed as a whole.
  const std::string key = first < files.size() ? sealed_for(files[first].path) : std::string();
  if (key.empty()) return;
  report.error(sealed_text(path, key));
  const auto is_sealed = [](const FoundFile& file) { return !sealed_for(file.path).empty(); };
  files.erase(std::remove_if(files.begin() + static_cast<std::ptrdiff_t>(first), files.end(), is_sealed),
              files.end());
}

void find_any(const std::string& path, bool recursive, std::vector<FoundFile>& files,
              const SearchReport& report) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return report.error(path + ": " + strerror(errno));
  if (S_ISDIR(status.st_mode)) return find_in(path, {}, recursive, files, report);
  if (!S_ISREG(status.st_mode)) return report.error(path + ": neither a file nor a directory");
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  MappingFile mapping;
  const std::string directory = slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
  if (const std::string problem = mapping.read(joined(directory, kMappingFileName)); !problem.empty())
    report.note(problem);
  files.push_back({path, mapping.real_name(name), {}, true});
}

}  // namespace

void find_files(const std::string& path, bool recursive, std::vector<FoundFile>& files,
                const SearchReport& report, SealedFiles sealed) {
  const std::size_t first = files.size();
  find_any(path, recursive, files, report);
  if (sealed == SealedFiles::passed_over) pass_over_sealed(path, files, first, report);
}

}  // namespace opdump::tool
