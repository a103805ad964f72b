#pragma once
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "timing.hpp"

namespace opdump::bench {

inline bool is_in_memory(const std::string& folder) {
  struct statfs status {};
  return statfs(folder.c_str(), &status) == 0 && status.f_type == TMPFS_MAGIC;
}

/// A file that is written again and again from its start, and how long plain write() takes for that. It keeps
/// its pages from one time to the next: fresh ones may cost ten times as much, and at random.
class LogPlace {
 public:
  static constexpr std::size_t kBytes = std::size_t{256} << 20;

  /// `durable`: a log counts as written when it would survive a loss of power. The folder is there.
  LogPlace(const std::string& folder, bool durable)
      : durable_(durable),
        file_(open((folder + "/log").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
        block_(kBlockBytes) {
    for (std::size_t done = 0; done < kBytes + kBytes / 4; done += block_.size()) write_block();
    if (fdatasync(file_) != 0) give_up("fdatasync");
  }
  LogPlace(const LogPlace&) = delete;
  LogPlace& operator=(const LogPlace&) = delete;
  ~LogPlace() { close(file_); }

  bool durable() const { return durable_; }

  /// The file, at its start.
  int rewound() {
    if (lseek(file_, 0, SEEK_SET) != 0) give_up("lseek");
    return file_;
  }

  /// The time by which a log is measured: its thread's own if no other thread and no disk has a part in it.
  using Now = double (*)();
  Now clock(bool one_thread) const { return one_thread && !durable_ ? own_nanoseconds_now : nanoseconds_now; }

  /// Nanoseconds per byte of write() in pieces of 1 MiB, right now. Of a durable log by the faster of two
  /// ways: handing it over to the disk as it grows, and not.
  double floor_ns_per_byte(Now now) {
    const double at_once = write_all_ns(now, false);
    return (durable_ ? std::min(at_once, write_all_ns(now, true)) : at_once) / double{kBytes};
  }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
  static constexpr std::size_t kHandedOver = std::size_t{4} << 20;

  [[noreturn]] static void give_up(const char* what) {
    std::perror(what);
    std::exit(2);
  }

  void write_block() {
    if (write(file_, block_.data(), block_.size()) != ssize_t{kBlockBytes}) give_up("write");
  }

  double write_all_ns(Now now, bool hand_over) {
    rewound();
    const double start_ns = now();
    for (std::size_t done = kBlockBytes; done <= kBytes; done += kBlockBytes) {
      write_block();
      if (hand_over && done % kHandedOver == 0 &&
          sync_file_range(file_, static_cast<off_t>(done - kHandedOver), off_t{kHandedOver},
                          SYNC_FILE_RANGE_WRITE) != 0)
        give_up("sync_file_range");
    }
    if (durable_ && fdatasync(file_) != 0) give_up("fdatasync");
    return now() - start_ns;
  }

  bool durable_;
  int file_;
  std::vector<std::byte> block_;
};

/// Runs `write_log(now)`, which returns the nanoseconds per byte that it took, between two looks at the floor.
template <class WriteLog>
void beside_floor(benchmark::State& state, LogPlace& place, bool one_thread, WriteLog write_log) {
  const LogPlace::Now now = place.clock(one_thread);
  for (auto _ : state) {
    const double before = place.floor_ns_per_byte(now);
    const double ns_per_byte = write_log(now);
    const double floor = (before + place.floor_ns_per_byte(now)) / 2;
    state.SetIterationTime(ns_per_byte * double{LogPlace::kBytes} * 1e-9);
    state.counters["gb_per_s"] = 1 / ns_per_byte;
    state.counters["floor_gb_per_s"] = 1 / floor;
    state.counters["of_floor"] = floor / ns_per_byte;
  }
}

}  // namespace opdump::bench
