#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace opdump::tool {

/// A bar with the rate on stderr, if that is a terminal; otherwise nothing. Appears only when the work takes
/// a moment, and is wiped away when this object ends.
class Progress {
 public:
  explicit Progress(std::uint64_t total_bytes);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void add(std::uint64_t bytes);

  /// Makes room for a line of text on stderr; the bar comes back with the next `add`.
  void wipe();

 private:
  using Clock = std::chrono::steady_clock;

  const bool on_;
  const std::uint64_t total_;
  std::uint64_t done_ = 0;
  bool shown_ = false;
  const Clock::time_point start_;
  Clock::time_point next_;
};

}  // namespace opdump::tool
