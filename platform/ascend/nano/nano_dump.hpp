#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "platform/ascend/nano/model_dump.hpp"
#include "platform/ascend/nano/nano_runtime.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// The dump of a process that runs models on the nano executor: what the executor's calls do, in the order in
/// which it makes them. Any threads; of one handle, one at a time. Returns what the vendor's library returns.
class NanoDump {
 public:
  /// `say` gets the lines of the log.
  NanoDump(NanoRuntime& runtime, LogHook say, void* context)
      : runtime_(runtime), say_(say), context_(context) {}
  NanoDump(const NanoDump&) = delete;
  NanoDump& operator=(const NanoDump&) = delete;

  /// Reads the acl.json `path` by the rules of a nano product and, if that asks for a dump, starts the device
  /// part. A config that is missing, refused or asks for nothing leaves the dump off; the log says so. An
  /// error of the device part is returned.
  Code init(const char* path);

  /// Ends the dump, which may be off; the log says which models were never loaded. Handles stay valid for
  /// `release` only.
  Code deinit();

  /// Null while the dump is off.
  void* create_handle();

  // While the dump is off, these do nothing. A null handle is then allowed, and otherwise an error.
  Code prepare(ModelLoad* load, std::size_t task_bytes, const char* name, void* handle);
  Code start(std::uint32_t model_id, std::uint64_t* step, void* handle);
  void step_done(void* handle);
  void release(void* handle);

 private:
  void tell(const std::string& line) const { say_(context_, line); }
  bool load_config(const char* path, NanoConfig& config) const;
  void tell_ignored(const DumpConfig& config) const;
  void note_rules(const ModelDump& model);
  bool is_on();

  NanoRuntime& runtime_;
  const LogHook say_;
  void* const context_;
  std::mutex mutex_;
  std::shared_ptr<NanoConfig> config_;  ///< null: off
  std::vector<bool> rules_met_;         ///< by a loaded model
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
