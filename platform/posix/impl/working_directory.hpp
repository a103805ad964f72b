#pragma once
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "platform/posix/base/errno_status.hpp"
#include "platform/posix/base/unique_fd.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// The working directory as it is now, for calls such as openat; none with an errno.
inline UniqueFd open_working_directory() {
#if defined(O_PATH)
  return UniqueFd(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
#else
  return UniqueFd(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
#endif
}

/// Makes `absolute` the same place as `path`, which may be empty, whatever the working directory becomes.
/// `name_too_long` past `most` bytes; else the system's error for the working directory.
[[nodiscard]] inline Status make_absolute(std::string_view path, std::size_t most, std::string& absolute) {
  absolute.clear();
  if (!path.starts_with('/')) {
    char current[PATH_MAX];
    if (::getcwd(current, sizeof current) == nullptr) return status_of(errno);
    if (current[0] != '/') return status_of(ENOENT);  // the process cannot reach it from its root
    absolute = current;
    if (!path.empty() && !absolute.ends_with('/')) absolute += '/';
  }
  absolute += path;
  return absolute.size() <= most ? Status::ok : Status::name_too_long;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
