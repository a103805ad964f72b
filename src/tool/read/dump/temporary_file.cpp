#include "src/tool/read/dump/temporary_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "platform/posix/impl/trusted_variable.hpp"
#include "platform/posix/impl/write_all.hpp"

namespace opdump::tool {
namespace {

std::string temporary_directory() {
  const char* const named = posix::trusted_variable("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/tmp";
}

}  // namespace

bool TemporaryFile::open() {
  if (file_) return true;
  std::string path = temporary_directory() + "/opdump-" + std::string(6, 'X');
  file_.reset(mkostemp(path.data(), O_CLOEXEC));
  if (!file_) {
    error_ = temporary_directory() + ": " + strerror(errno);
    return false;
  }
  unlink(path.c_str());
  return true;
}

bool TemporaryFile::append(Bytes bytes) {
  if (!open()) return false;
  if (const int problem = posix::write_all(file_.get(), {&bytes, 1}); problem != 0) {
    error_ = temporary_directory() + ": " + strerror(problem);
    return false;
  }
  size_ += bytes.size();
  return true;
}

bool TemporaryFile::read(std::uint64_t at, MutableBytes to) const {
  while (!to.empty()) {
    const ssize_t got = pread(file_.get(), to.data(), to.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      error_ = temporary_directory() + ": " + strerror(got < 0 ? errno : EIO);
      return false;
    }
    at += static_cast<std::uint64_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace opdump::tool
