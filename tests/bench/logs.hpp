#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/base/cpu.hpp"
#include "platform/posix/base/write_all.hpp"

/// Two ways in which programs write a log: with write(), and through a mapping. Each puts bytes behind each
/// other from the start of `file` on; `put` and `end` say whether that went well.

namespace opdump::bench {

/// With write(), in pieces of 256 KiB. A log that has to be durable is handed over to the disk as it grows,
/// and lies there when `end` returns.
class WrittenLog {
 public:
  WrittenLog(int file, bool durable) : file_(file), durable_(durable), buffer_(kBufferBytes) {}

  bool put(Bytes part) {
    if (part.size() >= kDirectBytes) return flush() && write(part);
    if (buffer_.size() - used_ < part.size() && !flush()) return false;
    copy_bytes(buffer_.data() + used_, part);
    used_ += part.size();
    return true;
  }

  bool end() { return flush() && (!durable_ || fdatasync(file_) == 0); }

 private:
  static constexpr std::size_t kBufferBytes = 256 * 1024;
  static constexpr std::size_t kDirectBytes = kBufferBytes / 4;  // a copy of less costs less than a call
  static constexpr std::uint64_t kHandedOver = std::uint64_t{4} << 20;

  bool flush() {
    const Bytes all = Bytes(buffer_).first(used_);
    used_ = 0;
    return write(all);
  }

  bool write(Bytes bytes) {
    if (posix::write_all(file_, {&bytes, 1}) != 0) return false;
    written_ += bytes.size();
    if (!durable_ || written_ - handed_over_ < kHandedOver) return true;
    const std::uint64_t from = std::exchange(handed_over_, written_);
    return sync_file_range(file_, static_cast<off_t>(from), static_cast<off_t>(written_ - from),
                           SYNC_FILE_RANGE_WRITE) == 0;
  }

  int file_;
  bool durable_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t handed_over_ = 0;
};

/// Through a mapping of all of `file`, which is as long as the log may become: such as a log that begins
/// anew when it is full, mapped when it is opened. For files that are in memory anyway.
class MappedLog {
 public:
  explicit MappedLog(int file) {
    struct stat status {};
    if (fstat(file, &status) != 0) return;
    const std::size_t bytes = static_cast<std::size_t>(status.st_size);
    void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (start == MAP_FAILED) return;
    file_ = {static_cast<std::byte*>(start), bytes};
    // Pages that are there are mapped in groups when they are read, and one by one when they are written.
    static_cast<void>(madvise(start, bytes, MADV_POPULATE_READ));
  }
  MappedLog(const MappedLog&) = delete;
  MappedLog& operator=(const MappedLog&) = delete;
  ~MappedLog() {
    if (!file_.empty()) munmap(file_.data(), file_.size());
  }

  bool put(Bytes part) {
    if (kStageBytes - staged_ >= part.size()) {
      stage(part);
      return true;
    }
    const Bytes to_line = part.first((kLine - staged_ % kLine) % kLine);
    stage(to_line);
    part = part.subspan(to_line.size());
    const Bytes lines = part.first(part.size() / kLine * kLine);
    if (!flush() || !store(lines)) return false;
    stage(part.subspan(lines.size()));
    return true;
  }

  bool end() {
    const bool good = flush();
    end_past_caches();
    return good;
  }

 private:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kStageBytes = 4096;

  void stage(Bytes bytes) {
    copy_bytes(stage_ + staged_, bytes);
    staged_ += bytes.size();
  }

  bool flush() { return store({stage_, std::exchange(staged_, 0)}); }

  bool store(Bytes bytes) {
    if (file_.size() - used_ < bytes.size()) return false;
    copy_past_caches(file_.data() + used_, bytes);
    used_ += bytes.size();
    return true;
  }

  MutableBytes file_{};
  std::size_t used_ = 0;  ///< of the file
  std::size_t staged_ = 0;
  alignas(kLine) std::byte stage_[kStageBytes + kLine] = {};
};

}  // namespace opdump::bench
