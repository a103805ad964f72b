#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace opdump::tool {

/// From now on SIGINT and SIGTERM no longer end the process: they make `interrupted` true, so that current
/// work is undone or finished in order.
void catch_interrupts();

bool interrupted();

/// Ends the process by the signal that came, as if it had not been caught. Only when `interrupted`.
void die_of_interrupt();

/// A bar with the rate or the work, and the remaining time, on stderr if that is a terminal; otherwise nothing. It
/// appears only when the work takes a moment, and is wiped away when this object ends. Any thread may call.
class Progress {
 public:
  /// Whether there is a terminal for the bar; if not, the caller need not compute the total.
  static bool is_seen();

  explicit Progress(std::uint64_t total_bytes);

  /// Of work that is not told in bytes: `what`, such as "sorting tensors", stands beside the bar instead of
  /// the rate. Where nobody knows how much there is, `total_steps` is 0, and only the count so far is told:
  /// `what` is "files found". It has to outlive this object.
  Progress(std::uint64_t total_steps, std::string_view what);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// Bytes or steps.
  void add(std::uint64_t more = 1);

  /// Makes room for a line of text on stderr; the bar comes back with the next `add`.
  void wipe();

  /// Writes a line of text to stderr, in place of the bar.
  void say(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;

  std::string rate_text(std::uint64_t done, double seconds) const;
  void draw(std::uint64_t done, double seconds);

  const bool on_;
  const std::uint64_t total_;
  const std::string_view what_;  ///< empty: bytes
  const Clock::time_point start_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;
  bool shown_ = false;
  Clock::time_point next_;
};

}  // namespace opdump::tool
