#include "platform/ascend/nano/nano_dump.hpp"

#include <unistd.h>

#include "platform/posix/impl/working_directory.hpp"
#include "platform/posix/tree_sink.hpp"
#include "src/config/refusal.hpp"
#include "src/config/text/config_text.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {
namespace {

ModelDump& model_of(void* handle) {
  return *static_cast<ModelDump*>(handle);
}

}  // namespace

Code NanoDump::init(const char* path) {
  const std::lock_guard lock(mutex_);
  auto config = std::make_shared<NanoConfig>(say_, context_);
  if (!load_config(path, *config)) return kOk;
  std::string missing;
  if (!runtime_.is_complete(missing)) {
    tell("the runtime has no " + missing + ", without which nothing can be dumped: the dump is off");
    return kOk;
  }
  if (config_ == nullptr) {
    std::string error;
    if (const Code code = runtime_.start(path, error); code != kOk) {
      tell(error);
      return code;
    }
  }
  rules_met_.assign(config->config.models.size(), false);
  config_ = std::move(config);
  return kOk;
}

bool NanoDump::load_config(const char* path, NanoConfig& config) const {
  if (path == nullptr || *path == '\0') return false;
  ConfigOutcome outcome;
  const ConfigContext context = {.dialect = ConfigDialect::acl, .nano = true};
  if (posix::load_config_file(path, config.memory, outcome, context) != Status::ok) {
    tell(to_string(outcome.error, path) + "; the dump is off");
    return false;
  }
  for (const ConfigNote& note : outcome.notes) tell(to_string(note, path));
  DumpConfig& read = config.config = outcome.config;
  if (const Status status = posix::make_absolute(read.dump_path, posix::TreeSink::kMaxPathBytes, config.root);
      status != Status::ok) {
    tell(std::string(path) + ": dump_path below the working directory: " + std::string(to_string(status)) +
         "; the dump is off");
    return false;
  }
  read.dump_path = config.root;
  if (!seal_key(read.options).empty()) {
    tell(std::string(path) + ": opdump.seal: the device part of the runtime seals nothing; the dump is off");
    return false;
  }
  if (!triggers_of(read.options).empty()) {
    tell(std::string(path) +
         ": opdump.trigger: the device part of the runtime keeps no history; the dump is off");
    return false;
  }
  if (!privacy_rules(read).empty()) {
    tell(std::string(path) +
         ": opdump.privacy: the device part of the runtime copies whole tensors; the dump is off");
    return false;
  }
  const bool has_scene = read.overflow || read.exception != ExceptionDump::none;
  if (!read.active || (!has_scene && read.models.empty())) {
    tell(std::string(path) + ": asks for no dump of a model; the dump is off");
    return false;
  }
  for (const std::string& line : tool::config_lines(read)) tell("config: " + line);
  tell_ignored(read);
  return true;
}

/// What of a config only the device part could do.
void NanoDump::tell_ignored(const DumpConfig& config) const {
  if (config.single_ops)
    tell("config: \"dump_op_switch\" does not count: the executor runs no operator outside a model");
  if (digest_bytes(config.form) != 0)
    tell("config: \"digest\" does not count: the device part of the runtime is asked for tensors");
  else if (config.form.data == DumpData::statistics && config.form.statistics != kStatsByDefault)
    tell("config: \"dump_stats\" does not count: the device part of the runtime chooses the statistics");
  const DumpForm as_read = {.data = config.form.data, .statistics = config.form.statistics};
  if (asks_anything(config.options) || config.options.ring_bytes ||
      config.form.file_format != as_read.file_format || config.form.layout != as_read.layout ||
      config.form.fixed_point)
    tell("config: how files are written, as \"opdump\" says, counts only if the device part reads it too");
}

Code NanoDump::deinit() {
  const std::lock_guard lock(mutex_);
  if (config_ == nullptr) return kOk;
  const std::span<const ModelRule> rules = config_->config.models;
  const bool has_scene = config_->config.overflow || config_->config.exception != ExceptionDump::none;
  for (std::size_t i = 0; i < rules.size() && !has_scene; ++i) {
    if (!rules_met_[i])
      config_->log.never_captured({.cause = NeverCause::no_model, .model = rules[i].model_name});
  }
  config_ = nullptr;
  return runtime_.stop();
}

bool NanoDump::is_on() {
  const std::lock_guard lock(mutex_);
  return config_ != nullptr;
}

void* NanoDump::create_handle() {
  const std::lock_guard lock(mutex_);
  return config_ == nullptr ? nullptr : new ModelDump(config_, runtime_);
}

Code NanoDump::prepare(ModelLoad* load, std::size_t task_bytes, const char* name, void* handle) {
  if (!is_on()) return kOk;
  if (handle == nullptr || name == nullptr) return kNoMemory;
  if (load == nullptr) return kParamInvalid;
  const Code code = model_of(handle).prepare(*load, task_bytes, name);
  note_rules(model_of(handle));
  return code;
}

void NanoDump::note_rules(const ModelDump& model) {
  const std::string_view name = model.rule_name();
  const std::lock_guard lock(mutex_);
  if (config_ == nullptr || name.empty()) return;
  for (std::size_t i = 0; i < rules_met_.size(); ++i) {
    if (config_->config.models[i].model_name == name) rules_met_[i] = true;
  }
}

Code NanoDump::start(std::uint32_t model_id, std::uint64_t* step, void* handle) {
  if (!is_on()) return kOk;
  if (handle == nullptr) return kNoMemory;
  return step == nullptr ? kParamInvalid : model_of(handle).start(model_id, step);
}

void NanoDump::step_done(void* handle) {
  if (handle != nullptr && is_on()) model_of(handle).step_done();
}

void NanoDump::release(void* handle) {
  if (handle == nullptr) return;
  model_of(handle).stop(is_on());
  delete &model_of(handle);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
