#pragma once
#include <errno.h>
#include <sys/stat.h>

#include <string>

#include "opdump/types/config.hpp"
#include "platform/posix/base/errno_status.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Makes `path` and its missing parents, accessible to this user only. Returns 0, or the errno that says why
/// there is no such directory.
inline int make_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && errno != EISDIR) {
      // mkdir may fail for an existing directory with another error, as under a read-only parent.
      const int error = errno;
      struct ::stat status {};
      if (::stat(part.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return error;
    }
    if (end == std::string::npos) break;
  }
  struct ::stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno;
  return S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
}

/// Makes the directory that `config` dumps to if the framework does: MindSpore, whose configs alone name a
/// network, makes it, and CANN and torchair require it, but not for MindSpore's layouts.
inline Status make_place(const DumpConfig& config) {
  const bool required = config.form.layout == Layout::cann && config.net_name.empty();
  const int error = required ? 0 : make_directories(std::string(config.dump_path));
  return error == 0 ? Status::ok : status_of(error);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
