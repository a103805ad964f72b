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
#include <string>

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

class DeviceTrial {
 public:
  DeviceTrial(const ascend::AclLibrary& library, FoundDevice& found)
      : api_(library.api()), calls_(library.handle()), found_(found) {
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
      note("aclrtResetDevice", calls_.reset_device(static_cast<std::int32_t>(found_.id)));
    }
    if (begun && calls_.finalize != nullptr) {
      const CallWatch watch("aclFinalize");
      note("aclFinalize", calls_.finalize());
    }
  }

 private:
  /// True for success.
  bool note(const char* call, AclError code) {
    if (code == ascend::kAclSuccess) return true;
    const bool is_known =
        std::any_of(found_.failed.begin(), found_.failed.end(),
                    [&](const FailedCall& each) { return each.call == call && each.code == code; });
    if (!is_known) found_.failed.push_back({call, code});
    return false;
  }

  void note(const AscendMemory& memory) {
    const DriverError error = memory.driver_error();
    if (error.call != nullptr) note(error.call, error.code);
  }

  void ask() {
    const CallWatch watch("asking the runtime for versions and devices");
    std::int32_t version[3] = {};
    if (calls_.get_version != nullptr &&
        note("aclrtGetVersion", calls_.get_version(&version[0], &version[1], &version[2]))) {
      found_.interface_version =
          std::to_string(version[0]) + "." + std::to_string(version[1]) + "." + std::to_string(version[2]);
    }
    char package[] = "runtime";
    char text[256] = {};
    if (calls_.get_version_text != nullptr &&
        note("aclsysGetVersionStr", calls_.get_version_text(package, text))) {
      text[sizeof text - 1] = '\0';
      found_.package_version = text;
    }
    std::uint32_t count = 0;
    if (calls_.get_device_count != nullptr && note("aclrtGetDeviceCount", calls_.get_device_count(&count)))
      found_.count = count;
  }

  bool take_device() {
    const std::string device = "device " + std::to_string(found_.id);
    if (found_.count && found_.id >= *found_.count) {
      found_.untried = "there is no " + device;
      return false;
    }
    if (calls_.set_device == nullptr) {
      found_.untried =
          "the runtime has no aclrtSetDevice; below AscendCL the program takes the device itself";
      return false;
    }
    const CallWatch watch("aclrtSetDevice(" + std::to_string(found_.id) + ")");
    if (!note("aclrtSetDevice", calls_.set_device(static_cast<std::int32_t>(found_.id)))) {
      found_.untried = device + " cannot be taken";
      return false;
    }
    return true;
  }

  void use_device() {
    if (calls_.get_chip != nullptr) {
      const CallWatch watch("aclrtGetSocName");
      const char* const chip = calls_.get_chip();
      found_.chip = chip == nullptr ? "" : chip;
    }
    ask_run_mode();
    ask_pinned();
    void* memory = nullptr;
    if (allocate(memory)) {
      try_copies(address_of(memory));
      const CallWatch watch("aclrtFree");
      note("aclrtFree", api_.free(memory));
    }
  }

  void ask_run_mode() {
    if (api_.get_run_mode == nullptr) return;
    const CallWatch watch("aclrtGetRunMode");
    int mode = -1;
    if (!note("aclrtGetRunMode", api_.get_run_mode(&mode))) return;
    found_.run_mode =
        mode == ascend::kRunModeDevice ? FoundDevice::RunMode::device : FoundDevice::RunMode::host;
  }

  void ask_pinned() {
    if (api_.malloc_host == nullptr || api_.free_host == nullptr) return;
    const CallWatch watch("aclrtMallocHost");
    void* memory = nullptr;
    if (!note("aclrtMallocHost", api_.malloc_host(&memory, kBytes)) || memory == nullptr) return;
    found_.pinned_offset = static_cast<std::uint32_t>(address_of(memory) % AscendMemory::kAlignment);
    note("aclrtFreeHost", api_.free_host(memory));
  }

  /// Memory of the device that holds `written_`.
  bool allocate(void*& memory) {
    const CallWatch watch("writing to device " + std::to_string(found_.id));
    const bool can_write = api_.malloc != nullptr && api_.free != nullptr;
    if (!can_write) {
      found_.untried = "the runtime has no aclrtMalloc and aclrtFree to try copies with";
      return false;
    }
    if (!note("aclrtMalloc", api_.malloc(&memory, kBytes, ascend::kMallocNormalOnly)) || memory == nullptr) {
      found_.untried = "the device gives no memory to try copies with";
      return false;
    }
    const bool by_acl = api_.memcpy_sync != nullptr;
    const AclError code = by_acl ? api_.memcpy_sync(memory, kBytes, written_.data(), kBytes, kHostToDevice)
                                 : api_.rt_memcpy(memory, kBytes, written_.data(), kBytes, kHostToDevice);
    if (note(by_acl ? "aclrtMemcpy" : "rtMemcpy", code)) return true;
    found_.untried = "the driver does not write to the device what would be read back";
    note("aclrtFree", api_.free(memory));
    return false;
  }

  void try_copies(Address from) {
    found_.bytes = kBytes;
    {
      const CallWatch watch("reading device memory in place");
      AscendMemory memory;
      found_.opened = memory.open(api_, {.device_id = found_.id});
      note(memory);
      if (found_.opened != Status::ok) return;
      if (memory.reads_in_place()) found_.in_place = compared(memory.copy(read_.data(), from, kBytes), 0);
      note_closed(memory);
    }
    const CallWatch watch("copying from device " + std::to_string(found_.id));
    AscendMemory memory;
    found_.opened = memory.open(
        api_, {.device_id = found_.id, .lanes = 1, .staging_bytes = kBytes, .read_in_place = false});
    note(memory);
    if (found_.opened != Status::ok) return;
    found_.at_once = compared(memory.copy(read_.data(), from, kBytes), 0);
    note(memory);
    try_unaligned(memory, from);
    try_background(memory, from);
    try_overflow(memory);
    note_closed(memory);
  }

  void try_unaligned(AscendMemory& memory, Address from) {
    constexpr std::size_t kPart = kBytes - 2 * kShift;
    // What of the driver says that it refuses such addresses, AscendMemory finds a way around.
    if (api_.memcpy_sync != nullptr) {
      const AclError code =
          api_.memcpy_sync(read_.data() + 1, kPart, pointer(from + kShift), kPart, ascend::kDeviceToHost);
      found_.unaligned_refused = ascend::says_arguments(code);
      if (!found_.unaligned_refused) note("aclrtMemcpy", code);
    }
    read_.fill(std::byte{});
    const Status status = memory.copy(read_.data() + kShift, from + kShift, kPart);
    found_.unaligned =
        status != Status::ok ? Trial::failed
        : std::equal(read_.begin() + kShift, read_.begin() + kShift + kPart, written_.begin() + kShift)
            ? Trial::right
            : Trial::wrong;
    if (!found_.unaligned_refused) note(memory);
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
    found_.in_background = compared(status, 0);
    if (status != Status::ok) note(memory);
  }

  void try_overflow(AscendMemory& memory) {
    if (!api_.has_overflow()) return;
    found_.overflow = memory.overflowed(0).ok() ? Trial::right : Trial::failed;
    if (found_.overflow == Trial::failed) note(memory);
  }

  void note_closed(AscendMemory& memory) {
    if (memory.close() != Status::ok) note(memory);
  }

  /// Whether the latest copy, which `status` became of, has brought what was written; forgets it.
  Trial compared(Status status, std::size_t at) {
    const bool same = std::equal(read_.begin() + static_cast<std::ptrdiff_t>(at), read_.end(),
                                 written_.begin() + static_cast<std::ptrdiff_t>(at));
    read_.fill(std::byte{});
    if (status != Status::ok) return Trial::failed;
    return same ? Trial::right : Trial::wrong;
  }

  static void* pointer(Address address) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  }

  const ascend::AclApi& api_;
  const ProgramCalls calls_;
  FoundDevice& found_;
  alignas(AscendMemory::kAlignment) std::array<std::byte, kBytes> written_;
  alignas(AscendMemory::kAlignment) std::array<std::byte, kBytes> read_{};
};

}  // namespace

FoundDevice try_device(std::uint32_t id, bool try_copies) {
  FoundDevice found = {.id = id};
  ascend::AclLibrary library;
  if (library.load() != Status::ok) {
    found.untried = "no runtime that can copy was found";
    return found;
  }
  found.is_nano = library.api().memcpy_sync != nullptr && library.api().malloc_host == nullptr;
  found.has_background = library.api().has_async();
  ::Dl_info info{};
  void* const function = ::dlsym(library.handle(), "aclrtMemcpy");
  void* const any = function != nullptr ? function : ::dlsym(library.handle(), "rtMemcpy");
  if (::dladdr(any, &info) != 0 && info.dli_fname != nullptr) found.library = info.dli_fname;
  if (!try_copies) {
    found.untried = "--no-trial";
    return found;
  }
  DeviceTrial(library, found).run();
  return found;
}

}  // namespace opdump::tool
