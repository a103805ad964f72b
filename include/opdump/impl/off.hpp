#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "opdump/base/bytes.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/port/waker.hpp"
#include "opdump/types/account.hpp"
#include "opdump/types/clock_step.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/counts.hpp"
#include "opdump/types/overflow.hpp"
#include "opdump/types/plan.hpp"
#include "opdump/types/watch.hpp"

/// BasicRecorder and BasicSession without OPDUMP_ENABLED: each call returns `ok`, false, 0 or nothing at once, and
/// an object that only these calls use is not in the program.
#if OPDUMP_ENABLED == 0
namespace opdump {
inline namespace OPDUMP_NAMESPACE {

template <class Memory>
struct SessionParts;

template <class Memory>
class BasicRecorder {
  using Tensors = std::span<const TensorView>;

 public:
  BasicRecorder() = default;
  BasicRecorder(const BasicRecorder&) = delete;
  BasicRecorder& operator=(const BasicRecorder&) = delete;

  Status begin_step(ModelPlan&, std::uint64_t = 0) { return Status::ok; }
  Status join_step(const ModelPlan&, std::uint64_t) { return Status::ok; }
  static constexpr bool wants(std::size_t) { return false; }
  static constexpr bool wants_any(std::size_t) { return false; }
  static constexpr const std::uint8_t* bits() { return nullptr; }
  Status capture(std::size_t, Tensors, Tensors) { return Status::ok; }
  Status refuse(std::size_t, Status) { return Status::ok; }
  Status capture_unless(Status, std::size_t, Tensors, Tensors) { return Status::ok; }
  Status capture_overflow(std::size_t, Tensors, Tensors, const OverflowReport&) { return Status::ok; }
  static constexpr std::uint32_t overflows() { return 0; }
  static FirstBadOp first_bad_op() { return {}; }
  void begin_op(std::size_t, Tensors, Tensors, const OpMemory* = nullptr) {}
  void end_op() {}
  Status capture_failure() { return Status::ok; }
  static constexpr std::uint32_t overwrites() { return 0; }
  static Overwrite first_overwrite() { return {}; }
  Status end_step() { return Status::ok; }
  Status leave_step() { return Status::ok; }
  void finish_step(const ModelPlan&, std::uint64_t) {}
  static constexpr bool wants_single_ops() { return false; }
  Status capture_single_op(const OpDesc&, Tensors, Tensors) { return Status::ok; }
  Status refuse_single_op(const OpDesc&, Status) { return Status::ok; }
  static constexpr const ModelPlan* open_plan() { return nullptr; }
  static constexpr std::uint32_t single_ops() { return 0; }
};

template <class Memory>
class BasicSession {
 public:
  using Recorder = BasicRecorder<Memory>;

  constexpr explicit BasicSession(const SessionParts<Memory>&) {}
  BasicSession(const BasicSession&) = delete;
  BasicSession& operator=(const BasicSession&) = delete;

  Status configure(const DumpOptions&) { return Status::ok; }
  Status set_device(std::uint32_t) { return Status::ok; }
  void write_to(Sink&) {}
  Status init() { return Status::ok; }
  Status set_config(const DumpConfig&, bool = false) { return Status::ok; }
  Status tell_provenance(const Provenance&) { return Status::ok; }
  Status tell_clock(const ClockStep&) { return Status::ok; }
  Status tell_clock_between_drains(const ClockStep&) { return Status::ok; }
  Status load_model(ModelPlan&, const ModelDesc&, std::span<std::uint8_t>, const auto&...) {
    return Status::ok;
  }
  template <std::size_t Ops>
  Status load_model(ModelPlanFor<Ops>&, const ModelDesc&) {
    return Status::ok;
  }
  Status load_growing_model(ModelPlan&, const ModelDesc&, std::span<std::uint8_t>, std::size_t = SIZE_MAX) {
    return Status::ok;
  }
  Status grow_model(ModelPlan&, std::span<std::uint8_t>, std::span<std::uint8_t>, std::size_t = SIZE_MAX) {
    return Status::ok;
  }
  void finish_growing(const ModelPlan&, std::span<std::uint8_t> = {}, std::size_t = SIZE_MAX) {}
  Status count_ops(ModelPlan&, std::span<OpCounts>) { return Status::ok; }
  Status restart_counts(ModelPlan&) { return Status::ok; }
  Status unload_model(ModelPlan&) { return Status::ok; }
  Status finalize() { return Status::ok; }
  Status finalize_some(std::size_t) { return Status::ok; }
  Result<Recorder*> add_recorder(MutableBytes, MutableBytes = {}, std::optional<WhenFull> = {}) {
    return &recorder_;
  }
  Status add_recorder(MutableBytes, MutableBytes, std::optional<WhenFull>, Recorder*& recorder) {
    recorder = &recorder_;
    return Status::ok;
  }
  Status remove_recorder(Recorder&) { return Status::ok; }
  Status flush(std::uint32_t) { return Status::ok; }
  Status attach_drainer(Waker* = nullptr) { return Status::ok; }
  void detach_drainer() {}
  std::size_t drain_some(std::size_t) { return 0; }
  Status sync() { return Status::ok; }
  Status tell_certain() { return Status::ok; }
  bool take_crowded() { return false; }
  void crash_flush(Recorder*) {}
  Status begin_crash() { return Status::ok; }
  static constexpr bool is_draining() { return false; }
  static constexpr DumpCounts counts() { return {}; }
  static constexpr std::uint32_t overflows() { return 0; }
  static FirstBadOp first_bad_op() { return {}; }
  static constexpr std::uint32_t overwrites() { return 0; }
  static Overwrite first_overwrite() { return {}; }
  static constexpr Status last_sink_failure() { return Status::ok; }
  static constexpr Status journal_failure() { return Status::ok; }
  static constexpr bool journal_failed() { return false; }
  static constexpr std::uint32_t device_id() { return 0; }
  static constexpr bool initialised() { return false; }
  static constexpr WhenFull when_full() { return WhenFull::drop; }
  static constexpr std::uint64_t dump_time() { return 0; }
  static constexpr JournalDetail journal() { return JournalDetail::none; }

 private:
  [[no_unique_address]] Recorder recorder_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
