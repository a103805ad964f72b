#include "src/tool/read/run/regular_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace opdump::tool {

bool open_regular(const std::string& path, posix::UniqueFd& file, std::uint64_t& bytes, std::string& reason) {
  file.reset(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) {
    reason = path + ": " + strerror(errno);
    return false;
  }
  if (!S_ISREG(status.st_mode)) {
    reason = path + ": not a regular file";
    return false;
  }
  bytes = static_cast<std::uint64_t>(status.st_size);
  return true;
}

bool read_up_to(int file, std::size_t most, std::string& text) {
  char block[16384];
  while (text.size() < most) {
    const ssize_t got = read(file, block, std::min(sizeof block, most - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    text.append(block, static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace opdump::tool
