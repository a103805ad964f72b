#pragma once
#include <cstdint>
#include <optional>

#include "platform/flashlog/impl/log_runs.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// Bytes of a log between entries that are good, which are not.
struct DamagedPlace {
  Position begin;
  Position end;
  std::uint32_t boot = 0;
};

/// Finds the places of a log that were written and have been damaged since. What a loss of power may have
/// left is none: the program that was under way, which is the last one of its boot, and programs that were
/// not synced, which read as erased. So a place counts if the beginning of its stream is there or good
/// entries lie before it, good ones of the stream lie behind it, and either
/// (1) no byte of it reads as erased, and some of that stream was programmed after it, or
/// (2) so many blocks of its boot come behind it that the log has synced meanwhile, as it does for each
///     erase. It has if it keeps two prepared at most.
class DamagedPlaces {
 public:
  explicit DamagedPlaces(const LogRuns& runs);

  /// Goes past the next entries that are good, in the order of the log. `place` is what is damaged before
  /// them, if anything is. False at the end.
  bool go_past(std::optional<DamagedPlace>& place);

  /// The segment that has been come to.
  std::uint32_t segment() const { return walk_.at.segment; }

 private:
  bool was_synced(Position place_end) const;
  bool was_programmed(Position begin) const;

  const LogRuns& runs_;
  Walk walk_;
  std::uint32_t stream_ = UINT32_MAX;  // first segment of the one with the latest run
  Position good_end_;                  // behind that run
  bool ended_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
