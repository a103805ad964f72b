#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/types/config.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The environment of a process, for code that must not ask the process itself.
class Environment {
 public:
  /// The value of the variable `name`; null: it is not set.
  virtual const char* variable(const char* name) = 0;

  /// Whether `directory` can be written to. Makes it, and its parents, if it is missing.
  virtual bool usable(std::string_view directory) = 0;

 protected:
  ~Environment() = default;
};

/// What is to be written when the device fails, and where.
struct ExceptionPlan {
  ExceptionDump dump = ExceptionDump::none;
  std::string_view directory{};  ///< lies in the environment or in the config; empty when nothing is written
  /// The variable or key that switches the dump on, and the one that names the directory. Static text.
  std::string_view asked_by{};
  std::string_view directory_by{};
  /// Variables that are set and ignored: an unknown scene, a directory that cannot be used. Static texts.
  std::array<std::string_view, 4> ignored{};
  std::size_t ignored_count = 0;
};

/// Says what `config` and `environment` together ask for. ASCEND_DUMP_SCENE comes first, then NPU_COLLECT_PATH, which
/// also names the directory, then the config: CANN reads the environment when the program starts. Otherwise the
/// directory is the first usable one of ASCEND_DUMP_PATH and ASCEND_WORK_PATH, else `dump_path`, else the current
/// one. Only exception dump depends on the environment. Source: CANN's server implementation.
inline ExceptionPlan plan_exceptions(const DumpConfig& config, Environment& environment) {
  ExceptionPlan plan;
  const auto ignore = [&plan](std::string_view variable) { plan.ignored[plan.ignored_count++] = variable; };
  const auto value_of = [&environment](const char* name) {
    const char* const value = environment.variable(name);
    return value == nullptr ? std::string_view{} : std::string_view(value);
  };
  const auto take_directory = [&](const char* name) {
    const std::string_view value = value_of(name);
    if (value.empty()) return false;
    if (!environment.usable(value)) {
      ignore(name);
      return false;
    }
    plan.directory = value;
    plan.directory_by = name;
    return true;
  };

  const std::string_view scene = value_of("ASCEND_DUMP_SCENE");
  if (scene == "aic_err_brief_dump") plan.dump = ExceptionDump::brief;
  if (scene == "aic_err_norm_dump") plan.dump = ExceptionDump::norm;
  if (scene == "aic_err_detail_dump") plan.dump = ExceptionDump::detail;
  if (plan.dump != ExceptionDump::none) {
    plan.asked_by = "ASCEND_DUMP_SCENE";
  } else {
    if (!scene.empty()) ignore("ASCEND_DUMP_SCENE");
    if (take_directory("NPU_COLLECT_PATH")) {
      plan.dump = ExceptionDump::norm;
      plan.asked_by = "NPU_COLLECT_PATH";
      return plan;
    }
    if (config.exception == ExceptionDump::none) return plan;
    plan.dump = config.exception;
    plan.asked_by = "dump_scene";
  }
  if (take_directory("ASCEND_DUMP_PATH") || take_directory("ASCEND_WORK_PATH")) return plan;
  plan.directory = config.dump_path.empty() ? std::string_view("./") : config.dump_path;
  plan.directory_by = config.dump_path.empty() ? "the current directory" : "dump_path";
  return plan;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
