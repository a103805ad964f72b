#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/status.hpp"
#include "platform/flashlog/flash_log.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// A log with an `Options::erase_budget` of 0, as a DrainTask takes it: no drain erases or is refused for
/// want of an erased block, while the part has one to erase. The prepared blocks together have room for what
/// a drain may add: `FlashLog::most_bytes(recorders * (budget + 255), records)`.
class ErasesAhead {
 public:
  /// `records`: of how many a drain moves a part, at most.
  ErasesAhead(FlashLog& log, std::uint32_t records, std::uint32_t recorders = 1)
      : log_(log), records_(records), recorders_(recorders) {}

  Result<bool> prepare() { return log_.erase_ahead(); }
  Status sync() { return log_.sync(); }

  /// Whether a drain with that budget has room.
  bool is_ready(std::size_t budget_bytes) const {
    const std::uint32_t bytes = recorders_ * (static_cast<std::uint32_t>(budget_bytes) + 255);
    return log_.ready_bytes() >= FlashLog::most_bytes(bytes, records_);
  }

 private:
  FlashLog& log_;
  const std::uint32_t records_, recorders_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
