#include "src/tool/judge/diverge/isolated_reference.hpp"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace opdump::tool {
namespace {

/// Values as they lie in memory: both ends are the same program.
class PipeWriter {
 public:
  explicit PipeWriter(int file) : file_(file) {}

  template <class Value>
  void put(Value value) {
    put_all(std::as_bytes(std::span(&value, 1)));
  }

  /// Their number and their bytes.
  template <class Value>
  void put_list(std::span<const Value> values) {
    put<std::uint64_t>(values.size());
    put_all(std::as_bytes(values));
  }

  bool good() const { return good_; }

 private:
  void put_all(std::span<const std::byte> bytes) {
    while (good_ && !bytes.empty()) {
      const ssize_t done = write(file_, bytes.data(), bytes.size());
      if (done > 0) bytes = bytes.subspan(static_cast<std::size_t>(done));
      good_ = done > 0 || errno == EINTR;
    }
  }

  const int file_;
  bool good_ = true;
};

/// False after the end of what was written.
class PipeReader {
 public:
  explicit PipeReader(int file) : file_(file) {}

  template <class Value>
  bool get(Value& value) {
    return get_all(std::as_writable_bytes(std::span(&value, 1)));
  }

  template <class List>
  bool get_list(List& values) {
    std::uint64_t count = 0;
    if (!get(count)) return false;
    values.resize(static_cast<std::size_t>(count));
    return get_all(std::as_writable_bytes(std::span(values)));
  }

 private:
  bool get_all(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t done = read(file_, bytes.data(), bytes.size());
      if (done == 0 || (done < 0 && errno != EINTR)) return false;
      if (done > 0) bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
    return true;
  }

  const int file_;
};

bool send(PipeWriter out, bool computed, const std::vector<ReplayTensor>& outputs,
          const std::string& reason) {
  out.put(computed);
  if (!computed) {
    out.put_list(std::span(reason.data(), reason.size()));
    return out.good();
  }
  out.put<std::uint64_t>(outputs.size());
  for (const ReplayTensor& output : outputs) {
    out.put_list(std::span(output.name.data(), output.name.size()));
    out.put(output.dtype);
    out.put_list(std::span(output.dims));
    out.put_list(std::span(output.bytes));
  }
  return out.good();
}

/// False where it was not told to the end.
bool receive(PipeReader in, bool& computed, std::vector<ReplayTensor>& outputs, std::string& reason) {
  std::uint64_t count = 0;
  if (!in.get(computed)) return false;
  if (!computed) return in.get_list(reason);
  if (!in.get(count)) return false;
  outputs.assign(static_cast<std::size_t>(count), {});
  return std::all_of(outputs.begin(), outputs.end(), [&in](ReplayTensor& output) {
    return in.get_list(output.name) && in.get(output.dtype) && in.get_list(output.dims) &&
           in.get_list(output.bytes);
  });
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

bool IsolatedReference::run(const ReplayOp& op, std::vector<ReplayTensor>& outputs, std::string& reason) {
  int ends[2];
  if (pipe(ends) != 0) {
    reason = std::string("no pipe: ") + strerror(errno);
    return false;
  }
  const pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    const bool computed = reference_->run(op, outputs, reason);
    _exit(send(PipeWriter(ends[1]), computed, outputs, reason) ? 0 : 1);
  }
  const int error = errno;
  close(ends[1]);
  bool computed = false;
  const bool told = process > 0 && receive(PipeReader(ends[0]), computed, outputs, reason);
  close(ends[0]);
  const int status = process > 0 ? wait_for(process) : 0;
  if (told) return computed;
  if (process < 0) {
    reason = std::string("no process for it: ") + strerror(error);
  } else if (WIFSIGNALED(status)) {
    reason = name() + " crashes: " + strsignal(WTERMSIG(status));
  } else {
    reason = name() + " ends the process with status " + std::to_string(WEXITSTATUS(status));
  }
  return false;
}

}  // namespace opdump::tool
