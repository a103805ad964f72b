#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "opdump/base/status.hpp"
#include "opdump/port/waker.hpp"
#include "platform/posix/time/clock_watch.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// A session for a DrainThread that also looks, every second, whether the system's clock was set forward, and
/// tells the journals.
template <class Session>
class ClockWatchingSession {
 public:
  using Now = ClockWatch::Times (*)();

  ClockWatchingSession(Session& session, Now now) : session_(session), now_(now) {}

  /// From now on, until `rest`, while no config is put in force or ended.
  void watch() {
    const ClockWatch::Times times = now_();
    watch_ = ClockWatch();
    static_cast<void>(watch_.look(times.unix_us, times.boot_us));
    looked_us_ = times.boot_us;
    told_us_.store(0, std::memory_order_relaxed);
    watching_.store(true, std::memory_order_release);  // partner: `drain_some`
  }
  void rest() { watching_.store(false, std::memory_order_release); }

  /// Tells a step that the program knows of. Where this has told what the program saw a little later, or the
  /// other way round, only the first counts: times would be moved twice.
  [[nodiscard]] Status tell_clock(const ClockStep& step) {
    if (check(step) == Status::ok && was_told(step) &&
        step.unix_us != told_unix_us_.load(std::memory_order_relaxed))
      return Status::ok;
    const Status status = session_.tell_clock(step);
    if (status == Status::ok) note(step);
    return status;
  }

  /// Steps that this has told by itself.
  std::uint32_t steps_seen() const { return steps_seen_.load(std::memory_order_relaxed); }

  // As a DrainThread needs them.
  [[nodiscard]] Status attach_drainer(Waker* waker) { return session_.attach_drainer(waker); }
  void detach_drainer() { session_.detach_drainer(); }
  bool take_crowded() { return session_.take_crowded(); }
  std::size_t drain_some(std::size_t budget_bytes) {
    const std::size_t bytes = session_.drain_some(budget_bytes);
    if (watching_.load(std::memory_order_acquire)) look();  // partner: `watch`
    return bytes;
  }

 private:
  static constexpr std::int64_t kLookUs = 1'000'000;

  void look() {
    const ClockWatch::Times times = now_();
    if (times.boot_us - looked_us_ < kLookUs) return;
    looked_us_ = times.boot_us;
    const std::optional<ClockStep> step = watch_.look(times.unix_us, times.boot_us);
    if (!step || was_told(*step) || session_.tell_clock_between_drains(*step) != Status::ok) return;
    note(*step);
    steps_seen_.fetch_add(1, std::memory_order_relaxed);
  }

  static std::int64_t shift_of(const ClockStep& step) {
    return static_cast<std::int64_t>(step.unix_us - step.shown_us);
  }

  /// Whether the latest step that was told moves times by as much, but for what a clock is corrected by.
  bool was_told(const ClockStep& step) const {
    const std::int64_t shift = told_us_.load(std::memory_order_relaxed);
    const std::int64_t apart = shift_of(step) - shift;
    return shift != 0 && apart < ClockWatch::kLeastUs && apart > -ClockWatch::kLeastUs;
  }
  void note(const ClockStep& step) {
    told_unix_us_.store(step.unix_us, std::memory_order_relaxed);
    told_us_.store(shift_of(step), std::memory_order_relaxed);
  }

  Session& session_;
  const Now now_;
  ClockWatch watch_;
  std::int64_t looked_us_ = 0;
  std::atomic<std::int64_t> told_us_{0};  ///< by how much the latest step moved times; 0: there was none
  std::atomic<std::uint64_t> told_unix_us_{0};
  std::atomic<std::uint32_t> steps_seen_{0};
  std::atomic<bool> watching_{false};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
