#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/build.hpp"
#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/parts/config_digest.hpp"
#include "opdump/session.hpp"
#include "opdump/types/account.hpp"
#include "opdump/types/overflow.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/config_file.hpp"
#include "platform/posix/crash_dump.hpp"
#include "platform/posix/drain_thread.hpp"
#include "platform/posix/dump_kit.hpp"
#include "platform/posix/exception_environment.hpp"
#include "platform/posix/impl/loss_text.hpp"
#include "platform/posix/impl/own_provenance.hpp"
#include "platform/posix/impl/stderr_line.hpp"
#include "platform/posix/on_crash.hpp"
#include "platform/posix/run_description.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// FileDump over any memory, with a ring of `kRingBytes` and the heads of `kKnownHeads` operators, compiled
/// by the program. Each call has the contract of the same call of FileDump and allocates where that one does,
/// except the constructor: everything lies inside.
template <class Memory, std::size_t kRingBytes = 64 * 1024, std::size_t kKnownHeads = 16>
class BasicFileDump {
 public:
  using Recorder = BasicRecorder<Memory>;

  explicit BasicFileDump(Memory& memory, std::uint32_t device_id = 0, WhenFull when_full = WhenFull::block)
      : memory_(memory),
        kit_(memory,
             {.scratch = scratch_, .watch_memory = watch_, .device_id = device_id, .when_full = when_full}),
        recorder_(*kit_.session().add_recorder(ring_, heads_).value()) {
    kit_.log_to(say_to_stderr, nullptr);
  }

  void log_to(LogHook hook, void* context) { kit_.log_to(hook, context); }

  /// For a program that adds recorders, or models whose operators become known only as they run. What it adds
  /// it takes back before this object goes.
  DumpKit<Memory>& kit() { return kit_; }
  const DumpKit<Memory>& kit() const { return kit_; }

  [[nodiscard]] Status set_provenance(const Provenance& provenance) {
    if (kit_.session().initialised()) return fail(Status::already_initialised);
    if (const Status status = check(provenance); status != Status::ok) {
      error_ = std::string("the provenance: ") +
               (status == Status::too_large
                    ? "its texts have more than " + std::to_string(kMostProvenanceBytes) + " bytes in all"
                    : "only the runtime may hold a comma, and no text a control character");
      return status;
    }
    provenance_.set(provenance);
    return Status::ok;
  }

  [[nodiscard]] Status tell_clock(const ClockStep& step) { return told(kit_.tell_clock(step)); }

  void on_crash(OnCrash on_crash) { on_crash_ = on_crash; }
  void follow_thread() {
    if (crash_ != nullptr) crash_->follow_thread();
  }

  [[nodiscard]] Status start(const char* config_path, const ConfigContext& context = {}) {
    if (kit_.session().initialised()) return fail(Status::already_initialised);
    if (recorder_.open_plan() != nullptr) return fail(Status::step_open);
    ConfigOutcome outcome;
    const DumpConfig& config = outcome.config;
    // Read once, so that what is told of the text is told of the one in force.
    ConfigText text;
    const bool has_file = (config_path = find_config(config_path).path) != nullptr;
    if (!has_file) config_path = "no config";
    Status status = has_file ? read_config_file(config_path, text, outcome.error) : Status::ok;
    if (has_file && status == Status::ok)
      status = load_config_text(text.view(), config_path, config_memory_, outcome, context, check_dump_place);
    if (status != Status::ok) {
      error_ = to_string(outcome.error, config_path);
      return status;
    }
    ProcessEnvironment environment(true);
    status = follow_environment(environment, config_memory_, outcome);
    for (const ConfigNote& note : outcome.notes) kit_.say(to_string(note, config_path));
    if (status == Status::ok) status = take_ring(config.options);
    const bool asked = config.exception != ExceptionDump::none || config.options.history_steps != 0 ||
                       config.options.dump_on_crash;
    survives_ = build::kFaults && (on_crash_ == OnCrash::dump || (on_crash_ == OnCrash::as_asked && asked));
    if (config.options.dump_on_crash && !survives_)
      kit_.say(
          "opdump.on_crash does not count: this program handles signals itself, or has no OPDUMP_FAULTS");
    kit_.survive_crashes(survives_);
    std::string reason;
    if (status == Status::ok) {
      status = kit_.apply(config, text.view());
      reason = kit_.store_error();
    }
    if (status == Status::ok && active() && provenance_.any()) status = tell_provenance(text.view());
    if (status == Status::ok) status = watch_for_crash();
    if (status == Status::ok && active()) status = load_again();
    if (status == Status::ok) {
      kit_.watch_clock();
      return status;
    }
    if (kit_.session().initialised()) static_cast<void>(kit_.end());
    return fail(status, reason);
  }

  bool active() const { return kit_.active(); }

  [[nodiscard]] Status load_model(ModelPlan& plan, const ModelDesc& model, std::span<std::uint8_t> bits) {
    if (plan.model != nullptr) return fail(Status::model_already_loaded);
    const Status status = kit_.load_model(plan, model, bits);
    if (plan.model != nullptr) described_.push_back(&plan);
    if (plan.model != nullptr && !kit_.session().initialised()) waiting_.push_back({&plan, &model, bits});
    return told(status);
  }
  template <std::size_t Ops>
  [[nodiscard]] Status load_model(ModelPlanFor<Ops>& plan, const ModelDesc& model) {
    return load_model(plan, model, plan.op_bits);
  }
  [[nodiscard]] Status write_constants(const ModelPlan& plan, std::span<const ConstantDesc> constants) {
    return told(kit_.write_constants(plan, constants));
  }
  [[nodiscard]] Status unload_model(ModelPlan& plan) {
    if (recorder_.open_plan() == &plan) return Status::step_open;
    Status ended = Status::ok;
    const Status status = kit_.unload_model(plan, ended);
    if (status != Status::ok) return status;
    std::erase(described_, &plan);
    std::erase_if(waiting_, [&plan](const LoadedModel& waiting) { return waiting.plan == &plan; });
    return ended;
  }

  [[nodiscard]] Status describe(const char* path) {
    std::vector<const ModelDesc*> models;
    for (const ModelPlan* plan : described_) models.push_back(plan->model);
    return told(describe_models(path, models, kit_.session().device_id()));
  }

  Recorder& recorder() { return recorder_; }

  [[nodiscard]] Status stop() {
    if (recorder_.open_plan() != nullptr) return fail(Status::step_open);
    const Status ended = kit_.end_extras();
    crash_.reset();
    const Status status = kit_.end();
    const DumpCounts counts = kit_.session().counts();
    if (status != Status::ok || ended != Status::ok) {
      fail(status != Status::ok ? status : ended, kit_.store_error());
      if (status != Status::ok && kit_.session().journal_failure() == status)
        error_ += ": the journal lacks lines, so nothing proves the dump complete; mend that and dump again";
      if (counts.lost() != 0) error_.append("; ").append(losses(counts));
      return status != Status::ok ? status : ended;
    }
    if (counts.lost() == 0) {
      error_.clear();
      return Status::ok;
    }
    error_ = losses(counts);
    if (!kit_.store_error().empty()) error_.append("; ").append(kit_.store_error());
    return cause_of_loss(kit_.session(), counts);
  }

  void trigger_history() { kit_.history().trigger(); }

  Status fire(std::string_view name) { return kit_.triggers().fire(name); }
  FiringCounts firings() const { return kit_.triggers().counts(); }

  const std::string& error() const { return error_; }

  std::uint32_t overflows() const { return kit_.session().overflows(); }
  FirstBadOp first_bad_op() const { return kit_.session().first_bad_op(); }
  std::uint32_t overwrites() const { return kit_.session().overwrites(); }
  Overwrite first_overwrite() const { return kit_.session().first_overwrite(); }

  DumpCounts counts() const { return kit_.session().counts(); }

 private:
  /// Enough to watch about ten operators.
  static constexpr std::size_t kWatchBytes = build::kFaults ? 16 * 1024 : 8;

  /// The arguments of `load_model`.
  struct LoadedModel {
    ModelPlan* plan;
    const ModelDesc* model;
    std::span<std::uint8_t> bits;
  };

  static void say_to_stderr(void*, std::string_view line) { write_stderr_line("opdump: ", line); }

  /// Loads the models that were loaded before `start`, under the config now in force.
  Status load_again() {
    for (const LoadedModel& waiting : waiting_) {
      Status ended = Status::ok;
      Status status = kit_.unload_model(*waiting.plan, ended);
      if (status == Status::ok) status = kit_.load_model(*waiting.plan, *waiting.model, waiting.bits);
      if (status != Status::ok) return status;
    }
    waiting_.clear();
    return Status::ok;
  }

  Status tell_provenance(std::string_view config_text) {
    char digest[kConfigDigestDigits];
    return kit_.session().tell_provenance(
        provenance_.with_config(config_digest(as_bytes(config_text), digest)));
  }

  std::string losses(const DumpCounts& counts) const {
    DriverError said;
    if constexpr (ExplainingMemory<Memory>) said = memory_.driver_error();
    return loss_text(kit_.session(), counts, said);
  }

  Status watch_for_crash() {
    if (!active() || !survives_) return Status::ok;
    if (kit_.is_raw()) {
      kit_.say("what runs when the process dies is not dumped: the dump goes to raw storage");
      return Status::ok;
    }
    crash_.reset(new (std::nothrow) CrashDump<BasicSession<Memory>>);
    if (crash_ == nullptr) return Status::no_memory;
    if (crash_->install(kit_.session(), kit_.crash_sink(), recorder_, &kit_.history()) == Status::ok)
      return Status::ok;
    crash_.reset();
    kit_.say("what runs when the process dies is not dumped: another dump handles the signals");
    return Status::ok;
  }

  /// Gives the recorder the ring that the config asks for, else the one inside this object.
  Status take_ring(const DumpOptions& options) {
    // There is only one recorder: taken back and added again, it is the same object.
    Status status = kit_.session().remove_recorder(recorder_);
    if (status != Status::ok) return status;
    const Result<MutableBytes> ring = kit_.ring_for(options, ring_);
    status = kit_.session().add_recorder(ring.ok() ? ring.value() : ring_, heads_).status();
    return ring.ok() ? status : ring.status();
  }

  Status told(Status status) { return status == Status::ok ? status : fail(status); }

  Status fail(Status status, const std::string& reason = {}) {
    error_ = reason.empty() ? std::string(to_string(status)) : reason;
    return status;
  }

  Memory& memory_;
  ConfigMemory config_memory_;
  OwnProvenance provenance_;
  std::vector<const ModelPlan*> described_;  ///< all loaded models, in order
  std::vector<LoadedModel> waiting_;         ///< loaded before `start`
  std::byte scratch_[4096];
  alignas(OPDUMP_CACHE_LINE_BYTES) std::byte ring_[kRingBytes];
  alignas(8) std::byte watch_[kWatchBytes];
  alignas(8) std::byte heads_[head_memory_bytes(kKnownHeads)];
  DumpKit<Memory> kit_;
  Recorder& recorder_;
  OnCrash on_crash_ = OnCrash::as_asked;
  bool survives_ = false;                                   ///< the config in force has signals handled
  std::unique_ptr<CrashDump<BasicSession<Memory>>> crash_;  ///< null: no signal is handled
  std::string error_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
