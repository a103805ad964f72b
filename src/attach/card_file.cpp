#include "src/attach/card_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string_view>

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {
namespace {

std::string path_of(const DumpTarget& target) {
  const std::string directory = directory_of(target);
  return std::string(target.root) + (directory.empty() ? "" : "/") + directory;
}

bool holds(const std::string& path, std::string_view text) {
  const posix::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) != text.size())
    return false;
  std::string there(text.size(), '\0');
  std::size_t got = 0;
  while (got < there.size()) {
    const ssize_t more = read(file.get(), there.data() + got, there.size() - got);
    if (more <= 0) return false;
    got += static_cast<std::size_t>(more);
  }
  return there == text;
}

}  // namespace

DumpTarget card_target(const CardPlace& place) {
  DumpTarget target = {.root = place.config.dump_path, .time = place.time, .form = place.config.form};
  target.form.rank = folder_rank(place.config, place.device_id);
  if (!has_rank_folder(place.config.form.layout)) target.exception = place.config.exception;
  char directory[kMaxDumpDirectoryBytes];
  target.directory_bytes = static_cast<std::uint8_t>(put_dump_directory(directory, target) - directory);
  return target;
}

std::string directory_of(const DumpTarget& target) {
  char directory[kMaxDumpDirectoryBytes];
  return {directory, put_dump_directory(directory, target)};
}

std::unique_ptr<posix::TreeSink> make_card_sink(const CardPlace& place) {
  posix::TreeOptions options = posix::tree_options(place.config.options);
  options.limits.keep = Keep::oldest;
  return std::make_unique<posix::TreeSink>(options);
}

bool waits_for_failure(const DumpConfig& config) {
  return config.exception != ExceptionDump::none || config.options.history_steps != 0;
}

bool has_directory(const CardPlace& place) {
  struct stat status {};
  return stat(path_of(card_target(place)).c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Status write_card_file(const CardPlace& place, const std::string& text, bool sync) {
  constexpr std::uint32_t kMostCards = 1000;
  const DumpTarget target = card_target(place);
  const std::string directory = directory_of(target);
  const std::string start =
      "opdump." + std::to_string(place.device_id) + "." + std::to_string(place.model_id);
  const std::unique_ptr<posix::TreeSink> sink = make_card_sink(place);
  Status status = Status::already_exists;
  for (std::uint32_t i = 1; status == Status::already_exists && i <= kMostCards; ++i) {
    const std::string file = start + (i == 1 ? "" : "." + std::to_string(i)) + ".model.json";
    if (holds(path_of(target) + "/" + file, text)) return Status::ok;
    const ObjectName name = {.root = target.root,
                             .directory = directory,
                             .file = file,
                             .facts = facts_of(target, ObjectKind::extra)};
    OpenObject object;
    status = object.begin(*sink, name);
    if (status == Status::ok) status = object.put(as_bytes(text));
    if (status == Status::ok) status = object.commit();
  }
  return status == Status::ok && sync ? sink->sync() : status;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
