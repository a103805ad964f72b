#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "opdump/config/parse.hpp"
#include "opdump/port/listeners.hpp"
#include "opdump/types/clock_step.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/counts.hpp"
#include "opdump/types/overflow.hpp"
#include "opdump/types/plan.hpp"
#include "opdump/types/watch.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/mindspore/constant_desc.hpp"
#include "platform/posix/on_crash.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

template <class Memory>
class BasicRecorder;
struct Provenance;
struct FiringCounts;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// A session with one recorder and a drain thread that dumps as a config file says, into a tree of files or
/// into the raw storage that `dump_path` names (DumpStore), with everything it needs inside. The config's
/// "opdump" object takes precedence over the constructor's arguments. In MindSpore's layouts FileDump also
/// writes the files of MindSpore's dumps besides tensors. It counts what becomes of each operator
/// (`BasicSession::count_ops`), and keeps the heads of 16 operators
/// (`BasicSession::add_recorder`). Its ring has 64 KiB unless the config says otherwise. Allocates in its
/// constructor, `start`, `stop`, `load_model` and `unload_model`. BasicFileDump is the same over a memory
/// other than the host's.
///
/// A program that links libopdump has the calls compiled already: opdump.pc and Meson's opdump_dep define
/// OPDUMP_LINKED. Without it, and where the program's own flags change what is compiled (GCC's debug mode; the
/// thread sanitizer, which must see both ends of the ring), the program compiles them itself.
///
/// Threads: one control thread calls everything but the recorder; the recorder belongs to the capturing
/// thread. `start`, `stop` and the loading of models happen while no step is open.
class FileDump {
 public:
  /// The calls of BasicRecorder, each with its contract.
  class Recorder {
   public:
    Status begin_step(ModelPlan& plan) { return begin_step(plan, plan.next_step); }
    Status begin_step(ModelPlan& plan, std::uint64_t step);
    bool wants(std::size_t op) const { return bits_ != nullptr && bits_[op] != 0; }
    Status capture(std::size_t op, std::span<const TensorView> inputs, std::span<const TensorView> outputs);
    Status refuse(std::size_t op, Status cause);
    Status capture_overflow(std::size_t op, std::span<const TensorView> inputs,
                            std::span<const TensorView> outputs, const OverflowReport& report);
    void begin_op(std::size_t op, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                  const OpMemory* memory = nullptr);
    void end_op();
    Status capture_failure();
    Status end_step();
    bool wants_single_ops() const;
    Status capture_single_op(const OpDesc& op, std::span<const TensorView> inputs,
                             std::span<const TensorView> outputs);
    Status refuse_single_op(const OpDesc& op, Status cause);
    const ModelPlan* open_plan() const;

   private:
    friend class FileDump;
    explicit Recorder(BasicRecorder<HostMemory>& recorder) : recorder_(recorder) {}

    BasicRecorder<HostMemory>& recorder_;
    const std::uint8_t* bits_ = nullptr;  ///< as `BasicRecorder::bits`
  };

  explicit FileDump(HostMemory& memory, std::uint32_t device_id = 0, WhenFull when_full = WhenFull::block);
  ~FileDump();

  /// From the next `start` on, `hook` gets a line for each key of the config without effect, what each model
  /// will cost and how many steps the free room of the file system lasts, and whatever was asked for and
  /// never captured, such as names that match nothing. Null: nobody gets the lines. Without this call they go
  /// to stderr. A tensor that makes no sense is reported on the capturing thread.
  void log_to(LogHook hook, void* context);

  /// From the next `start` on, the journal tells what the dump comes from (`BasicSession::tell_provenance`), and of
  /// the config the digest of its file unless `provenance` has one. Copies the texts. `program_build_id`
  /// (build_id.hpp) finds the program's; `Provenance` is in opdump/types/account.hpp. `already_initialised` until
  /// `stop`, and errors as `check(provenance)`: nothing changes, and `error()` gives the error in words.
  [[nodiscard]] Status set_provenance(const Provenance& provenance);

  /// On a board that learns the time late, the drain thread notices that the system's clock was set forward,
  /// by a second or more, and tells the journals; where there is none (WhenFull::inline_drain), or for a step
  /// that it cannot see, the program does. See `BasicSession::tell_clock`, also for errors; what the thread
  /// has told is not told again.
  [[nodiscard]] Status tell_clock(const ClockStep& step);

  /// Takes effect at the next `start`; `as_asked` at first. Only one FileDump of a process handles signals;
  /// if another one does already, the log says so and everything else goes on. The capturing thread calls
  /// `start`, or calls `follow_thread` before its first step: otherwise the operator that runs when the
  /// thread dies is not dumped. Without OPDUMP_FAULTS no signal is handled.
  void on_crash(OnCrash on_crash);
  void follow_thread();

  /// Reads `config_path`, or where it is null what `find_config` finds, as `context` says, and begins; without a
  /// config nothing is dumped. Models that were loaded since the last `stop` are dumped too, as if they were loaded
  /// at the end of this call: their steps count anew. After any error nothing is dumped, and the program can run on
  /// as if it had no config: `config_refused`, `already_initialised`, `step_open`, an error of the drain thread, or
  /// an error of `load_model` for a model that is loaded already; `error()` gives the error in words.
  [[nodiscard]] Status start(const char* config_path, const ConfigContext& context = {});

  /// Whether a config that asks for something is in force.
  bool active() const;

  /// As `BasicSession::load_model`, also before `start`; `error()` gives an error in words.
  [[nodiscard]] Status load_model(ModelPlan& plan, const ModelDesc& model, std::span<std::uint8_t> bits);
  template <std::size_t Ops>
  [[nodiscard]] Status load_model(ModelPlanFor<Ops>& plan, const ModelDesc& model) {
    return load_model(plan, model, plan.op_bits);
  }

  /// Writes the constants of a loaded model, if the config is MindSpore's for CPU and GPU and wants outputs; skips
  /// constants whose files exist already. Errors as `opdump::write_constant`, and those of reading their folder.
  [[nodiscard]] Status write_constants(const ModelPlan& plan, std::span<const ConstantDesc> constants);
  [[nodiscard]] Status unload_model(ModelPlan& plan);

  /// Writes a RUN.json of all models that are loaded now, dumped or not, as `describe_models`: for `opdump
  /// check --model` before the first dump, and `opdump verify --model` after it.
  [[nodiscard]] Status describe(const char* path);

  Recorder& recorder() { return recorder_; }

  /// Writes out what is left, makes it durable and switches the dump off; `start` may follow; it dumps a
  /// model that is loaded now only after that model is unloaded and loaded again. `ok` when nothing was lost
  /// since this object was made and the journal accounts for everything; otherwise `error()` gives the
  /// reason. Errors as `BasicSession::finalize`.
  [[nodiscard]] Status stop();

  /// Writes now what the config's "history_steps" keep.
  void trigger_history();

  /// Fires the triggers that the config has under `"call": name`, as of the step that has begun last; the
  /// history is written with the next record. `invalid_argument` when the config has none. Any context.
  Status fire(std::string_view name);

  /// What became of the firings of all triggers (types/trigger.hpp). Any context.
  FiringCounts firings() const;

  /// Why the last failed call failed; empty after a `stop` without a loss.
  const std::string& error() const;

  /// As BasicSession's.
  std::uint32_t overflows() const;
  FirstBadOp first_bad_op() const;
  std::uint32_t overwrites() const;
  Overwrite first_overwrite() const;
  DumpCounts counts() const;

 private:
  struct Body;

  std::unique_ptr<Body> body_;
  Recorder recorder_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix

#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define OPDUMP_THREAD_SANITIZER
#endif
#elif defined __SANITIZE_THREAD__
#define OPDUMP_THREAD_SANITIZER
#endif
#if defined OPDUMP_LINKED && !defined _GLIBCXX_DEBUG && !defined OPDUMP_THREAD_SANITIZER
#define OPDUMP_FILE_DUMP_IS_COMPILED
#endif
#ifndef OPDUMP_FILE_DUMP_IS_COMPILED
#define OPDUMP_FILE_DUMP_INLINE inline
#include "platform/posix/file_dump.inl"
#endif
