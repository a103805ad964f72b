#include "platform/ascend/nano/profiling.hpp"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>

#include "platform/posix/config_file.hpp"
#include "src/config/json/json_tree.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr const char* kLibrary = "libprofapi.so";
constexpr std::uint32_t kModule = 45;         // GE
constexpr std::uint32_t kInitByAclJson = 1;   // MSPROF_CTRL_INIT_ACL_JSON
constexpr std::uint32_t kSwitch = 1;          // PROF_CTRL_SWITCH
constexpr std::uint64_t kTimesTasks = 0x800;  // MSPROF_TASK_TIME_L0, in the first field of a command

/// What the profiler is told of a loaded model: MsprofAdditionalInfo with a MsprofExeomLoadInfo.
struct ModelReport {
  std::uint16_t magic = 0x5a5a;
  std::uint16_t level = 15000;  // of a model
  std::uint32_t type = 8;       // a model was loaded
  std::uint32_t thread = 0;
  std::uint32_t bytes = 16;  // of what follows the time
  std::uint64_t time = 0;
  std::uint32_t model_id = 0;
  std::uint32_t reserved = 0;
  std::uint64_t name_hash = 0;
  std::byte rest[232 - 16] = {};
};
static_assert(sizeof(ModelReport) == 24 + 232);

using Init = std::int32_t (*)(std::uint32_t type, void* data, std::uint32_t bytes);
using Finalize = std::int32_t (*)();
using Command = std::int32_t (*)(std::uint32_t type, void* data, std::uint32_t bytes);
using Register = std::int32_t (*)(std::uint32_t module, Command command);
using HashOf = std::uint64_t (*)(const char* text, std::size_t bytes);
using Now = std::uint64_t (*)();
using Report = std::int32_t (*)(std::uint32_t aging, const void* data, std::uint32_t bytes);
using SetDevice = std::int32_t (*)(std::uint32_t chip, std::uint32_t device, bool open);

constexpr const char* kSymbols[] = {"MsprofInit",           "MsprofRegisterCallback",     "MsprofGetHashId",
                                    "MsprofSysCycleTime",   "MsprofReportAdditionalInfo", "MsprofFinalize",
                                    "MsprofNotifySetDevice"};

/// The profiler's callback has no argument for whom it is.
std::atomic<bool> tasks_are_timed{false};

std::int32_t take_command(std::uint32_t type, void* data, std::uint32_t bytes) {
  std::uint64_t asked = 0;
  if (data == nullptr) return static_cast<std::int32_t>(kParamInvalid);
  if (type != kSwitch) return 0;
  if (bytes < sizeof asked) return static_cast<std::int32_t>(kParamInvalid);
  std::memcpy(&asked, data, sizeof asked);
  tasks_are_timed.store((asked & kTimesTasks) != 0);
  return 0;
}

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

std::string_view object_of(std::string_view text, std::string_view key) {
  if (text.find(key) == std::string_view::npos) return {};
  ConfigError error;
  config::Refusal refusal(text, error);
  config::JsonTree tree;
  if (!tree.parse(text, refusal)) return {};
  const config::JsonNode* const node = tree.root().member(key);
  if (node == nullptr || node->type() != config::JsonType::object) return {};
  int depth = 0;
  bool in_text = false;
  std::size_t at = node->offset();
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_text && c == '\\') ++at;
    if (c == '"') in_text = !in_text;
    if (in_text) continue;
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (depth == 0) break;
  }
  return text.substr(node->offset(), at + 1 - node->offset());
}

Code Profiling::fail(const std::string& reason) {
  say_(context_, "\"profiler\" is in the config, and profiling cannot be started: " + reason);
  return kParamInvalid;
}

Code Profiling::start(const char* path) {
  const std::lock_guard lock(mutex_);
  posix::ConfigText text;
  ConfigError error;
  if (path == nullptr || *path == '\0' || posix::read_config_file(path, text, error) != Status::ok)
    return kOk;
  std::string asked(object_of(text.view(), "profiler"));
  if (asked.empty() || library_ != nullptr) return kOk;
  void* const library = dlopen(kLibrary, RTLD_NOW);
  if (library == nullptr) {
    const char* const reason = dlerror();
    return fail(reason == nullptr ? kLibrary : reason);
  }
  for (const char* name : kSymbols) {
    if (dlsym(library, name) != nullptr) continue;
    dlclose(library);
    return fail(std::string(kLibrary) + " has no " + name);
  }
  library_ = library;
  if (symbol<Register>(library_, "MsprofRegisterCallback")(kModule, take_command) != 0)
    return fail("MsprofRegisterCallback failed");
  if (symbol<Init>(library_, "MsprofInit")(kInitByAclJson, asked.data(),
                                           static_cast<std::uint32_t>(asked.size())) != 0)
    return fail("MsprofInit failed");
  return kOk;
}

void Profiling::stop() {
  const std::lock_guard lock(mutex_);
  if (library_ == nullptr) return;
  tasks_are_timed.store(false);
  if (symbol<Finalize>(library_, "MsprofFinalize")() != 0) say_(context_, "MsprofFinalize failed");
  dlclose(library_);
  library_ = nullptr;
}

Code Profiling::device_set(std::uint32_t chip, std::uint32_t device) {
  const std::lock_guard lock(mutex_);
  if (library_ == nullptr || symbol<SetDevice>(library_, "MsprofNotifySetDevice")(chip, device, true) == 0)
    return kOk;
  say_(context_, "MsprofNotifySetDevice failed");
  return kParamInvalid;
}

Code Profiling::model_loaded(std::uint32_t model_id, const char* name) {
  const std::lock_guard lock(mutex_);
  if (library_ == nullptr || !times_tasks() || name == nullptr) return kOk;
  ModelReport report;
  report.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  report.time = symbol<Now>(library_, "MsprofSysCycleTime")();
  report.model_id = model_id;
  report.name_hash = symbol<HashOf>(library_, "MsprofGetHashId")(name, std::strlen(name));
  if (symbol<Report>(library_, "MsprofReportAdditionalInfo")(0, &report, sizeof report) == 0) return kOk;
  say_(context_, "MsprofReportAdditionalInfo failed");
  return kParamInvalid;
}

bool Profiling::times_tasks() {
  return tasks_are_timed.load();
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
