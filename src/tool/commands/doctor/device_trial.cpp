#include "src/tool/commands/doctor/device_trial.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "platform/ascend/acl_library.hpp"
#include "platform/ascend/ascend_memory.hpp"
#include "src/tool/cli/exit_code.hpp"

namespace opdump::tool {
namespace {

constexpr int kDeadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

unsigned limit_seconds = 30;

// What the handler says; it may not put texts together.
char too_long[400];
char crashed[400];

struct sigaction before[std::size(kDeadly)];
struct sigaction before_alarm;

extern "C" void tell_of_call(int signal) {
  const char* const text = signal == SIGALRM ? too_long : crashed;
  std::size_t bytes = 0;
  while (text[bytes] != '\0') ++bytes;
  static_cast<void>(!::write(STDERR_FILENO, text, bytes));
  ::_exit(kExitFailed);
}

}  // namespace

CallWatch::CallWatch(const std::string& what) {
  constexpr char kAdvice[] =
      "the system's log and the driver's own may say why; "
      "'opdump doctor --no-trial' leaves the device alone";
  std::snprintf(too_long, sizeof too_long, "opdump doctor: %.150s has not come back for %u s; %s\n",
                what.c_str(), limit_seconds, kAdvice);
  std::snprintf(crashed, sizeof crashed, "opdump doctor: %.150s has crashed; %s\n", what.c_str(), kAdvice);
  std::fflush(stdout);
  struct sigaction action {};
  action.sa_handler = tell_of_call;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < std::size(kDeadly); ++i) ::sigaction(kDeadly[i], &action, &before[i]);
  ::sigaction(SIGALRM, &action, &before_alarm);
  ::alarm(limit_seconds);
}

CallWatch::~CallWatch() {
  ::alarm(0);
  for (std::size_t i = 0; i < std::size(kDeadly); ++i) ::sigaction(kDeadly[i], &before[i], nullptr);
  ::sigaction(SIGALRM, &before_alarm, nullptr);
}

void CallWatch::set_limit(unsigned seconds) {
  limit_seconds = seconds;
}

namespace {

using ascend::AclError;
using ascend::AscendMemory;

/// What the program around AscendMemory calls itself. Null where the runtime has none. Source: the public
/// headers of GitHub hicann/runtime (acl_rt.h, acl_base_rt.h).
struct ProgramCalls {
  AclError (*init)(const char* config) = nullptr;
  AclError (*finalize)() = nullptr;
  AclError (*set_device)(std::int32_t id) = nullptr;
  AclError (*reset_device)(std::int32_t id) = nullptr;
  AclError (*get_device_count)(std::uint32_t* count) = nullptr;
  AclError (*get_version)(std::int32_t* major, std::int32_t* minor, std::int32_t* patch) = nullptr;
  AclError (*get_version_text)(char* package, char* text) = nullptr;
  const char* (*get_chip)() = nullptr;

  explicit ProgramCalls(void* library) {
    const auto look_up = [library]<class Function>(const char* name, Function& function) {
      function = reinterpret_cast<Function>(::dlsym(library, name));
    };
    look_up("aclInit", init);
    look_up("aclFinalize", finalize);
    look_up("aclrtSetDevice", set_device);
    look_up("aclrtResetDevice", reset_device);
    look_up("aclrtGetDeviceCount", get_device_count);
    look_up("aclrtGetVersion", get_version);
    look_up("aclsysGetVersionStr", get_version_text);
    look_up("aclrtGetSocName", get_chip);
  }
};

constexpr int kHostToDevice = 1;
constexpr AclError kRepeatInitialize = 100002;
constexpr std::size_t kBytes = 4096;
constexpr std::size_t kShift = 5;  ///< what makes addresses odd

std::string_view word_of(Trial trial) {
  constexpr std::string_view kWords[] = {"untried", "right", "wrong", "failed"};
  return kWords[static_cast<std::size_t>(trial)];
}

class DeviceTrial {
 public:
  DeviceTrial(const ascend::AclLibrary& library, std::uint32_t id, FoundDevice& found)
      : api_(library.api()), calls_(library.handle()), id_(id), found_(found) {
    for (std::size_t i = 0; i < kBytes; ++i) written_[i] = static_cast<std::byte>((i * 2654435761u) >> 11);
  }

  void run() {
    bool begun = false;
    if (calls_.init != nullptr) {
      const CallWatch watch("aclInit");
      const AclError code = calls_.init(nullptr);
      begun = code == ascend::kAclSuccess;
      if (code != kRepeatInitialize) note("aclInit", code);
    }
    ask();
    const bool taken = take_device();
    if (taken) use_device();
    if (taken && calls_.reset_device != nullptr) {
      const CallWatch watch("aclrtResetDevice");
      note("aclrtResetDevice", calls_.reset_device(static_cast<std::int32_t>(id_)));
    }
    if (begun && calls_.finalize != nullptr) {
      const CallWatch watch("aclFinalize");
      note("aclFinalize", calls_.finalize());
    }
  }

 private:
  void add(std::string name, std::string_view state, std::string text = {}) {
    found_.findings.push_back({"Device", std::move(name), state, std::move(text)});
  }

  /// True for success.
  bool note(const std::string& call, AclError code) {
    if (code == ascend::kAclSuccess) return true;
    const std::string text = "returned " + std::to_string(code);
    const bool is_known =
        std::any_of(found_.findings.begin(), found_.findings.end(),
                    [&](const Finding& each) { return each.name == call && each.text == text; });
    if (!is_known) add(call, "failed", text);
    found_.last_failure = call + ' ' + text;
    return false;
  }

  void note(const AscendMemory& memory) {
    const DriverError error = memory.driver_error();
    if (error.call != nullptr) note(error.call, error.code);
  }

  bool refuse(std::string reason) {
    found_.untried = std::move(reason);
    return false;
  }

  void ask() {
    const CallWatch watch("asking the runtime for versions and devices");
    std::string versions = "AscendCL not told (aclrtGetVersion)", package = "not told (aclsysGetVersionStr)";
    std::int32_t version[3] = {};
    if (calls_.get_version != nullptr &&
        note("aclrtGetVersion", calls_.get_version(&version[0], &version[1], &version[2])))
      versions = "AscendCL " + std::to_string(version[0]) + '.' + std::to_string(version[1]) + '.' +
                 std::to_string(version[2]);
    char asked[] = "runtime";
    char text[256] = {};
    if (calls_.get_version_text != nullptr &&
        note("aclsysGetVersionStr", calls_.get_version_text(asked, text))) {
      text[sizeof text - 1] = '\0';
      package = text;
    }
    add("versions", "told", versions + ", package " + package);
    std::uint32_t count = 0;
    const bool is_told =
        calls_.get_device_count != nullptr && note("aclrtGetDeviceCount", calls_.get_device_count(&count));
    add("devices", is_told ? "told" : "untold",
        is_told ? std::to_string(count) : "not told (aclrtGetDeviceCount)");
    if (is_told) count_ = count;
  }

  bool take_device() {
    const std::string device = "device " + std::to_string(id_);
    if (count_ && id_ >= *count_) {
      found_.last_failure = "there is no " + device;
      return refuse(found_.last_failure);
    }
    if (calls_.set_device == nullptr)
      return refuse("the runtime has no aclrtSetDevice; below AscendCL the program takes the device itself");
    const CallWatch watch("aclrtSetDevice(" + std::to_string(id_) + ")");
    if (!note("aclrtSetDevice", calls_.set_device(static_cast<std::int32_t>(id_))))
      return refuse(device + " cannot be taken");
    return true;
  }

  void use_device() {
    {
      const CallWatch watch("aclrtGetSocName");
      const char* const chip = calls_.get_chip == nullptr ? nullptr : calls_.get_chip();
      add("device " + std::to_string(id_), "taken",
          chip == nullptr || *chip == '\0' ? "chip not told (aclrtGetSocName)" : chip);
    }
    ask_run_mode();
    ask_pinned();
    void* memory = nullptr;
    if (!allocate(memory)) return;
    try_copies(address_of(memory));
    const CallWatch watch("aclrtFree");
    note("aclrtFree", api_.free(memory));
  }

  void ask_run_mode() {
    const CallWatch watch("aclrtGetRunMode");
    int mode = -1;
    if (api_.get_run_mode == nullptr || !note("aclrtGetRunMode", api_.get_run_mode(&mode)))
      return add("run mode", "untold", "not told (aclrtGetRunMode)");
    const bool device = mode == ascend::kRunModeDevice;
    add("run mode", device ? "device" : "host",
        device ? "the program runs on the device's own CPU" : "the program runs beside the device");
  }

  void ask_pinned() {
    if (api_.malloc_host == nullptr || api_.free_host == nullptr) return;
    const CallWatch watch("aclrtMallocHost");
    void* memory = nullptr;
    if (!note("aclrtMallocHost", api_.malloc_host(&memory, kBytes)) || memory == nullptr) return;
    if (address_of(memory) % AscendMemory::kAlignment != 0)
      add("pinned", "odd", "begins elsewhere than at multiples of 64, which opdump makes up for");
    note("aclrtFreeHost", api_.free_host(memory));
  }

  /// Memory of the device that holds `written_`.
  bool allocate(void*& memory) {
    const CallWatch watch("writing to device " + std::to_string(id_));
    const bool can_write = api_.malloc != nullptr && api_.free != nullptr;
    if (!can_write) return refuse("the runtime has no aclrtMalloc and aclrtFree to try copies with");
    if (!note("aclrtMalloc", api_.malloc(&memory, kBytes, ascend::kMallocNormalOnly)) || memory == nullptr)
      return refuse("the device gives no memory to try copies with");
    const bool by_acl = api_.memcpy_sync != nullptr;
    const AclError code = by_acl ? api_.memcpy_sync(memory, kBytes, written_.data(), kBytes, kHostToDevice)
                                 : api_.rt_memcpy(memory, kBytes, written_.data(), kBytes, kHostToDevice);
    if (note(by_acl ? "aclrtMemcpy" : "rtMemcpy", code)) return true;
    note("aclrtFree", api_.free(memory));
    return refuse("the driver does not write to the device what would be read back");
  }

  void try_copies(Address from) {
    {
      const CallWatch watch("reading device memory in place");
      AscendMemory memory;
      if (!opens(memory, {.device_id = id_})) return;
      if (memory.reads_in_place()) found_.in_place = compared(memory.copy(read_.data(), from, kBytes));
      note_closed(memory);
    }
    const CallWatch watch("copying from device " + std::to_string(id_));
    AscendMemory memory;
    if (!opens(memory, {.device_id = id_, .lanes = 1, .staging_bytes = kBytes, .read_in_place = false}))
      return;
    found_.at_once = compared(memory.copy(read_.data(), from, kBytes));
    note(memory);
    try_unaligned(memory, from);
    try_background(memory, from);
    if (api_.has_overflow()) {
      found_.overflow = memory.overflowed(0).ok() ? Trial::right : Trial::failed;
      if (found_.overflow == Trial::failed) note(memory);
    }
    note_closed(memory);
  }

  bool opens(AscendMemory& memory, const ascend::MemoryOptions& options) {
    found_.opened = memory.open(api_, options);
    note(memory);
    if (found_.opened != Status::ok) add("AscendMemory", "closed", std::string(to_string(found_.opened)));
    return found_.opened == Status::ok;
  }

  void try_unaligned(AscendMemory& memory, Address from) {
    constexpr std::size_t kPart = kBytes - 2 * kShift;
    bool refused = false;
    // What of the driver says that it refuses such addresses, AscendMemory finds a way around.
    if (api_.memcpy_sync != nullptr) {
      const AclError code =
          api_.memcpy_sync(read_.data() + 1, kPart, pointer(from + kShift), kPart, ascend::kDeviceToHost);
      refused = ascend::says_arguments(code);
      if (!refused) note("aclrtMemcpy", code);
    }
    read_.fill(std::byte{});
    const Status status = memory.copy(read_.data() + kShift, from + kShift, kPart);
    const bool same =
        std::equal(read_.begin() + kShift, read_.begin() + kShift + kPart, written_.begin() + kShift);
    add("alignment",
        word_of(status != Status::ok ? Trial::failed
                : same               ? Trial::right
                                     : Trial::wrong),
        refused ? "the driver refuses addresses that are not multiples of 64; opdump goes by aligned ones"
                : "copies from and to addresses that are not multiples of 64");
    if (!refused) note(memory);
  }

  void try_background(AscendMemory& memory, Address from) {
    constexpr std::uint32_t kLimitMs = 5000;
    if (!memory.asynchronous()) return;
    AscendMemory::Copy copy;
    Status status = memory.start(copy, read_.data(), from, kBytes);
    if (status == Status::ok) {
      const Result<bool> over = memory.complete(copy, kLimitMs);
      status = over.ok() && over.value() ? Status::ok : Status::device_copy_failed;
    }
    found_.in_background = compared(status);
    if (status != Status::ok) note(memory);
  }

  void note_closed(AscendMemory& memory) {
    if (memory.close() != Status::ok) note(memory);
  }

  /// Whether the latest copy, which `status` became of, has brought what was written; forgets it.
  Trial compared(Status status) {
    const bool same = read_ == written_;
    read_.fill(std::byte{});
    if (status != Status::ok) return Trial::failed;
    return same ? Trial::right : Trial::wrong;
  }

  static void* pointer(Address address) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  }

  const ascend::AclApi& api_;
  const ProgramCalls calls_;
  const std::uint32_t id_;
  FoundDevice& found_;
  std::optional<std::uint32_t> count_;
  alignas(AscendMemory::kAlignment) std::array<std::byte, kBytes> written_;
  alignas(AscendMemory::kAlignment) std::array<std::byte, kBytes> read_{};
};

}  // namespace

FoundDevice try_device(std::uint32_t id, bool try_copies) {
  FoundDevice found;
  ascend::AclLibrary library;
  if (library.load() != Status::ok) {
    found.untried = "no runtime that can copy was found";
    found.findings.push_back({"Device", "runtime", "missing", found.untried});
    return found;
  }
  found.is_nano = library.api().memcpy_sync != nullptr && library.api().malloc_host == nullptr;
  found.has_background = library.api().has_async();
  ::Dl_info info{};
  void* const function = ::dlsym(library.handle(), "aclrtMemcpy");
  void* const any = function != nullptr ? function : ::dlsym(library.handle(), "rtMemcpy");
  if (::dladdr(any, &info) != 0 && info.dli_fname != nullptr) found.library = info.dli_fname;
  const char* const nano = found.is_nano ? ", of a nano product: no streams and memory of the host's" : "";
  found.findings.push_back({"Device", "runtime", "found", found.library + nano});
  if (try_copies) {
    DeviceTrial(library, id, found).run();
  } else {
    found.untried = "--no-trial";
  }
  if (!found.untried.empty()) found.findings.push_back({"Device", "copies", "untried", found.untried});
  return found;
}

}  // namespace opdump::tool
