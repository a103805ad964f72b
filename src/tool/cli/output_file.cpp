#include "src/tool/cli/output_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "platform/posix/base/write_all.hpp"

namespace opdump::tool {
namespace {

/// 16 letters that no other process can foresee; those of the clock and the process where the system has no
/// random bytes yet.
std::string random_word() {
  std::uint64_t word = 0;
  if (getrandom(&word, sizeof word, GRND_NONBLOCK) != sizeof word) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    static std::atomic<std::uint64_t> made{0};
    word = (static_cast<std::uint64_t>(now.tv_nsec) << 32 ^ static_cast<std::uint64_t>(getpid()) << 16) +
           made.fetch_add(1, std::memory_order_relaxed);
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(word));
  return text;
}

/// What a file is that is neither regular nor a directory.
const char* kind_text(mode_t mode) {
  if (S_ISBLK(mode)) return "a block device";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISFIFO(mode)) return "a FIFO";
  return "a socket";
}

/// Where the symbolic links from `path` on end, whether or not something is there.
std::string end_of_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::filesystem::path end = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code no_link;
    const std::filesystem::path next = std::filesystem::read_symlink(end, no_link);
    if (no_link) break;
    end = end.parent_path() / next;
  }
  return end.string();
}

}  // namespace

OutputFile::~OutputFile() {
  if (!aside_.empty()) unlink(aside_.c_str());
}

bool OutputFile::fail(int error) {
  error_ = path_ + ": " + strerror(error);
  return false;
}

bool OutputFile::may_replace(unsigned mode) {
  if (S_ISDIR(mode)) return fail(EISDIR);
  if (!S_ISREG(mode)) {
    error_ = path_ + ": is " + kind_text(mode) + ", which no file replaces";
    return false;
  }
  return access(path_.c_str(), W_OK) == 0 || fail(errno);
}

bool OutputFile::create(const std::string& directory, const std::string& name) {
  path_ = directory + '/' + name;
  struct stat status {};
  if (lstat(path_.c_str(), &status) == 0 && !S_ISLNK(status.st_mode) && !may_replace(status.st_mode))
    return false;
  return create_aside(directory);
}

bool OutputFile::create_at(const std::string& path) {
  path_ = path;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) return fail(errno);
  } else if (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode)) {
    file_.reset(open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    return file_ || fail(errno);
  } else if (!may_replace(status.st_mode)) {
    return false;
  }
  path_ = end_of_links(path);
  const std::size_t slash = path_.rfind('/');
  return create_aside(slash == std::string::npos ? "." : path_.substr(0, slash));
}

bool OutputFile::create_aside(const std::string& directory) {
  // Not made from the file's name: that may be as long as the file system allows. Nobody can foresee it, and
  // what somebody put there is left alone.
  constexpr int kTries = 16;
  std::string aside;
  for (int i = 0; i < kTries && !file_; ++i) {
    aside = directory + "/.opdump-" + random_word() + ".part";
    file_.reset(open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file_ && errno != EEXIST) break;
  }
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
  if (aside_.empty()) return true;  // written in place
  if (rename(aside_.c_str(), path_.c_str()) != 0) return fail(errno);
  aside_.clear();
  return true;
}

bool write_file(const std::string& path,
                const std::function<bool(const std::function<bool(std::string_view piece)>& put)>& write,
                std::string& error) {
  OutputFile file;
  const auto put = [&file](std::string_view piece) {
    const Bytes bytes = as_bytes(piece);
    return file.write(std::span(&bytes, 1));
  };
  if (file.create_at(path) && write(put) && file.commit()) return true;
  error = file.error();
  return false;
}

bool write_file(const std::string& path, Bytes bytes, std::string& error) {
  return write_file(
      path, [bytes](const auto& put) { return put(as_text(bytes)); }, error);
}

std::string occupied(const std::string& directory, bool overwrite, std::string_view advice) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(directory, error);
  if (!std::filesystem::exists(status)) return {};
  if (!std::filesystem::is_directory(status)) return directory + ": is no directory";
  const bool empty = std::filesystem::is_empty(directory, error);
  if (error) return directory + ": " + error.message();
  if (empty || overwrite) return {};
  return directory + ": there is something in it already; " + std::string(advice);
}

}  // namespace opdump::tool
