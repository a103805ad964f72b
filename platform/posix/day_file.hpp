#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "opdump/parts/trigger_days.hpp"
#include "platform/posix/base/errno_status.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "platform/posix/impl/write_all.hpp"
#include "platform/posix/tree/tree_files.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// A DayStore in a file, `opdump.{device}.0.day`, which a save replaces whole. One program at a time for each
/// device. Allocates.
class DayFile final : public DayStore {
 public:
  /// From now on in the directory `directory`.
  void place(std::string_view directory, std::uint32_t device) {
    directory_ = directory.empty() ? "." : std::string(directory);
    path_ = directory_ + "/opdump." + std::to_string(device) + ".0.day";
  }

  std::size_t load(MutableBytes to) override {
    const UniqueFd file(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    std::size_t bytes = 0;
    while (file.get() >= 0 && bytes < to.size()) {
      const ssize_t now = read(file.get(), to.data() + bytes, to.size() - bytes);
      if (now < 0 && errno == EINTR) continue;
      if (now <= 0) break;
      bytes += static_cast<std::size_t>(now);
    }
    return bytes;
  }

  [[nodiscard]] Status save(Bytes bytes) override {
    const std::string part = path_ + ".part";
    const UniqueFd file(open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (file.get() < 0) return status_of(errno);
    int error = write_all(file.get(), {&bytes, 1});
    if (error == 0 && fsync(file.get()) != 0) error = errno;
    if (error == 0 && rename(part.c_str(), path_.c_str()) != 0) error = errno;
    if (error != 0) {
      static_cast<void>(unlink(part.c_str()));
      return status_of(error);
    }
    const UniqueFd directory(open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const int unsynced = directory ? sync_directory(directory.get()) : 0;
    return unsynced == 0 ? Status::ok : status_of(unsynced);
  }

 private:
  std::string directory_;
  std::string path_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
