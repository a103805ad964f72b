#pragma once
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "opdump/base/build.hpp"
#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/parts/format_restorer.hpp"
#include "opdump/parts/history_sink.hpp"
#include "opdump/parts/npy.hpp"
#include "opdump/parts/overflow_scan.hpp"
#include "opdump/parts/protobuf.hpp"
#include "opdump/parts/statistics.hpp"
#include "opdump/parts/text_log.hpp"
#include "opdump/session.hpp"
#include "opdump/types/overflow.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/config_file.hpp"
#include "platform/posix/counter_clock.hpp"
#include "platform/posix/crash_dump.hpp"
#include "platform/posix/drain_thread.hpp"
#include "platform/posix/exception_environment.hpp"
#include "platform/posix/impl/errno_status.hpp"
#include "platform/posix/impl/make_directories.hpp"
#include "platform/posix/impl/op_index_memory.hpp"
#include "platform/posix/impl/room_for.hpp"
#include "platform/posix/mindspore/extras.hpp"
#include "platform/posix/on_crash.hpp"
#include "platform/posix/run_description.hpp"
#include "platform/posix/tree_sink.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// FileDump over any memory, with a ring of `kRingBytes` and the heads of `kKnownHeads` operators, whose bodies
/// the program compiles. Each call has the contract of FileDump's, and allocates where that does, but for the
/// constructor, as everything lies inside.
template <class Memory, std::size_t kRingBytes = 64 * 1024, std::size_t kKnownHeads = 16>
class BasicFileDump {
 public:
  using Recorder = BasicRecorder<Memory>;

  explicit BasicFileDump(Memory& memory, std::uint32_t device_id = 0, WhenFull when_full = WhenFull::block)
      : memory_(memory),
        reduction_(memory, &statistics_kernels()),
        overflow_(memory, non_finite_kernel()),
        restorer_(memory),
        session_({.memory = memory,
                  .sink = history_,
                  .clock = clock_,
                  .scratch = scratch_,
                  .device_id = device_id,
                  .when_full = when_full,
                  .reduction = &reduction_,
                  .formats = {.protobuf = &protobuf_, .npy = &npy_},
                  .log = &log_,
                  .overflow = &overflow_,
                  .watch_memory = watch_,
                  .restorer = &restorer_}),
        recorder_(*session_.add_recorder(ring_, heads_).value()) {}

  void log_to(LogHook hook, void* context) {
    hook_ = hook;
    hook_context_ = context;
  }

  void on_crash(OnCrash on_crash) { on_crash_ = on_crash; }
  void follow_thread() {
    if (crash_ != nullptr) crash_->follow_thread();
  }

  [[nodiscard]] Status start(const char* config_path, const ConfigContext& context = {}) {
    if (session_.initialised()) return fail(Status::already_initialised);
    if (recorder_.open_plan() != nullptr) return fail(Status::step_open);
    DumpConfig& config = config_;
    ConfigError refusal;
    std::vector<ConfigNote> notes;
    Status status = load_config_file(config_path, config_memory_, config, refusal, &notes, context);
    if (status != Status::ok) {
      error_ = to_string(refusal, config_path);
      return status;
    }
    ProcessEnvironment environment(true);
    status = follow_environment(environment, config_memory_, config, &notes);
    if (config.active && config.layout != Layout::cann) status = make_place(std::string(config.dump_path));
    log_ = TextLog(hook_, hook_context_, room_for(config), true);
    for (const ConfigNote& note : notes) {
      if (hook_ != nullptr) hook_(hook_context_, to_string(note, config_path));
    }
    if (status == Status::ok) status = follow(config.options);
    if (status == Status::ok) status = session_.init();
    if (status == Status::ok) status = session_.set_config(config);
    // Under WhenFull::inline_drain the capturing thread drains, and no other may.
    if (status == Status::ok && active() && session_.when_full() != WhenFull::inline_drain)
      status = drain_.start(session_);
    if (status == Status::ok && active()) status = begin_extras(config_path);
    if (status == Status::ok) status = watch_for_crash();
    if (status == Status::ok && active()) status = load_again();
    if (status == Status::ok) return status;
    drain_.stop();
    if (session_.initialised()) static_cast<void>(session_.finalize());
    return fail(status);
  }

  bool active() const {
    return session_.dump_time() != 0;
  }

  [[nodiscard]] Status load_model(ModelPlan& plan, const ModelDesc& model, std::span<std::uint8_t> bits) {
    if (plan.model != nullptr) return fail(Status::model_already_loaded);
    const Status status = load(plan, model, bits);
    if (plan.model != nullptr) described_.push_back(&plan);
    if (plan.model != nullptr && !session_.initialised()) waiting_.push_back({&plan, &model, bits});
    return status == Status::ok ? status : fail(status);
  }
  template <std::size_t Ops>
  [[nodiscard]] Status load_model(ModelPlanFor<Ops>& plan, const ModelDesc& model) {
    return load_model(plan, model, plan.op_bits);
  }
  [[nodiscard]] Status write_constants(const ModelPlan& plan, std::span<const ConstantDesc> constants) {
    if (extras_ == nullptr) return Status::ok;
    const Status status = extras_->write_constants(plan, constants, memory_, clock_.unix_us());
    return status == Status::ok ? status : fail(status);
  }
  [[nodiscard]] Status unload_model(ModelPlan& plan) {
    const Status ended = recorder_.open_plan() == &plan ? Status::ok : end_extras(&plan);
    const Status status = session_.unload_model(plan);
    if (status != Status::ok) return status;
    std::erase(described_, &plan);
    std::erase_if(waiting_, [&plan](const LoadedModel& waiting) { return waiting.plan == &plan; });
    std::erase_if(op_counts_, [&plan](const CountedModel& counted) { return counted.plan == &plan; });
    return ended;
  }

  [[nodiscard]] Status describe(const char* path) {
    std::vector<const ModelDesc*> models;
    for (const ModelPlan* plan : described_) models.push_back(plan->model);
    const Status status = describe_models(path, models, session_.device_id());
    return status == Status::ok ? status : fail(status);
  }

  Recorder& recorder() {
    return recorder_;
  }

  [[nodiscard]] Status stop() {
    if (recorder_.open_plan() != nullptr) return fail(Status::step_open);
    Status ended = Status::ok;
    while (!models_.empty() && ended == Status::ok) ended = end_extras(models_.back());
    crash_.reset();
    drain_.stop();
    const Status status = session_.finalize();
    const DumpCounts counts = session_.counts();
    if (status != Status::ok || ended != Status::ok) {
      fail(status != Status::ok ? status : ended);
      if (status != Status::ok && session_.journal_failure() == status)
        error_ += ": the journal lacks lines, so nothing proves the dump complete; mend that and dump again";
      if (counts.lost() != 0) error_.append("; ").append(losses(counts));
      return status != Status::ok ? status : ended;
    }
    if (counts.lost() == 0) {
      error_.clear();
      return Status::ok;
    }
    error_ = losses(counts);
    return cause_of_loss(counts);
  }

  void trigger_history() {
    history_.trigger();
  }

  const std::string& error() const {
    return error_;
  }

  std::uint32_t overflows() const {
    return session_.overflows();
  }
  FirstBadOp first_bad_op() const {
    return session_.first_bad_op();
  }
  std::uint32_t overwrites() const {
    return session_.overwrites();
  }
  Overwrite first_overwrite() const {
    return session_.first_overwrite();
  }

  DumpCounts counts() const {
    return session_.counts();
  }

 private:
  /// For watching some ten operators.
  static constexpr std::size_t kWatchBytes = build::kFaults ? 16 * 1024 : 8;

  struct CountedModel {
    const ModelPlan* plan;
    std::unique_ptr<OpCounts[]> counts;
  };

  /// As it was given to `load_model`.
  struct LoadedModel {
    ModelPlan* plan;
    const ModelDesc* model;
    std::span<std::uint8_t> bits;
  };

  static void say_to_stderr(void*, std::string_view line) {
    const auto part = [](std::string_view text) { return iovec{const_cast<char*>(text.data()), text.size()}; };
    const iovec parts[] = {part("opdump: "), part(line), part("\n")};
    // One call that is allowed wherever something is captured, and keeps the line whole.
    static_cast<void>(!::writev(STDERR_FILENO, parts, 3));
  }

  Status load(ModelPlan& plan, const ModelDesc& model, std::span<std::uint8_t> bits) {
    Status status = session_.load_model(plan, model, bits, OpIndexMemory(model.ops).index());
    if (status == Status::ok && !plan.bits.empty()) status = count_ops(plan);
    if (status == Status::ok && extras_ != nullptr) {
      status = extras_->loaded(plan);
      models_.push_back(&plan);
    }
    return status;
  }

  /// Under the config that has come into force, what was loaded before it.
  Status load_again() {
    for (const LoadedModel& waiting : waiting_) {
      Status status = session_.unload_model(*waiting.plan);
      if (status == Status::ok) status = load(*waiting.plan, *waiting.model, waiting.bits);
      if (status != Status::ok) return status;
    }
    waiting_.clear();
    return Status::ok;
  }

  Status count_ops(ModelPlan& plan) {
    if (OPDUMP_SMALL_CODE != 0) return Status::ok;
    const std::size_t count = plan.bits.size();
    std::unique_ptr<OpCounts[]> counts(new (std::nothrow) OpCounts[count]);
    if (counts == nullptr) return Status::no_memory;
    op_counts_.push_back({&plan, std::move(counts)});
    return session_.count_ops(plan, {op_counts_.back().counts.get(), count});
  }

  /// One of the causes, the gravest first.
  Status cause_of_loss(const DumpCounts& counts) const {
    if (counts.sink_failed != 0) return session_.last_sink_failure();
    if (counts.invalid != 0) return Status::invalid_tensor;
    std::size_t cause = kLossCauses - 1;
    while (counts[static_cast<LossCause>(cause)] == 0) --cause;
    return kLossKinds[cause].status;
  }

  std::string losses(const DumpCounts& counts) const {
    std::string text = std::to_string(counts.lost()) + " of " + std::to_string(counts.wanted) +
                       " records lost, because: " + std::string(to_string(cause_of_loss(counts)));
    if constexpr (ExplainingMemory<Memory>) {
      const DriverError said = memory_.driver_error();
      if (said.call != nullptr)
        text.append("; the driver's ")
            .append(said.call)
            .append(" returned ")
            .append(std::to_string(said.code));
    }
    return text;
  }

  Status watch_for_crash() {
    const bool asked = config_.exception != ExceptionDump::none || config_.options.history_steps != 0;
    if (!build::kFaults || !active() || on_crash_ == OnCrash::ignore || (on_crash_ == OnCrash::as_asked && !asked))
      return Status::ok;
    crash_.reset(new (std::nothrow) CrashDump<BasicSession<Memory>>);
    if (crash_ == nullptr) return Status::no_memory;
    if (crash_->install(session_, crash_sink_, recorder_, &history_) == Status::ok) return Status::ok;
    crash_.reset();
    if (hook_ != nullptr)
      hook_(hook_context_, "what runs when the process dies is not dumped: another dump handles the signals");
    return Status::ok;
  }

  Status keep_history(const DumpOptions& options) {
    if (options.history_steps == 0) {
      history_.configure({}, 0, 0);
      return Status::ok;
    }
    const std::size_t words = (options.history_bytes == 0 ? kDefaultHistoryBytes : options.history_bytes) / 8;
    history_memory_.reset(new (std::nothrow) std::uint64_t[words]);
    if (history_memory_ == nullptr) return Status::no_memory;
    history_.configure(std::as_writable_bytes(std::span(history_memory_.get(), words)), options.history_steps,
                       options.after_steps);
    return Status::ok;
  }

  /// Does as the config's "opdump" object says; what it does not say is as this object was made.
  Status follow(const DumpOptions& options) {
    // The only recorder: taken back and added again, it is the same object.
    Status status = session_.remove_recorder(recorder_);
    if (status != Status::ok) return status;
    MutableBytes ring = ring_;
    if (options.ring_bytes) {
      const std::size_t words = *options.ring_bytes / 8;
      own_ring_.reset(new (std::nothrow) std::uint64_t[words]);
      if (own_ring_ == nullptr) status = Status::no_memory;
      if (own_ring_ != nullptr) ring = std::as_writable_bytes(std::span(own_ring_.get(), words));
    }
    const Status added = session_.add_recorder(ring, heads_).status();
    if (status == Status::ok) status = added;
    sink_.configure(tree_options(options));
    if (status == Status::ok) status = keep_history(options);
    return status == Status::ok ? session_.configure(options) : status;
  }

  /// MindSpore makes the directory that it dumps to.
  static Status make_place(const std::string& path) {
    const int error = make_directories(path);
    return error == 0 ? Status::ok : status_of(error);
  }

  Status begin_extras(const char* config_path) {
    models_.clear();
    extras_.reset();
    if (config_.layout == Layout::cann) return Status::ok;
    ConfigText text;
    ConfigError unreadable;
    if (read_config_file(config_path, text, unreadable) != Status::ok) return Status::not_found;
    extras_.reset(new (std::nothrow) MindSporeExtras);
    return extras_ == nullptr ? Status::no_memory
                              : extras_->begin(config_, text.view(), session_.device_id());
  }

  /// Of one that was loaded under the config in force.
  Status end_extras(const ModelPlan* plan) {
    const auto model = std::find(models_.begin(), models_.end(), plan);
    if (model == models_.end()) return Status::ok;
    models_.erase(model);
    return extras_->ended(*plan);
  }

  Status fail(Status status) {
    error_ = to_string(status);
    return status;
  }

  Memory& memory_;
  TreeSink sink_;
  CrashSink crash_sink_{sink_};
  HistorySink history_{crash_sink_};
  std::unique_ptr<std::uint64_t[]> history_memory_;  ///< null: no config has asked for one
  CounterClock clock_;
  ConfigMemory config_memory_;
  DumpConfig config_;
  std::unique_ptr<MindSporeExtras> extras_;  ///< null: none are asked for
  std::vector<const ModelPlan*> models_;     ///< loaded, where there are extras
  std::vector<const ModelPlan*> described_;  ///< all that are loaded, in order
  std::vector<LoadedModel> waiting_;         ///< loaded before `start`
  std::vector<CountedModel> op_counts_;      ///< of the loaded models of which something is captured
  std::byte scratch_[4096];
  alignas(OPDUMP_CACHE_LINE_BYTES) std::byte ring_[kRingBytes];
  alignas(8) std::byte watch_[kWatchBytes];
  alignas(8) std::byte heads_[head_memory_bytes(kKnownHeads)];
  std::unique_ptr<std::uint64_t[]> own_ring_;  ///< the one that the config asks for; null: `ring_` is used
  StatisticsReduction<Memory> reduction_;
  OverflowScan<Memory> overflow_;
  FormatRestorer<Memory> restorer_;
  ProtobufFormat protobuf_;
  NpyFormat npy_;
  LogHook hook_ = say_to_stderr;
  void* hook_context_ = nullptr;
  TextLog log_;
  BasicSession<Memory> session_;
  Recorder& recorder_;
  DrainThread<BasicSession<Memory>> drain_;
  OnCrash on_crash_ = OnCrash::as_asked;
  std::unique_ptr<CrashDump<BasicSession<Memory>>> crash_;  ///< null: no signal is handled
  std::string error_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
