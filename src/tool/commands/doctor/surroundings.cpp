#include "src/tool/commands/doctor/surroundings.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>

#include "opdump/config/parse.hpp"
#include "platform/ascend/acl_library.hpp"
#include "platform/posix/counter_clock.hpp"
#include "platform/posix/impl/dump_path.hpp"
#include "platform/posix/impl/free_bytes.hpp"
#include "platform/posix/impl/trusted_variable.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/commands/doctor/device_trial.hpp"
#include "src/tool/config/checked_config.hpp"

#ifdef __linux__
#endif

namespace opdump::tool {
namespace {

/// A library, and what is looked up in it besides the functions of `ascend::AclApi`.
struct Wanted {
  std::string_view name;
  std::string_view purpose;
  std::vector<std::string_view> functions;
};

const Wanted kOtherLibraries[] = {
    {"libascend_dump.so",
     "CANN's own dump, and its callback",
     {"acldumpRegCallback", "acldumpUnregCallback", "acldumpGetPath"}},
    {"libge_dbg.so",
     "what the nano executor asks which operators to dump",
     {"DbgInit", "DbgDeInit", "DbgNotifySetDevice", "DbgGetprofEnable", "DbgLoadModelPostProcess",
      "DbgCreateModelHandle", "DbgDumpPreProcess", "DbgStepIdCounterPlus", "DbgFreeLoadDumpInfo"}},
    {"libdatadump.so", "what dumps on a nano device", {"InitDataDump", "StopDataDump"}},
    {"libopdump_acl.so",
     "opdump for programs written for CANN, where it is built shared",
     {"aclInit", "aclmdlInitDump", "aclmdlSetDump", "aclmdlFinalizeDump", "acldumpRegCallback",
      "acldumpGetPath", "opdump_acl_session"}},
};

std::string path_of_library([[maybe_unused]] void* handle, std::string_view name) {
#ifdef __linux__
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name[0] != '\0')
    return map->l_name;
#endif
  return std::string(name);
}

/// A file of that name where CANN's packages put theirs; empty: there is none.
std::string find_elsewhere(std::string_view name) {
  std::vector<std::string> places;
  for (const char* variable : {"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_NNRT_HOME"}) {
    if (const char* const value = posix::trusted_variable(variable); value != nullptr && *value != '\0')
      places.emplace_back(value);
  }
  for (const char* package : {"latest", "ascend-toolkit/latest", "nnrt/latest", "nnae/latest", "cann"})
    places.push_back(std::string("/usr/local/Ascend/") + package);
  for (const std::string& place : places) {
    for (const char* folder : {"/lib64/", "/runtime/lib64/"}) {
      const std::string file = place + folder + std::string(name);
      if (::access(file.c_str(), F_OK) == 0) return file;
    }
  }
  return {};
}

FoundLibrary find(const Wanted& wanted, bool is_runtime) {
  FoundLibrary found = {.name = wanted.name, .purpose = wanted.purpose};
  const std::string name(wanted.name);
  const CallWatch watch("loading " + name);
  void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const told = ::dlerror();
    found.reason = told == nullptr ? "the loader does not say why" : told;
    // Of a library that is not there the loader names that one, otherwise one that it needs, or its path.
    found.broken = found.reason.find("No such file") == std::string::npos || !found.reason.starts_with(name);
    found.elsewhere = find_elsewhere(wanted.name);
  } else {
    found.path = path_of_library(handle, wanted.name);
  }
  const auto look_up = [&found, handle](std::string_view function) {
    const bool is_there = handle != nullptr && ::dlsym(handle, std::string(function).c_str()) != nullptr;
    found.functions.push_back({function, is_there});
  };
  if (is_runtime) {
    ascend::AclApi api;
    ascend::for_each_function(api, [&look_up](const char* function, auto) { look_up(function); });
  }
  for (const std::string_view function : wanted.functions) look_up(function);
  return found;
}

}  // namespace

bool FoundLibrary::has(std::string_view function) const {
  return std::any_of(functions.begin(), functions.end(), [function](const FoundFunction& each) {
    return each.is_there && each.name == function;
  });
}

const FoundLibrary& Board::library(std::string_view name) const {
  static const FoundLibrary kNone;
  const auto found = std::find_if(libraries.begin(), libraries.end(),
                                  [name](const FoundLibrary& each) { return each.name == name; });
  return found == libraries.end() ? kNone : *found;
}

std::vector<FoundLibrary> find_libraries() {
  std::vector<FoundLibrary> found;
  for (const char* name : ascend::AclLibrary::kNames)
    found.push_back(find({name, "the runtime, by which AscendMemory copies", {}}, true));
  for (const Wanted& wanted : kOtherLibraries) found.push_back(find(wanted, false));
  return found;
}

namespace {

constexpr char kConfigVariable[] = "MINDSPORE_DUMP_CONFIG";
constexpr char kUsualConfig[] = "acl.json";

struct KnownVariable {
  const char* name;
  const char* effect;
};

constexpr KnownVariable kVariables[] = {
    {"LD_LIBRARY_PATH", "where libraries are looked for first"},
    {kConfigVariable, "the data_dump.json that load_mindspore_config reads"},
    {"MS_DIAGNOSTIC_DATA_PATH", "where MindSpore's dumps go if their config names no path"},
    {"ENABLE_MS_GE_DUMP", "1: the graph engine makes MindSpore's dumps"},
    {"ASCEND_DUMP_SCENE", "dumps operators that fail, also without a config"},
    {"NPU_COLLECT_PATH", "the same, and where to"},
    {"ASCEND_DUMP_PATH", "where dumps of operators that fail go"},
    {"ASCEND_WORK_PATH", "where those go without ASCEND_DUMP_PATH"},
    {"OPDUMP_DATADUMP_CONFIG", "the config of opdump's libdatadump on a nano device"},
    {"OPDUMP_DATADUMP_FLASH", "the raw flash that it dumps to"},
};

/// `path`, or of one that is not there the nearest directory above it that is.
std::string existing(std::string path) {
  while (!path.empty() && ::access(path.c_str(), F_OK) != 0) {
    const std::size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
    if (slash == 0) return "/";
  }
  return path.empty() ? "." : path;
}

/// `is_made`: the dump makes the directory.
void try_directory(FoundFiles& found, bool is_made) {
  const std::string directory = is_made ? existing(found.dump_path) : found.dump_path;
  std::string reason;
  if (!posix::check_dump_path(directory, reason)) {
    found.unwritable = reason;
    return;
  }
  found.free_bytes = posix::free_bytes(directory);
  constexpr std::array<std::byte, 4096> kBlock{};
  const Bytes block(kBlock);
  OutputFile file;
  // Never committed, so that it goes with the object.
  if (!file.create(directory, "opdump-doctor") || !file.write({&block, 1})) found.unwritable = file.error();
}

}  // namespace

std::vector<FoundVariable> find_variables() {
  std::vector<FoundVariable> found;
  for (const KnownVariable& known : kVariables) {
    const char* const value = posix::trusted_variable(known.name);
    if (value != nullptr && *value != '\0') found.push_back({known.name, known.effect, value});
  }
  return found;
}

FoundFiles find_files(const std::string& config) {
  FoundFiles found = {.config = config, .config_from = "the command line", .dump_path = "."};
  const char* const named = posix::trusted_variable(kConfigVariable);
  if (found.config.empty() && named != nullptr && *named != '\0') {
    found.config = named;
    found.config_from = kConfigVariable;
  }
  if (found.config.empty() && ::access(kUsualConfig, F_OK) == 0) {
    found.config = kUsualConfig;
    found.config_from = "the current directory";
  }
  bool is_made = false;
  if (!found.config.empty()) {
    CheckedConfig checked;
    Status status = checked.load(found.config, nullptr);
    if (status == Status::ok) status = checked.follow_environment();
    if (status != Status::ok) found.refusal = to_string(checked.error, found.config);
    found.active = status == Status::ok && checked.config.active;
    if (found.active && !checked.config.dump_path.empty()) found.dump_path = checked.config.dump_path;
    is_made = checked.config.form.layout != Layout::cann;
  }
  try_directory(found, is_made);
  return found;
}

FoundClock find_clock() {
  constexpr std::uint64_t kFirstSane = 1'577'836'800'000'000;  // 2020
  posix::CounterClock clock;
  FoundClock found = {.unix_us = clock.unix_us(), .utc_offset_seconds = clock.utc_offset_seconds()};
#if defined(__x86_64__) || defined(__aarch64__)
  found.by_counter = posix::ProcessorCounter::is_trusted();
#endif
  found.is_set = found.unix_us >= kFirstSane;
  return found;
}

}  // namespace opdump::tool
