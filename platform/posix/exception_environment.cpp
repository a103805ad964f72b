#include "platform/posix/exception_environment.hpp"

#include <unistd.h>

#include <string>

#include "platform/posix/impl/dump_path.hpp"
#include "platform/posix/impl/make_directories.hpp"
#include "platform/posix/impl/trusted_variable.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {
namespace {

/// Whether `path` is a directory that can be written to, or can be made.
bool can_be_made(std::string path) {
  std::string reason;
  for (;;) {
    if (::access(path.c_str(), F_OK) == 0) return check_dump_path(path, reason);
    const std::size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) return check_dump_path(".", reason);
    path.resize(slash == 0 ? 1 : slash);
  }
}

void note(std::vector<ConfigNote>& notes, std::string_view key, std::string text) {
  if (notes.size() >= kMaxConfigNotes) return;
  notes.push_back({.key = std::string(key), .text = std::move(text), .line = 0, .column = 0, .file = {}});
}

}  // namespace

const char* ProcessEnvironment::variable(const char* name) {
  return trusted_variable(name);
}

bool ProcessEnvironment::usable(std::string_view directory) {
  const std::string path(directory);
  if (!makes_directories_) return can_be_made(path);
  std::string reason;
  return make_directories(path) == 0 && check_dump_path(path, reason);
}

Status follow_environment(Environment& environment, ConfigMemory& memory, ConfigOutcome& outcome) {
  DumpConfig& config = outcome.config;
  std::vector<ConfigNote>& notes = outcome.notes;
  if (config.form.layout != Layout::cann) return Status::ok;
  const ExceptionPlan plan = plan_exceptions(config, environment);
  for (std::size_t i = 0; i < plan.ignored_count; ++i) {
    note(notes, plan.ignored[i],
         plan.ignored[i] == "ASCEND_DUMP_SCENE"
             ? "this environment variable names no scene of exception dump, and is ignored"
             : "this environment variable names a directory that cannot be used, and is ignored");
  }
  if (plan.dump == ExceptionDump::none) return Status::ok;
  const bool by_config = config.exception != ExceptionDump::none;
  if (!by_config && config.asked) {
    note(
        notes, plan.asked_by,
        "this environment variable asks for exception dump, which does not go with what the config asks for: "
        "exceptions are not dumped");
    return Status::ok;
  }
  const bool has_variable = environment.variable(std::string(plan.directory_by).c_str()) != nullptr;
  const std::string_view directory = has_variable ? memory.keep(plan.directory) : config.dump_path;
  if (has_variable && directory.empty()) return Status::no_memory;
  if (!by_config || config.exception != plan.dump)
    note(notes, plan.asked_by,
         "this environment variable asks for exception dump, and goes before the config");
  if (has_variable)
    note(
        notes, plan.directory_by,
        "this environment variable names the directory of exception dump: \"" + std::string(directory) + '"');
  config.asked = config.active = true;
  config.exception = plan.dump;
  config.dump_path = directory;
  return Status::ok;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
