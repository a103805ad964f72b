#include "platform/posix/impl/dump_path.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

namespace {

/// What to do about a directory that is missing. No shell has expanded the path, so '~' and '$' are still in it.
std::string advice(const std::string& path) {
  if (path.starts_with('~') || path.find('$') != std::string::npos)
    return "; '~' and '$' stand for themselves here, nothing expands them: write the whole path";
  if (path.starts_with('/')) return "; create it with mkdir -p";
  char current[PATH_MAX];
  const bool known = ::getcwd(current, sizeof current) != nullptr;
  return "; it is looked for below the directory that the process runs in" +
         (known ? std::string(", \"") + current + '"' : std::string()) +
         ": create it there with mkdir -p, or write a path from '/' on";
}

}  // namespace

bool check_dump_path(std::string_view dump_path, std::string& reason) {
  const std::string path(dump_path);
  const std::string shown = "the directory \"" + path + '"';
  if (path.find('\0') != std::string::npos) {
    reason = shown + " has a NUL byte in its name: remove it";
    return false;
  }
  char real[PATH_MAX];
  struct stat status;
  if (::realpath(path.c_str(), real) == nullptr || ::stat(real, &status) != 0) {
    const int cause = errno;
    reason = shown + ": " + std::strerror(cause);
    if (cause == ENOENT) reason += advice(path);
    return false;
  }
  if (!S_ISDIR(status.st_mode)) {
    reason = '"' + path + "\" is not a directory: name one, or remove the file and run mkdir -p";
    return false;
  }
  if (::access(real, R_OK | W_OK) != 0) {
    const int cause = errno;
    reason = shown + " cannot be read and written by this user: " + std::strerror(cause) +
             "; change its mode with chmod u+rwx or its owner with chown";
    return false;
  }
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
