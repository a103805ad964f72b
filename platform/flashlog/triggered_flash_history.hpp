#pragma once
#include <cstdint>
#include <span>

#include "opdump/parts/triggered_history.hpp"
#include "platform/flashlog/flash_history.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// A FlashHistory for a TriggerSink (opdump/parts/trigger_sink.hpp). Apart from it, because firmware without
/// triggers pays for none of this.
class TriggeredFlashHistory final : public TriggeredHistory {
 public:
  /// `history` must outlive this object. Its latest `configure` said in which memory steps are kept.
  explicit TriggeredFlashHistory(FlashHistory& history) : history_(history) {}
  TriggeredFlashHistory(const TriggeredFlashHistory&) = delete;
  TriggeredFlashHistory& operator=(const TriggeredFlashHistory&) = delete;

  Status keep_steps(std::uint32_t history_steps, std::uint32_t after_steps) override {
    return history_.keep_steps(history_steps, after_steps);
  }
  bool has_reached(std::uint32_t load, std::uint64_t step) const override {
    return history_.has_reached(load, step);
  }
  bool start(std::uint32_t load) override { return history_.start(load); }
  std::uint64_t written_bytes() const override { return history_.written_bytes(); }
  std::uint32_t written_records() const override { return history_.written_records(); }
  void allow(std::uint64_t bytes) override { history_.allow(bytes); }
  std::uint32_t refused() const override { return history_.refused(); }
  std::uint32_t lost() const override { return history_.lost(); }

  Result<ObjectId> begin(const ObjectName& name) override { return history_.begin(name); }
  Status append(ObjectId object, std::span<const Bytes> parts) override {
    return history_.append(object, parts);
  }
  Status commit(ObjectId object, ObjectId with = kNoObject) override { return history_.commit(object, with); }
  void abort(ObjectId object) override { history_.abort(object); }
  Status claim_journal(const ObjectName& name) override { return history_.claim_journal(name); }
  Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    return history_.append_lines(name, parts);
  }
  Status sync() override { return history_.sync(); }

 private:
  FlashHistory& history_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
