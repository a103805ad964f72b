#include "output_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>

#include "platform/posix/write_all.hpp"

namespace opdump::tool {

OutputFile::~OutputFile() {
  if (!aside_.empty()) unlink(aside_.c_str());
}

bool OutputFile::fail(int error) {
  error_ = path_ + ": " + strerror(error);
  return false;
}

bool OutputFile::create(const std::string& directory, const std::string& name) {
  path_ = directory + '/' + name;
  // Not made from the file's name: that may be as long as the file system allows.
  static std::atomic<std::uint64_t> created{0};
  static const std::string start = "/.opdump-" + std::to_string(getpid()) + '-';
  const std::string number = std::to_string(created.fetch_add(1, std::memory_order_relaxed));
  const std::string aside = directory + start + number + ".part";
  file_.reset(open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_) return fail(errno);
  aside_ = aside;
  return true;
}

bool OutputFile::write(std::span<const Bytes> parts) {
  const int error = posix::write_all(file_.get(), parts);
  return error == 0 || fail(error);
}

bool OutputFile::commit() {
  if (const int error = file_.close(); error != 0) return fail(error);
  if (rename(aside_.c_str(), path_.c_str()) != 0) return fail(errno);
  aside_.clear();
  return true;
}

}  // namespace opdump::tool
