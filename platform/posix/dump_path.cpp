#include "dump_path.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace opdump::posix {

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
    if (cause == ENOENT) reason += "; create it with mkdir -p";
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

}  // namespace opdump::posix
