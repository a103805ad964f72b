#pragma once
#include <cstdint>

#include "opdump/port/sink.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A sink that keeps what the last steps dumped, and writes it out when it is told to: HistorySink. All calls
/// on the drain context.
class TriggeredHistory : public Sink {
 public:
  /// Begins to keep `history_steps` steps (0: none), of which a write-out has all and `after_steps` more.
  /// `no_memory` when it has no memory for them: it keeps none. While no object is open.
  [[nodiscard]] virtual Status keep_steps(std::uint32_t history_steps, std::uint32_t after_steps) = 0;

  /// Whether something of step `step` of loading `load` has come, or of a later one.
  virtual bool has_reached(std::uint32_t load, std::uint64_t step) const = 0;

  /// Writes out what is kept, and what comes up to `after_steps` steps behind the latest step of `load`; of
  /// an unknown one, behind the latest of all. One that is under way goes on until then. False, with nothing
  /// written: that would be more than `allow` allows.
  virtual bool start(std::uint32_t load) = 0;

  /// Bytes that write-outs have had since `keep_steps`, and records that the sink behind this one has of
  /// them: files of operators and reports, not rows of tables.
  virtual std::uint64_t written_bytes() const = 0;
  virtual std::uint32_t written_records() const = 0;

  /// From now on write-outs have `bytes` more at most. One that would need more is not begun, or ends.
  virtual void allow(std::uint64_t bytes) = 0;

  /// Write-outs that were not begun for that reason, or ended.
  virtual std::uint32_t refused() const = 0;

  /// Objects of write-outs that the sink behind this one refused.
  virtual std::uint32_t lost() const = 0;

 protected:
  ~TriggeredHistory() = default;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
