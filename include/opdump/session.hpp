#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "opdump/clock.hpp"
#include "opdump/counts.hpp"
#include "opdump/device_memory.hpp"
#include "opdump/drainer.hpp"
#include "opdump/dump_config.hpp"
#include "opdump/model_plan.hpp"
#include "opdump/recorder.hpp"
#include "opdump/sink.hpp"
#include "opdump/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a session is made of. Everything is referred to and must outlive it.
template <class Memory>
struct SessionParts {
  Memory& memory;
  Sink& sink;
  Clock& clock;
  MutableBytes scratch;  ///< for the drainer; see `drain_scratch_bytes`
  std::uint32_t device_id = 0;
  WhenFull when_full = WhenFull::block;
  std::uint32_t block_limit_ms =
      1000;  ///< longest wait for room in a ring without progress, under WhenFull::block
};

/// One dump: its config, models, recorders and drainer. Holds no memory but itself and shares nothing with
/// other sessions. Order of calls:
///
///     add_recorder, init, set_config, load_model, (begin_step, capture, end_step)..., finalize, unload_model
///
/// `set_config` may be repeated: the latest one counts, for models loaded after it. A model loaded before any
/// config, or while the session is off, is legal and not captured. After `finalize` loaded models run on
/// uncaptured, and `init` starts over; a model has to be loaded again to be captured again. Whatever is
/// called out of order returns its own status and changes nothing.
///
/// Threads: the calls of this class come from one control context, and none of init, set_config or finalize
/// while a recorder captures; `drain_some` comes from one drain context at a time, which may be another one;
/// each recorder belongs to its own. Source of the order: CANN's aclmdlInitDump, aclmdlSetDump,
/// aclmdlFinalizeDump.
template <class Memory>
class BasicSession {
 public:
  using Recorder = BasicRecorder<Memory>;

  explicit BasicSession(const SessionParts<Memory>& parts)
      : sink_(parts.sink),
        clock_(parts.clock),
        device_id_(parts.device_id),
        drainer_(parts.sink, parts.scratch) {
    context_.memory = &parts.memory;
    context_.clock = &parts.clock;
    context_.drainer = &drainer_;
    context_.when_full = parts.when_full;
    context_.block_limit_ms = parts.block_limit_ms;
  }
  BasicSession(const BasicSession&) = delete;
  BasicSession& operator=(const BasicSession&) = delete;

  /// Gives a recorder for one more capturing context, with `ring_memory` as its ring (8-byte aligned, at
  /// least `Ring::kMinBytes`), which must stay as long as the session. `no_free_recorder` after
  /// OPDUMP_MAX_RECORDERS, `invalid_argument` for unusable memory. At any time but while the session drains.
  Result<Recorder*> add_recorder(MutableBytes ring_memory) {
    if (recorder_count_ == OPDUMP_MAX_RECORDERS) return Status::no_free_recorder;
    Recorder& recorder = recorders_[recorder_count_];
    const Status status = recorder.attach(context_, recorder_count_, ring_memory);
    if (status != Status::ok) return status;
    ++recorder_count_;
    return &recorder;
  }

  /// Makes the session ready for configs. `already_initialised` until `finalize`.
  [[nodiscard]] Status init() {
    if (initialised_) return Status::already_initialised;
    initialised_ = true;
    // 0 stands for plans that belong to no session.
    if (++generation_ == 0) ++generation_;
    context_.target = {};
    return Status::ok;
  }

  /// Makes `config` count for models loaded from now on, and for single operators at once. The time of this
  /// call names the dump's directory. An inactive config is accepted and changes nothing: what was set before
  /// stays in force. `not_initialised` before `init`. `config` and all it refers to must stay as `DumpConfig`
  /// says.
  [[nodiscard]] Status set_config(const DumpConfig& config) {
    if (!initialised_) return Status::not_initialised;
    if (!config.active) return Status::ok;
    config_ = config;
    const std::uint64_t time = local_time_number(clock_.unix_us() / 1000000, clock_.utc_offset_seconds());
    context_.target = {config.dump_path, time, device_id_, generation_};
    // Without a step counter a step filter can never hold for a single operator.
    context_.single_ops = config.single_ops && config.steps.every_step();
    context_.single_bits = capture_bits(config.mode);
    return Status::ok;
  }

  /// Resolves the config in force against `model`. `bits` is a byte per operator for `plan`; both, and
  /// `model`, stay until `unload_model`. `model_already_loaded` leaves a loaded plan as it is. `no_memory`
  /// (too few bits) and `name_too_long` (a name does not fit the scratch or a path) leave the model loaded
  /// but uncaptured: inference goes on.
  [[nodiscard]] Status load_model(ModelPlan& plan, const ModelDesc& model, std::span<std::uint8_t> bits) {
    if (plan.model != nullptr) return Status::model_already_loaded;
    Status status = Status::ok;
    if (config_.active) {
      status = resolve_plan(config_, model, bits, plan);
      if (status == Status::ok && !plan.bits.empty()) status = check_names(plan, model);
    } else {
      plan = ModelPlan{};
    }
    if (status != Status::ok) plan = ModelPlan{};
    plan.model = &model;
    plan.target = context_.target;
    return status;
  }

  template <std::size_t Ops>
  [[nodiscard]] Status load_model(ModelPlanFor<Ops>& plan, const ModelDesc& model) {
    return load_model(plan, model, plan.op_bits);
  }

  /// Ends the use of `plan`, its bits and its model; their memory is free again at once, records still in a
  /// ring need none of it. `model_not_loaded`, or `step_open` while a recorder runs a step of it: nothing
  /// changes. Legal in any state.
  [[nodiscard]] Status unload_model(ModelPlan& plan) {
    if (plan.model == nullptr) return Status::model_not_loaded;
    for (const Recorder& recorder : recorders()) {
      if (recorder.open_plan() == &plan) return Status::step_open;
    }
    plan = ModelPlan{};
    return Status::ok;
  }

  /// Switches dumping off, moves everything captured to the sink and makes it durable. `not_initialised`
  /// before `init`, `step_open` while a step is open, `drainer_attached` while a drain thread runs (stop it
  /// first): nothing changes. An error of the sink's sync is returned, with the session off all the same.
  [[nodiscard]] Status finalize() {
    if (!initialised_) return Status::not_initialised;
    if (drainer_attached_) return Status::drainer_attached;
    for (const Recorder& recorder : recorders()) {
      if (recorder.open_plan() != nullptr) return Status::step_open;
    }
    initialised_ = false;
    config_ = {};
    context_.target = {};
    context_.single_ops = false;
    while (drain_some(SIZE_MAX) != 0) {
    }
    for (std::size_t slot = 0; slot < recorder_count_; ++slot) drainer_.abort_unfinished(slot);
    return sink_.sync();
  }

  /// Moves about `budget_bytes` from each recorder's ring to the sink, in turn; returns the bytes moved, 0
  /// when there was nothing. From the idle loop, or by a drain thread.
  std::size_t drain_some(std::size_t budget_bytes) {
    std::size_t moved = 0;
    for (std::size_t slot = 0; slot < recorder_count_; ++slot) {
      moved += drainer_.drain(slot, recorders_[slot].ring(), budget_bytes);
    }
    return moved;
  }

  /// Announces a drain thread, which alone may call `drain_some` from now on. `drainer_attached` if there is
  /// one.
  [[nodiscard]] Status attach_drainer() {
    if (drainer_attached_) return Status::drainer_attached;
    drainer_attached_ = true;
    return Status::ok;
  }

  void detach_drainer() { drainer_attached_ = false; }

  bool initialised() const { return initialised_; }

  /// YYYYMMDDHHMMSS of the config in force, 0 without one.
  std::uint64_t dump_time() const { return context_.target.time; }

  /// What became of the records since the session was made. Any context may ask; exact while nothing captures
  /// or drains.
  DumpCounts counts() const {
    DumpCounts counts;
    for (const Recorder& recorder : recorders()) recorder.add_counts(counts);
    counts.written = drainer_.written();
    counts.sink_failed = drainer_.failed();
    return counts;
  }

  /// Cause of the latest record that the sink lost, `ok` if there was none.
  Status last_sink_failure() const { return drainer_.last_failure(); }

 private:
  static constexpr std::size_t kMaxDirectoryPartBytes = 255;

  std::span<const Recorder> recorders() const { return {recorders_, recorder_count_}; }

  Status check_names(const ModelPlan& plan, const ModelDesc& model) const {
    if (plan.directory_name.size() > kMaxDirectoryPartBytes) return Status::name_too_long;
    for (std::size_t i = 0; i < plan.bits.size(); ++i) {
      const OpDesc& op = model.ops[i];
      if (plan.bits[i] == 0) continue;
      if (op.type.size() > kMaxTextBytes || op.name.size() > kMaxTextBytes ||
          drain_scratch_bytes(plan.directory_name.size(), op.type.size(), op.name.size()) >
              drainer_.scratch_bytes()) {
        return Status::name_too_long;
      }
    }
    return Status::ok;
  }

  Sink& sink_;
  Clock& clock_;
  const std::uint32_t device_id_;
  DumpConfig config_;
  std::uint32_t generation_ = 0;
  bool initialised_ = false;
  bool drainer_attached_ = false;
  std::size_t recorder_count_ = 0;
  RecorderContext<Memory> context_;
  Drainer drainer_;
  Recorder recorders_[OPDUMP_MAX_RECORDERS];
};

/// A session whose device memory is reached through a virtual call.
using Session = BasicSession<DeviceMemory>;
using Recorder = Session::Recorder;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
