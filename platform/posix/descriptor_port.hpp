#pragma once
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "opdump/base/bytes.hpp"
#include "platform/posix/base/write_all.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// The port of a wire (platform/wire) over a file descriptor: a TCP connection, a serial line, a
/// pseudo-terminal or a pipe. The program opens it, sets a terminal to raw, and closes it. Not thread-safe.
///
/// *Unplugged.* After an error, or when the other side has gone, `gone` is true, what is written is dropped
/// and nothing is read; `use` goes on with another descriptor, over which the receiver asks for what it has
/// missed.
class DescriptorPort {
 public:
  /// `write` waits at most `patience_ms` milliseconds for room (-1: for ever), and then drops the rest of its
  /// bytes. A line that does not heed O_NONBLOCK, as a terminal that was opened without it, may take longer.
  explicit DescriptorPort(int descriptor, int patience_ms = 1000)
      : descriptor_(descriptor), patience_ms_(patience_ms) {}
  DescriptorPort(const DescriptorPort&) = delete;
  DescriptorPort& operator=(const DescriptorPort&) = delete;

  /// From now on that descriptor; what was read of the other one and not taken is forgotten.
  void use(int descriptor) {
    descriptor_ = descriptor;
    error_ = 0;
    gone_ = false;
    first_ = end_ = 0;
  }

  bool gone() const { return gone_; }

  /// The errno behind `gone`; 0 when the other side has closed the line.
  int last_error() const { return error_; }

  /// Waits at most `milliseconds` for something to read, for a thread that does nothing but serve; false when
  /// nothing came.
  bool wait(int milliseconds) const { return first_ != end_ || is_ready(POLLIN, milliseconds); }

  void write(Bytes from) {
    while (!gone_ && !from.empty() && is_ready(POLLOUT, patience_ms_)) {
      const ssize_t written = put(from);
      if (written >= 0) {
        from = from.subspan(static_cast<std::size_t>(written));
      } else if (errno != EAGAIN && errno != EINTR) {
        lose(errno);
      }
    }
  }

  std::size_t read(MutableBytes to) {
    if (first_ == end_) fill();
    const std::size_t bytes = to.size() < end_ - first_ ? to.size() : end_ - first_;
    std::memcpy(to.data(), buffer_ + first_, bytes);
    first_ += bytes;
    return bytes;
  }

 private:
  bool is_ready(short what, int milliseconds) const {
    pollfd wait = {.fd = descriptor_, .events = what, .revents = 0};
    int ready;
    do {
      ready = poll(&wait, 1, milliseconds);
    } while (ready < 0 && errno == EINTR);
    return ready == 1;
  }

  /// Without SIGPIPE where that is possible: a library does not end a program whose peer has gone.
  ssize_t put(Bytes from) const {
    const ssize_t sent = send(descriptor_, from.data(), from.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0 || errno != ENOTSOCK) return sent;
    const FileSizeSignal waits;
    return ::write(descriptor_, from.data(), from.size());
  }

  /// Reads ahead, as a sink takes one byte at a time.
  void fill() {
    first_ = end_ = 0;
    if (gone_ || !is_ready(POLLIN, 0)) return;
    const ssize_t got = ::read(descriptor_, buffer_, sizeof buffer_);
    if (got > 0) end_ = static_cast<std::size_t>(got);
    if (got == 0) lose(0);
    if (got < 0 && errno != EAGAIN && errno != EINTR) lose(errno);
  }

  void lose(int error) {
    error_ = error;
    gone_ = true;
  }

  int descriptor_;
  const int patience_ms_;
  int error_ = 0;
  bool gone_ = false;
  std::size_t first_ = 0;  // of what was read ahead
  std::size_t end_ = 0;
  std::byte buffer_[64];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
