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

#include "opdump/bytes.hpp"
#include "platform/posix/write_all.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/// Two ways in which programs write a log: with write(), and through a mapping. Each puts bytes behind each
/// other from the start of `file` on; `put` and `end` say whether that went well.

namespace opdump::bench {

/// With write(), in pieces of 256 KiB. A log that has to be durable is handed over to the disk as it grows,
/// and lies there when `end` returns.
class WrittenLog {
 public:
  WrittenLog(int file, bool durable) : file_(file), durable_(durable), buffer_(kBufferBytes) {}

  bool put(Bytes part) {
    if (buffer_.size() - used_ < part.size() && !flush()) return false;
    if (part.size() >= kDirectBytes) return write(part);
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

/// Through a window that moves along the file, which is long enough. For files that are in memory anyway.
class MappedLog {
 public:
  explicit MappedLog(int file) : file_(file) {
    struct stat status {};
    if (fstat(file, &status) == 0) file_bytes_ = static_cast<std::uint64_t>(status.st_size);
  }
  MappedLog(const MappedLog&) = delete;
  MappedLog& operator=(const MappedLog&) = delete;
  ~MappedLog() { unmap(); }

  bool put(Bytes part) {
    if (kStageBytes - staged_ >= part.size()) {
      stage(part);
      return true;
    }
    const std::size_t to_line = (kLine - staged_ % kLine) % kLine;
    stage(part.first(to_line));
    part = part.subspan(to_line);
    if (!stream({stage_, staged_})) return false;
    staged_ = 0;
    const std::size_t lines = part.size() / kLine * kLine;
    if (!stream(part.first(lines))) return false;
    stage(part.subspan(lines));
    return true;
  }

  bool end() {
    const std::size_t rest = staged_;
    staged_ = (rest + kLine - 1) / kLine * kLine;
    const bool good = stream({stage_, staged_});
    staged_ = 0;
    unmap();
    return good;
  }

 private:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kStageBytes = 4096;
  // Each change of window interrupts the other processors.
  static constexpr std::size_t kWindowBytes = std::size_t{16} << 20;
  static constexpr std::size_t kStepBytes = std::size_t{256} << 10;

  void stage(Bytes bytes) {
    copy_bytes(stage_ + staged_, bytes);
    staged_ += bytes.size();
  }

  bool stream(Bytes lines) {
    while (!lines.empty()) {
      if (room_ == 0 && !step()) return false;
      const std::size_t bytes = std::min(room_, lines.size());
      stream_lines(to_, lines.first(bytes));
      to_ += bytes;
      room_ -= bytes;
      lines = lines.subspan(bytes);
    }
    return true;
  }

  /// Past the caches where that can be told: nothing reads the lines again soon.
  static void stream_lines(std::byte* to, Bytes lines) {
#if defined(__SSE2__)
    const auto line = [](const std::byte* from, std::byte* there) {
      __m128i words[kLine / sizeof(__m128i)];
      std::memcpy(words, from, kLine);
      for (std::size_t i = 0; i < kLine / sizeof(__m128i); ++i)
        _mm_stream_si128(reinterpret_cast<__m128i*>(there) + i, words[i]);
    };
    for (std::size_t at = 0; at < lines.size(); at += kLine) line(lines.data() + at, to + at);
#else
    copy_bytes(to, lines);
#endif
  }

  /// Makes room at `to_`.
  bool step() {
    if (next_ % kWindowBytes == 0) {
      void* const window =
          mmap(window_, kWindowBytes, PROT_READ | PROT_WRITE,
               MAP_SHARED | (window_ == nullptr ? 0 : MAP_FIXED), file_, static_cast<off_t>(next_));
      if (window == MAP_FAILED) return false;
      to_ = window_ = static_cast<std::byte*>(window);
    }
    if (next_ + kStepBytes > file_bytes_) return false;
    next_ += kStepBytes;
    room_ = kStepBytes;
    // Pages that are there are mapped in groups when they are read, and one by one when they are written.
    static_cast<void>(madvise(to_, kStepBytes, MADV_POPULATE_READ));
    return true;
  }

  void unmap() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
    if (window_ != nullptr) munmap(window_, kWindowBytes);
    window_ = nullptr;
    room_ = 0;
  }

  int file_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t next_ = 0;  ///< where the next step begins
  std::byte* window_ = nullptr;
  std::byte* to_ = nullptr;  ///< in the window
  std::size_t room_ = 0;     ///< there, in this step
  std::size_t staged_ = 0;
  alignas(kLine) std::byte stage_[kStageBytes] = {};
};

}  // namespace opdump::bench
