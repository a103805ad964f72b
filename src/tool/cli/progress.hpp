#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace opdump::tool {

/// A bar with the rate and the remaining time, on stderr if that is a terminal; otherwise nothing. It appears
/// only when the work takes a moment, and is wiped away when this object ends. Any thread may call.
class Progress {
 public:
  /// Whether there is a terminal for the bar; if not, the caller need not compute the total.
  static bool is_seen();

  explicit Progress(std::uint64_t total_bytes);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void add(std::uint64_t bytes);

  /// Makes room for a line of text on stderr; the bar comes back with the next `add`.
  void wipe();

  /// Writes a line of text to stderr, in place of the bar.
  void say(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;

  void draw(std::uint64_t done, double seconds);

  const bool on_;
  const std::uint64_t total_;
  const Clock::time_point start_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;
  bool shown_ = false;
  Clock::time_point next_;
};

}  // namespace opdump::tool
