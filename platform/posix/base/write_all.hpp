#pragma once
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "opdump/base/bytes.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Keeps SIGXFSZ from ending the program: where a limit of file sizes is in force, the signal waits while this
/// lives, and is gone then. The write fails with EFBIG.
class FileSizeSignal {
 public:
  FileSizeSignal() {
    rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    waits_ = pthread_sigmask(SIG_BLOCK, &signal_, &before_) == 0 && sigismember(&before_, SIGXFSZ) == 0;
  }
  FileSizeSignal(const FileSizeSignal&) = delete;
  FileSizeSignal& operator=(const FileSizeSignal&) = delete;

  ~FileSizeSignal() {
    if (!waits_) return;
    sigset_t pending;
    int number;
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1) sigwait(&signal_, &number);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signal_;
  sigset_t before_;
  bool waits_ = false;
};

/// Writes all `parts` to `file`, in order, with as few calls as the system allows. Returns 0 or the errno;
/// after an error any number of the bytes may have been written. 1 KiB of stack.
[[nodiscard]] inline int write_all(int file, std::span<const Bytes> parts) {
  const FileSizeSignal waits;
  constexpr std::size_t kVectors = 64;
  static_assert(kVectors <= IOV_MAX);
  iovec vectors[kVectors];
  std::size_t count = 0;
  for (;;) {
    for (; count < kVectors && !parts.empty(); parts = parts.subspan(1)) {
      const Bytes part = parts.front();
      if (!part.empty())
        vectors[count++] = {.iov_base = const_cast<std::byte*>(part.data()), .iov_len = part.size()};
    }
    if (count == 0) return 0;

    const ssize_t result = writev(file, vectors, static_cast<int>(count));
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) return errno;
    if (result == 0) return EIO;  // no progress and no error: retrying could go on for ever

    std::size_t written = static_cast<std::size_t>(result);
    std::size_t done = 0;
    while (done < count && written >= vectors[done].iov_len) written -= vectors[done++].iov_len;
    std::copy(vectors + done, vectors + count, vectors);
    count -= done;
    if (count == 0) continue;
    vectors[0].iov_base = static_cast<std::byte*>(vectors[0].iov_base) + written;
    vectors[0].iov_len -= written;
  }
}

/// Writes all of `from` to `file` from byte `at` on. As `write_all`.
[[nodiscard]] inline int write_all_at(int file, Bytes from, std::uint64_t at) {
  const FileSizeSignal waits;
  while (!from.empty()) {
    const ssize_t done = pwrite(file, from.data(), from.size(), static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done == 0 ? EIO : errno;
    from = from.subspan(static_cast<std::size_t>(done));
    at += static_cast<std::uint64_t>(done);
  }
  return 0;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
