#include "found_files.hpp"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "mapping_file.hpp"
#include "record_name.hpp"

namespace opdump::tool {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

/// Of the files that the capture side and `convert` write aside.
constexpr std::string_view kUnfinishedSuffix = ".part";

std::string joined(const std::string& directory, std::string_view name) {
  std::string path = directory;
  if (!path.empty() && path.back() != '/') path += '/';
  return path.append(name);
}

/// By time where both have one, those without behind.
bool earlier(const FoundFile& a, const FoundFile& b) {
  const std::optional<RecordName> name_a = find_record_name(a.real_name);
  const std::optional<RecordName> name_b = find_record_name(b.real_name);
  if (name_a.has_value() != name_b.has_value()) return name_a.has_value();
  if (name_a && name_a->unix_us != name_b->unix_us) return name_a->unix_us < name_b->unix_us;
  return natural_less(a.real_name, b.real_name);
}

/// Adds the files directly in `directory`, and gives the names of its directories.
std::vector<std::string> list(const std::string& directory, const std::string& below,
                              std::vector<FoundFile>& files, const SearchReport& report) {
  std::vector<std::string> directories;
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
    struct stat link {};
    struct stat status {};
    int failed = lstat(path.c_str(), &link);
    status = link;
    if (failed == 0 && S_ISLNK(link.st_mode)) failed = stat(path.c_str(), &status);
    if (failed != 0) {
      report.error(path + ": " + strerror(errno));
    } else if (S_ISDIR(link.st_mode)) {
      directories.emplace_back(name);
    } else if (!S_ISREG(status.st_mode)) {
      report.note(path + ": passed over, not a regular file");
    } else if (name.ends_with(kUnfinishedSuffix)) {
      report.note(path + ": passed over, not finished: its writer still runs or was cut off");
    } else {
      files.push_back({path, std::string(name), below, static_cast<std::uint64_t>(status.st_size), false});
    }
  }
  if (errno != 0) report.error(directory + ": " + strerror(errno));
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
  std::sort(found.begin(), found.end(), earlier);

  if (!recursive) return;
  std::sort(directories.begin(), directories.end(), natural_less);
  for (const std::string& name : directories)
    find_in(joined(directory, name), below.empty() ? name : joined(below, name), recursive, files, report);
}

}  // namespace

Stray judge_stray(const FoundFile& file) {
  if (file.named || parse_record_name(file.real_name)) return Stray::error;
  const auto ends = [&file](std::string_view suffix) { return file.real_name.ends_with(suffix); };
  const bool expected = ends(".npy") || ends(".journal") || ends(".csv") || ends(".bin") || ends(".json");
  return expected ? Stray::expected : Stray::worth_a_note;
}

void find_files(const std::string& path, bool recursive, std::vector<FoundFile>& files,
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
  files.push_back({path, mapping.real_name(name), {}, static_cast<std::uint64_t>(status.st_size), true});
}

}  // namespace opdump::tool
