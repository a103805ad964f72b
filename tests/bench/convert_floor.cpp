/// The floor of a conversion: the system calls that it cannot do without, on as many threads as there are
/// processors, and nothing else. Every file is opened, read and written again, a little shifted, to a file
/// that gets its name when it is complete.
///
/// usage: convert_floor FILE_OR_DIRECTORY NEW_DIRECTORY
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "platform/posix/base/unique_fd.hpp"

using opdump::posix::UniqueFd;

namespace {

constexpr std::size_t kHeadBytes = 128;  ///< of an npy file
constexpr std::size_t kBlockBytes = 256 * 1024;

bool copy(int from, int to, std::vector<char>& block) {
  struct stat status {};
  if (fstat(from, &status) != 0) return false;
  static char head[kHeadBytes];
  std::size_t head_left = kHeadBytes;
  for (off_t done = 0; done < status.st_size;) {
    const ssize_t got = pread(from, block.data(), block.size(), done);
    if (got <= 0) return false;
    const iovec parts[] = {{head, head_left}, {block.data(), static_cast<std::size_t>(got)}};
    if (writev(to, parts, 2) != static_cast<ssize_t>(head_left) + got) return false;
    head_left = 0;
    done += got;
  }
  return true;
}

bool copy_files(int in, int out, const std::vector<std::string>& names) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> good{true};
  const auto work = [&] {
    std::vector<char> block(kBlockBytes);
    for (std::size_t i; (i = next++) < names.size();) {
      const std::string aside = std::to_string(i);
      const UniqueFd from(openat(in, names[i].c_str(), O_RDONLY | O_CLOEXEC));
      UniqueFd to(openat(out, aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      const bool copied = from && to && copy(from.get(), to.get(), block) && to.close() == 0 &&
                          renameat(out, aside.c_str(), out, (names[i] + ".npy").c_str()) == 0;
      if (!copied) good = false;
    }
  };
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < std::min<std::size_t>(processors, names.size()); ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: convert_floor FILE_OR_DIRECTORY NEW_DIRECTORY\n", stderr);
    return 2;
  }
  std::string directory = argv[1];
  std::vector<std::string> names;
  if (DIR* const entries = opendir(argv[1]); entries != nullptr) {
    while (const dirent* entry = readdir(entries)) {
      if (entry->d_type == DT_REG) names.emplace_back(entry->d_name);
    }
    closedir(entries);
  } else {
    const std::size_t slash = directory.rfind('/') + 1;
    names.push_back(directory.substr(slash));
    directory = slash == 0 ? "." : directory.substr(0, slash);
  }
  mkdir(argv[2], 0700);
  const UniqueFd in(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd out(open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (in && out && copy_files(in.get(), out.get(), names)) return 0;
  std::perror("convert_floor");
  return 1;
}
