#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Where the records of one config go.
struct DumpTarget {
  std::string_view root{};
  std::uint64_t time = 0;  ///< YYYYMMDDHHMMSS of the moment the config was set
  std::uint64_t id = 0;    ///< the same moment in microseconds; names the journal
  std::uint32_t device_id = 0;
  std::uint32_t plans = 0;  ///< loaded models that dump there; the control context's
};

/// The targets of one session. A record in a ring names its target by index; a target is retired when no
/// model and no config dumps there any more, and free again when the drainer has seen its last record.
class Targets {
 public:
  static constexpr std::uint8_t kMax = 4;
  static constexpr std::uint8_t kNone = 0xff;

  enum class State : std::uint8_t { free, in_use, retired };

  DumpTarget& operator[](std::uint8_t index) { return targets_[index]; }
  const DumpTarget& operator[](std::uint8_t index) const { return targets_[index]; }

  /// Index of a free target that is now in use, `kNone` if all are taken.
  std::uint8_t take(const DumpTarget& target) {
    for (std::uint8_t index = 0; index < kMax; ++index) {
      if (state(index) != State::free) continue;
      targets_[index] = target;
      set_state(index, State::in_use);
      return index;
    }
    return kNone;
  }

  // acquire and release: whoever sees a target retired sees all records made for it, and whoever sees it free
  // may reuse it after the drainer's last look at it.
  State state(std::uint8_t index) const {
    return static_cast<State>(states_[index].load(std::memory_order_acquire));
  }
  void set_state(std::uint8_t index, State state) {
    states_[index].store(static_cast<std::uint8_t>(state), std::memory_order_release);
  }

 private:
  DumpTarget targets_[kMax];
  std::atomic<std::uint8_t> states_[kMax] = {};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
