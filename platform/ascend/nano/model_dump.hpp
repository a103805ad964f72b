#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "opdump/parts/text_log.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/plan.hpp"
#include "platform/ascend/nano/dbg_file.hpp"
#include "platform/ascend/nano/load_message.hpp"
#include "platform/ascend/nano/nano_runtime.hpp"
#include "platform/posix/config_file.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// A config that is in force, and where its log goes. The models that were prepared under it refer to it.
struct NanoConfig {
  NanoConfig(LogHook hook, void* hook_context) : say(hook), context(hook_context), log(hook, hook_context) {}

  void tell(const std::string& line) const { say(context, line); }

  posix::ConfigMemory memory;
  std::string root;  ///< the whole path of the config's `dump_path`
  DumpConfig config;
  LogHook say;
  void* context;
  TextLog log;
};

/// The dump of one loaded model: flags for the tasks that are wanted at any step, and messages that have the
/// device part dump at the wanted steps and not at the others. One thread at a time.
class ModelDump {
 public:
  ModelDump(std::shared_ptr<NanoConfig> config, NanoRuntime& runtime)
      : config_(std::move(config)), runtime_(runtime) {}
  ModelDump(const ModelDump&) = delete;
  ModelDump& operator=(const ModelDump&) = delete;

  /// Before the runtime loads the model of the file `name`: reads its `.dbg` file in the dump path, marks the wanted
  /// tasks of `load`, whose descriptions take `task_bytes`, and says in the log what matches and what does not.
  /// `kInternalError` for a `.dbg` file that is missing or damaged, as the vendor's executor has it.
  Code prepare(ModelLoad& load, std::size_t task_bytes, std::string_view name);

  /// After the runtime has loaded it as `model_id`: `step`, which must stay until `stop`, is the number of
  /// the step that runs next. Returns what sending the load message returned, or 0.
  Code start(std::uint32_t model_id, std::uint64_t* step);

  /// A step has run: counts it, and tells the device part if the next one is wanted and this was not, or the
  /// other way round.
  void step_done();

  /// Before the model goes. With `sends` the device part is told; the log says what was asked for and what
  /// never came.
  void stop(bool sends);

  /// The name that rules name the model by; empty: no rule does.
  std::string_view rule_name() const { return rules_.name(); }

 private:
  bool has_scene() const {
    return config_->config.overflow || config_->config.exception != ExceptionDump::none;
  }
  bool is_wanted(std::uint64_t step) const { return config_->config.steps.contains(step); }
  std::string who() const;

  bool read_file(const std::string& path);
  Code resolve(std::uint32_t total_tasks);
  void tell_match() const;
  void tell_unnamed() const;
  void mark_tasks(ModelLoad& load, std::size_t task_bytes);
  bool keeps_any(std::size_t op) const;
  bool leaves_out(std::size_t op, bool is_output, std::uint32_t index) const;
  void make_messages();
  Code send(bool load);

  const std::shared_ptr<NanoConfig> config_;
  NanoRuntime& runtime_;
  std::string name_;
  std::vector<std::byte> content_;  ///< of the .dbg file
  DbgFile file_;
  ModelDesc model_;
  std::vector<std::uint8_t> bits_;
  ModelPlan plan_;
  RulesOfModel rules_;
  std::size_t marked_ = 0;  ///< tasks

  std::uint32_t model_id_ = 0;
  std::uint64_t* step_ = nullptr;
  std::vector<std::byte> messages_[2];  ///< to unload, to load; the receiver may refer to them
  std::uint32_t description_bytes_ = 0;
  bool started_ = false;
  bool loaded_ = false;  ///< as the device part knows
  std::uint64_t first_step_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t steps_asked_ = 0;   ///< of them, at which it was loaded
  std::uint64_t steps_missed_ = 0;  ///< wanted, and the message could not be sent
  Code send_error_ = kOk;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
