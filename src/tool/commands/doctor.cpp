#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platform/ascend/acl_library.hpp"
#include "platform/posix/counter_clock.hpp"
#include "platform/posix/impl/dump_path.hpp"
#include "platform/posix/impl/free_bytes.hpp"
#include "platform/posix/impl/trusted_variable.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/commands/doctor/device_trial.hpp"
#include "src/tool/config/checked_config.hpp"

namespace opdump::tool {
namespace {

constexpr char kDoctorHelp[] =
    R"(opdump doctor - says what there is on this board, and what opdump will do with it

usage: opdump doctor [CONFIG] [--device N] [--no-trial] [--limit SECONDS] [--json]

  --device N        tries the device N instead of device 0
  --no-trial        loads the libraries and leaves the device alone
  --limit SECONDS   gives up a call of the driver that has not come back by then, 30 s otherwise
  --json            the answer as a JSON object on stdout

Run it first on a new board, as the user and with the environment of the program that will dump: it loads the
libraries that this program would load, by the system's loader. Then it takes the device as a program does
(aclInit, aclrtSetDevice), copies 4 KiB there and back in each way that opdump has, and gives all of it back. A
device that another process holds alone cannot be tried meanwhile. CONFIG is the config that the program will
be started with; without it that of OPDUMP_CONFIG or MINDSPORE_DUMP_CONFIG, or acl.json in the current directory.
A file is made where dumps will go, and removed again.

The answer has four parts, with a name, a state and a text in each line:

  Libraries        the runtime (libascendcl.so, libacl_rt.so or libruntime.so: one is enough), CANN's dump, the
                   nano executor's two libraries; "broken" is there and cannot be loaded, mostly for want of the
                   driver's own libraries; which of the functions that opdump calls a library lacks
  Device           what the runtime tells of itself, and which calls failed with which codes
  Files and time   the config, the directory that is dumped to and its room, the clock
  What will work   yes, no with the reason, or perhaps where only the program itself shows it

On a desk without CANN:

  $ opdump doctor
  Libraries
    libascendcl.so     missing   the runtime, by which AscendMemory copies
    ...
  What will work
    in the background  no        AscendMemory's copies while the program goes on: there is no runtime that can copy
    ...
    host memory        yes       with FileDump or the C API, of tensors that the CPU reads

exit status
  0  tensors of an Ascend device can be dumped here, as far as was tried
  1  something is there and does not work: the driver, the device, the config or the directory
  2  the command line is wrong
  3  no runtime of CANN was found; host memory can be dumped
)";

/// A library, and what is looked up in it besides the functions of `ascend::AclApi`.
struct Wanted {
  std::string_view name;
  std::string_view purpose;
  std::vector<std::string_view> functions;
};

constexpr std::string_view kCannDump = "libascend_dump.so", kRegister = "acldumpRegCallback";

const Wanted kOtherLibraries[] = {
    {kCannDump, "CANN's own dump, and its callback", {kRegister, "acldumpUnregCallback", "acldumpGetPath"}},
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

std::string path_of_library(void* handle, std::string_view name) {
  link_map* map = nullptr;
  const bool is_told =
      ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name[0] != '\0';
  return is_told ? map->l_name : std::string(name);
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

Finding find(const Wanted& wanted, bool is_runtime) {
  Finding found = {"Libraries", std::string(wanted.name), "missing", std::string(wanted.purpose)};
  const CallWatch watch("loading " + found.name);
  void* const handle = ::dlopen(found.name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const told = ::dlerror();
    const std::string reason = told == nullptr ? "the loader does not say why" : told;
    // Of a library that is not there the loader names that one, otherwise one that it needs, or its path.
    if (reason.find("No such file") == std::string::npos || !reason.starts_with(found.name)) {
      found.state = "broken";
      found.text += ": " + reason;
    }
    if (const std::string elsewhere = find_elsewhere(wanted.name); !elsewhere.empty())
      found.text +=
          "; " + elsewhere +
          " is there, and the loader does not look there: source CANN's set_env.sh, or add its folder to "
          "LD_LIBRARY_PATH";
    return found;
  }
  found.state = "found";
  found.text = path_of_library(handle, wanted.name);
  const auto look_up = [&found, handle](std::string_view function) {
    const std::string name(function);
    if (::dlsym(handle, name.c_str()) == nullptr) found.lacks.push_back(name);
  };
  if (is_runtime) {
    ascend::AclApi api;
    ascend::for_each_function(api, [&look_up](const char* function, auto) { look_up(function); });
  }
  for (const std::string_view function : wanted.functions) look_up(function);
  return found;
}

std::vector<Finding> find_libraries() {
  std::vector<Finding> found;
  for (const char* name : ascend::AclLibrary::kNames)
    found.push_back(find({name, "the runtime, by which AscendMemory copies", {}}, true));
  for (const Wanted& wanted : kOtherLibraries) found.push_back(find(wanted, false));
  return found;
}

/// `path`, or of one that is not there the nearest directory above it that is.
std::string existing(std::string path) {
  while (!path.empty() && ::access(path.c_str(), F_OK) != 0) {
    const std::size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
    if (slash == 0) return "/";
  }
  return path.empty() ? "." : path;
}

/// The directory that a program would dump to. `is_made`: the dump makes it.
Finding try_directory(const std::string& dump_path, bool is_made) {
  const std::string directory = is_made ? existing(dump_path) : dump_path;
  Finding found = {"Files and time", "dumps go to", "unwritable", dump_path + ": "};
  if (std::string reason; !posix::check_dump_path(directory, reason)) {
    found.text += reason;
    return found;
  }
  constexpr std::array<std::byte, 4096> kBlock{};
  const Bytes block(kBlock);
  OutputFile file;
  // Never committed, so that it goes with the object.
  const bool writable = file.create(directory, "opdump-doctor") && file.write({&block, 1});
  if (writable) found.state = "writable";
  found.text += writable ? byte_text(posix::free_bytes(directory)) + " free" : file.error();
  return found;
}

/// The config that a program would be started with, its directory, and the time.
std::vector<Finding> find_surroundings(std::string config) {
  constexpr char kUsual[] = "acl.json";
  constexpr std::uint64_t kFirstSane = 1'577'836'800'000'000;  // 2020
  std::string by = "the command line";
  if (const posix::FoundConfig named = posix::find_config(nullptr); config.empty() && named.path != nullptr) {
    config = named.path;
    by = named.by;
  }
  if (config.empty() && ::access(kUsual, F_OK) == 0) {
    config = kUsual;
    by = "the current directory";
  }
  Finding found = {
      "Files and time", "config", "none",
      "neither CONFIG, OPDUMP_CONFIG, MINDSPORE_DUMP_CONFIG nor acl.json in the current directory"};
  std::string dump_path = ".";
  bool is_made = false;
  if (!config.empty()) {
    CheckedConfig checked;
    Status status = checked.load(config, nullptr);
    if (status == Status::ok) status = checked.follow_environment();
    const bool active = status == Status::ok && checked.config.active;
    found.state = status != Status::ok ? "refused" : active ? "active" : "inactive";
    found.text = status == Status::ok ? config + ", named by " + by : to_string(checked.error, config);
    if (active && !checked.config.dump_path.empty()) dump_path = checked.config.dump_path;
    is_made = checked.config.form.layout != Layout::cann;
  }
  posix::CounterClock clock;
  const std::uint64_t now = clock.unix_us();
  const bool is_set = now >= kFirstSane;
  return {found,
          try_directory(dump_path, is_made),
          {"Files and time", "clock", is_set ? "set" : "unset",
           time_text(now) + (is_set ? "" : ": directories of dumps will have wrong times")}};
}

/// Whether a way to copy works: yes, no, or perhaps where nobody has called its functions.
Finding copies(const FoundDevice& device, const char* name, const std::string& what, bool are_there,
               Trial trial, const char* not_here) {
  Finding found = {"What will work", name, "no", what};
  if (trial == Trial::right) {
    found.state = "yes";
  } else if (device.library.empty()) {
    found.text += ": there is no runtime that can copy";
  } else if (device.opened != Status::ok) {
    found.text += ": the device cannot be used: " + std::string(to_string(device.opened));
  } else if (!are_there || (trial == Trial::untried && device.untried.empty())) {
    found.text += std::string(": ") + not_here;
  } else if (trial == Trial::untried) {
    if (device.last_failure.empty()) found.state = "perhaps";
    found.text += ": not tried: " + device.untried;
  } else if (trial == Trial::wrong) {
    found.text += ": the trial copy brought other bytes than were written";
  } else {
    found.text += ": the trial copy failed" + (device.last_failure.empty() ? "" : ": " + device.last_failure);
  }
  return found;
}

std::vector<Finding> find_prospects(const std::vector<Finding>& libraries, const FoundDevice& device,
                                    const Finding& directory) {
  const auto library = [&libraries](std::string_view name) {
    return *std::find_if(libraries.begin(), libraries.end(),
                         [name](const Finding& each) { return each.name == name; });
  };
  std::vector<Finding> found = {
      copies(device, "in the background", "AscendMemory's copies while the program goes on",
             device.has_background, device.in_background,
             "the runtime has no pinned memory, streams and aclrtMemcpyAsync that work"),
      copies(device, "at once", "AscendMemory's copies that a capture waits for", true, device.at_once,
             "nothing was tried"),
      copies(device, "in place", "device memory that the program's CPU reads itself", device.has_background,
             device.in_place, "the program's CPU is not the device's own")};
  std::string_view best = "no";
  for (const std::string_view state : {"perhaps", "yes"}) {
    if (std::any_of(found.begin(), found.end(), [state](const Finding& each) { return each.state == state; }))
      best = state;
  }
  const auto add = [&found](const char* name, std::string_view state, const std::string& text) {
    found.push_back({"What will work", name, state, text});
  };
  const std::string none = best == "no" ? ": nothing copies the tensors" : "";
  add("single operators", best,
      "aclnn, and programs that run operators one by one, by capture_single_op" + none);
  add("overflow dumps", best,
      device.overflow == Trial::right ? "by what the device tells of each operator" + none
                                      : "outputs are searched for infinities and NaN" + none);
  const Finding dump = library(kCannDump);
  const bool lacks = std::find(dump.lacks.begin(), dump.lacks.end(), kRegister) != dump.lacks.end();
  const bool calls_back = dump.state == "found" && !lacks;
  add("CANN's dump", calls_back && best != "no" ? "perhaps" : "no",
      std::string("whole models, behind the callback of ") + std::string(kCannDump) +
          (calls_back ? "; only a dump of a model shows more" + none
           : lacks    ? ", which has no acldumpRegCallback"
                      : ", which is not there"));
  std::string there;
  for (const char* const name : {"libge_dbg.so", "libdatadump.so"}) {
    if (const Finding one = library(name); one.state == "found")
      there += (there.empty() ? "" : " and ") + one.text;
  }
  add("the nano executor", device.is_nano ? "perhaps" : "no",
      std::string("by libge_dbg and libdatadump in its place") +
          (!device.is_nano ? ": the runtime is not that of a nano product"
           : there.empty() ? ": put opdump's where the executor finds them"
                           : ": the executor will find " + there));
  add("host memory", directory.state == "writable" ? "yes" : "no",
      "with FileDump or the C API, of tensors that the CPU reads");
  return found;
}

/// kExitFailed where something is there and does not work, or no file can be written.
int exit_status_of(const std::vector<Finding>& all, const FoundDevice& device) {
  const auto any = [&all](std::string_view state) {
    return std::any_of(all.begin(), all.end(), [state](const Finding& each) { return each.state == state; });
  };
  if (any("unwritable") || any("refused")) return kExitFailed;
  if (device.library.empty()) return any("broken") ? kExitFailed : kExitInactive;
  const Trial trials[] = {device.at_once, device.in_background, device.in_place};
  const auto has = [&trials](Trial trial) {
    return std::find(std::begin(trials), std::end(trials), trial) != std::end(trials);
  };
  if (has(Trial::wrong)) return kExitFailed;
  if (has(Trial::right)) return kExitOk;
  return !device.untried.empty() && device.last_failure.empty() ? kExitOk : kExitFailed;
}

std::string text_of(const Finding& finding) {
  std::string text = finding.text;
  for (const std::string& function : finding.lacks)
    text += (&function == &finding.lacks.front() ? "; lacks " : ", ") + function;
  return text;
}

/// Texts go on below themselves.
void print(const std::vector<Finding>& findings) {
  constexpr std::size_t kText = 31, kWidth = 110;
  Table table("  ", "lll");
  print_line(findings[0].part);
  for (const Finding& finding : findings) {
    std::vector<std::string> row = {finding.name, std::string(finding.state), text_of(finding)};
    while (row[2].size() > kWidth - kText && row[2].rfind(' ', kWidth - kText) != std::string::npos) {
      const std::size_t cut = row[2].rfind(' ', kWidth - kText);
      table.add({row[0], row[1], row[2].substr(0, cut)});
      row = {"", "", row[2].substr(cut + 1)};
    }
    table.add(row);
  }
  table.print();
}

std::string json_of(const std::vector<Finding>& all, int exit_status) {
  JsonWriter json;
  json.open('{').key("opdump").text(OPDUMP_VERSION).line().key("findings").open('[');
  for (const Finding& finding : all) {
    json.line(1).open('{').key("part").text(finding.part).key("name").text(finding.name);
    json.key("state").text(finding.state).key("text").text(text_of(finding)).close('}');
  }
  json.close(']').line().key("exit_status").number(static_cast<std::uint64_t>(exit_status)).close('}');
  return json.take();
}

std::optional<std::uint32_t> read_number(const std::string& text, std::uint32_t least, std::uint32_t most) {
  const std::optional<std::uint64_t> number = parse_decimal(text);
  if (!number || *number < least || *number > most) return {};
  return static_cast<std::uint32_t>(*number);
}

}  // namespace

int run_doctor(Words words) {
  bool json = false;
  bool no_trial = false;
  std::optional<std::string> device_text;
  std::optional<std::string> limit_text;
  const Option options[] = {{.name = "--json", .flag = &json},
                            {.name = "--no-trial", .flag = &no_trial},
                            {.name = "--device", .text = &device_text},
                            {.name = "--limit", .text = &limit_text}};
  std::vector<std::string> configs;
  if (const std::optional<int> exit_code = read_options({"doctor", kDoctorHelp, options}, words, configs))
    return *exit_code;
  if (configs.size() > 1) return usage_error("doctor", "one CONFIG at a time, not also '" + configs[1] + "'");
  constexpr std::uint32_t kMostDevice = std::numeric_limits<std::int32_t>::max();
  const std::optional<std::uint32_t> device = read_number(device_text.value_or("0"), 0, kMostDevice);
  if (!device) return usage_error("doctor", "--device takes a number, not '" + *device_text + "'");
  constexpr std::uint32_t kMostSeconds = 3600;
  const std::optional<std::uint32_t> limit = read_number(limit_text.value_or("30"), 1, kMostSeconds);
  if (!limit) return usage_error("doctor", "--limit takes 1 to 3600 seconds, not '" + *limit_text + "'");
  CallWatch::set_limit(*limit);

  // Each part is printed before the next one is looked at, which may be the last that this program does.
  std::vector<Finding> all = find_libraries();
  const std::vector<Finding> libraries = all;
  if (!json) print(libraries);
  const FoundDevice found = try_device(*device, !no_trial);
  const std::vector<Finding> surroundings = find_surroundings(configs.empty() ? std::string() : configs[0]);
  for (const std::vector<Finding>& part :
       {found.findings, surroundings, find_prospects(libraries, found, surroundings[1])}) {
    if (!json) print(part);
    all.insert(all.end(), part.begin(), part.end());
  }
  const int exit_status = exit_status_of(all, found);
  if (json) std::puts(json_of(all, exit_status).c_str());
  return exit_status;
}

}  // namespace opdump::tool
