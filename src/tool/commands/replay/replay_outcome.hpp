#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/posix/dump_kit.hpp"
#include "platform/posix/system_clock.hpp"
#include "src/tool/commands/replay/placed_run.hpp"

namespace opdump::tool {

/// The system's clocks, and the latest time they gave: the session names its journal by the time it asked for
/// in `set_config`.
class NamingClock final : public Clock {
 public:
  std::uint64_t unix_us() override { return last_us_ = system_.unix_us(); }
  std::int32_t utc_offset_seconds() override { return system_.utc_offset_seconds(); }
  std::uint32_t monotonic_ms() override { return system_.monotonic_ms(); }
  void pause() override { system_.pause(); }

  std::uint64_t last_us() const { return last_us_; }

 private:
  posix::SystemClock system_;
  std::uint64_t last_us_ = 0;
};

using ReplayKit = posix::DumpKit<MadeMemory, posix::DumpStore, NamingClock>;

/// The results of a replay that its session does not hold.
struct ReplayOutcome {
  std::vector<std::unique_ptr<LoadedModel>> models;
  std::vector<PlacedOp> single_ops;
  std::vector<std::string> overwrites;  ///< overwritten watched outputs, in words; the first few
  std::uint64_t time = 0;               ///< of the dump; names its directory
  std::uint64_t journal_id = 0;         ///< the same in microseconds; names its journal
  std::string failed_at;                ///< what ended the run early, in words; empty: nothing
  std::string first_bad;                ///< the operator that went wrong first, in words
  bool complete = true;
};

/// Says on stderr what went wrong.
void complain_of_replay(const std::string& message);

}  // namespace opdump::tool
