#include "src/tool/commands/doctor/libraries.hpp"

#include <dlfcn.h>
#include <unistd.h>

#ifdef __linux__
#include <link.h>
#endif

#include <algorithm>
#include <iterator>
#include <string>

#include "platform/ascend/acl_library.hpp"
#include "platform/posix/impl/trusted_variable.hpp"
#include "src/tool/commands/doctor/call_watch.hpp"

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

}  // namespace opdump::tool
