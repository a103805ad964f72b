// A driver of two Ascend devices that is none: see simulated_ascend.hpp. One library for a server's runtime,
// and with SIMULATED_NANO=1 or SIMULATED_RT=1 one with the fewer functions of other products.

#include "simulated_ascend.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Steady = std::chrono::steady_clock;

constexpr int kInvalidParameter = 100000;
constexpr int kRtInvalidParameter = 107000;
constexpr int kRtInvalidDevice = 107001;
constexpr int kNoContext = 107002;
constexpr int kStreamNotInContext = 107003;
constexpr int kUnaligned = 107008;
constexpr int kNotSupported = 207000;
constexpr int kOutOfMemory = 207001;
constexpr int kSyncTimeout = 507046;

constexpr std::size_t kDevices = 2;
constexpr std::size_t kDeviceBytes = 192 * 1024 * 1024;
constexpr std::size_t kAlignment = 64;
constexpr std::uint64_t kNever = ~std::uint64_t{0};

struct Work {
  enum class Kind { copy, get_overflow, reset_overflow, launch } kind = Kind::copy;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
  int code = 0;
  bool held = false;
  void (*run)(void* context) = nullptr;
  void* context = nullptr;
  Steady::time_point submitted;
};

struct SimStream {
  std::size_t device = 0;
  std::deque<Work> queue;
  std::atomic<std::size_t> pending{0};
  int error = 0;
};

/// Memory that has two addresses: the one a program is given, which the CPU cannot read, and the device's.
class DeviceRam {
 public:
  DeviceRam() {
    const int file = memfd_create("simulated_ascend", 0);
    if (file < 0 || ftruncate(file, kDeviceBytes) != 0) std::abort();
    void* there = mmap(nullptr, kDeviceBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    void* seen = mmap(nullptr, kDeviceBytes, PROT_NONE, MAP_SHARED, file, 0);
    if (there == MAP_FAILED || seen == MAP_FAILED) std::abort();
    close(file);
    own_ = static_cast<std::byte*>(there);
    seen_ = static_cast<std::byte*>(seen);
  }

  /// The device's own address of memory that was allocated; null for any other.
  std::byte* find(const void* seen, std::size_t bytes) const {
    const std::byte* at = static_cast<const std::byte*>(seen);
    auto block = blocks_.upper_bound(at);
    if (block == blocks_.begin()) return nullptr;
    --block;
    const std::size_t offset = static_cast<std::size_t>(at - block->first);
    if (offset > block->second || bytes > block->second - offset) return nullptr;
    return own_ + (at - seen_);
  }

  std::byte* allocate(std::size_t bytes) {
    bytes = (bytes + 31) / 32 * 32 + 32;
    const std::byte* free_from = seen_;
    for (const auto& [start, size] : blocks_) {
      if (static_cast<std::size_t>(start - free_from) >= bytes) break;
      const std::size_t end = static_cast<std::size_t>(start + size - seen_);
      free_from = seen_ + (end + kAlignment - 1) / kAlignment * kAlignment;
    }
    if (static_cast<std::size_t>(seen_ + kDeviceBytes - free_from) < bytes) return nullptr;
    blocks_[free_from] = bytes;
    return seen_ + (free_from - seen_);
  }

  /// Lets the CPU read and write what a program is given, or not.
  void show_to_cpu(bool shown) {
    if (mprotect(seen_, kDeviceBytes, shown ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) std::abort();
  }

  bool release(const void* seen) { return blocks_.erase(static_cast<const std::byte*>(seen)) != 0; }
  void release_all() { blocks_.clear(); }
  std::size_t blocks() const { return blocks_.size(); }

 private:
  std::byte* own_ = nullptr;
  std::byte* seen_ = nullptr;
  std::map<const std::byte*, std::size_t> blocks_;
};

struct Device {
  DeviceRam ram;
  bool overflow = false;
  std::vector<std::unique_ptr<SimStream>> streams;
  std::size_t copies_under_way = 0;
  Steady::time_point link_free;
  std::thread worker;
};

thread_local int current_device = -1;

class Driver {
 public:
  Driver() {
    for (std::size_t i = 0; i < kDevices; ++i) devices_[i].worker = std::thread([this, i] { work(i); });
  }
  ~Driver() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    woken_.notify_all();
    for (Device& device : devices_) device.worker.join();
  }

  static Driver& instance() {
    static Driver driver;
    return driver;
  }

  void reset(const SimulatedAscend& how) {
    const std::lock_guard lock(mutex_);
    how_ = how;
    random_.seed(how.shuffle_seed);
    counts_ = {};
    fail_call_ = fail_copy_ = hold_from_ = hold_end_ = kNever;
    failing_.clear();
    for (Device& device : devices_) {
      device.overflow = false;
      device.ram.show_to_cpu(how.rc);
    }
  }

  SimulatedAscendCounts counts() {
    const std::lock_guard lock(mutex_);
    SimulatedAscendCounts counts = counts_;
    counts.pinned = pinned_.size();
    for (const Device& device : devices_) {
      counts.streams += device.streams.size();
      counts.allocations += device.ram.blocks();
    }
    return counts;
  }

  void fail_call(std::uint64_t number, int code) {
    const std::lock_guard lock(mutex_);
    fail_call_ = number == kNever ? kNever : counts_.calls + number;
    call_code_ = code;
  }
  void fail_function(const char* name, int code) {
    const std::lock_guard lock(mutex_);
    failing_ = name == nullptr ? "" : name;
    failing_code_ = code;
  }
  void fail_copy(std::uint64_t number, int code) {
    const std::lock_guard lock(mutex_);
    fail_copy_ = counts_.background + number;
    copy_code_ = code;
  }
  void hold_copies(std::uint64_t number, std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    hold_from_ = counts_.background + number;
    hold_end_ = hold_from_ + count;
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    hold_from_ = hold_end_ = kNever;
    for (Device& device : devices_) {
      for (auto& stream : device.streams) {
        for (Work& work : stream->queue) work.held = false;
      }
    }
    woken_.notify_all();
  }
  void operator_says(void* stream, int code) {
    const std::lock_guard lock(mutex_);
    static_cast<SimStream*>(stream)->error = code;
  }
  void set_overflow(std::int32_t device) {
    const std::lock_guard lock(mutex_);
    devices_[static_cast<std::size_t>(device)].overflow = true;
  }

  void drop_left_over() {
    const std::lock_guard lock(mutex_);
    for (Device& device : devices_) {
      device.streams.clear();
      device.ram.release_all();
    }
    for (const auto& [memory, block] : pinned_) std::free(block.start);
    pinned_.clear();
  }

  /// Every function of AscendCL begins with this; not 0: what it has to return.
  int begin_call(const char* name, bool on_nano) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t number = counts_.calls++;
    while (std::strcmp(how_.hangs, name) == 0) ::pause();
    if (std::strcmp(how_.crashes, name) == 0) std::raise(SIGSEGV);
    if (number == fail_call_) return call_code_;
    if (failing_ == name) return failing_code_;
    return !on_nano && how_.unsupported ? kNotSupported : 0;
  }

  int malloc(void** memory, std::size_t bytes) {
    if (memory == nullptr || bytes == 0) return kInvalidParameter;
    const std::lock_guard lock(mutex_);
    if (current_device < 0) return kNoContext;
    *memory = device().ram.allocate(bytes);
    return *memory == nullptr ? kOutOfMemory : 0;
  }

  int free(void* memory) {
    const std::lock_guard lock(mutex_);
    if (memory == nullptr) return kInvalidParameter;
    for (Device& device : devices_) {
      if (device.ram.release(memory)) return 0;
    }
    return kRtInvalidParameter;
  }

  int malloc_host(void** memory, std::size_t bytes) {
    if (memory == nullptr || bytes == 0) return kInvalidParameter;
    if (current_device < 0) return kNoContext;
    // Where host memory is device memory, it begins behind what the allocator keeps there.
    const std::size_t before = how_.rc ? 16 : 0;
    const std::size_t room = (before + bytes + kAlignment - 1) / kAlignment * kAlignment;
    std::byte* const start = static_cast<std::byte*>(std::aligned_alloc(kAlignment, room));
    if (start == nullptr) return kOutOfMemory;
    *memory = start + before;
    const std::lock_guard lock(mutex_);
    pinned_[start + before] = {start, bytes};
    return 0;
  }

  int free_host(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto block = pinned_.find(static_cast<std::byte*>(memory));
    if (block == pinned_.end()) return kRtInvalidParameter;
    std::free(block->second.start);
    pinned_.erase(block);
    return 0;
  }

  int run_mode(int* mode) {
    if (mode == nullptr) return kInvalidParameter;
    const std::lock_guard lock(mutex_);
    if (how_.hides_run_mode) return kNotSupported;
    *mode = how_.rc ? 0 : 1;
    return 0;
  }

  int memcpy(void* to, std::size_t room, const void* from, std::size_t bytes, int kind) {
    if (bytes == 0) return 0;
    if (to == nullptr || from == nullptr || room < bytes || kind < 0 || kind > 3) return kInvalidParameter;
    const std::lock_guard lock(mutex_);
    if (current_device < 0) return kNoContext;
    if (how_.rc && kind == 2 && !both_aligned(to, from)) return kUnaligned;
    std::byte* target = static_cast<std::byte*>(to);
    const std::byte* source = static_cast<const std::byte*>(from);
    if (kind == 1 || kind == 3) target = device().ram.find(to, bytes);
    if (kind == 2 || kind == 3) source = device().ram.find(from, bytes);
    if (target == nullptr || source == nullptr) return kRtInvalidParameter;
    std::memcpy(target, source, bytes);
    if (how_.wrong && kind == 2) target[bytes / 2] ^= std::byte{1};
    return 0;
  }

  int create_stream(void** stream) {
    if (stream == nullptr) return kInvalidParameter;
    const std::lock_guard lock(mutex_);
    if (current_device < 0) return kNoContext;
    auto made = std::make_unique<SimStream>();
    made->device = static_cast<std::size_t>(current_device);
    *stream = made.get();
    device().streams.push_back(std::move(made));
    return 0;
  }

  int destroy_stream(void* stream) {
    const std::lock_guard lock(mutex_);
    for (Device& device : devices_) {
      const auto found = std::find_if(device.streams.begin(), device.streams.end(),
                                      [stream](const auto& each) { return each.get() == stream; });
      if (found == device.streams.end()) continue;
      // What is still under way would be written to memory that is given back.
      if (!(*found)->queue.empty()) std::abort();
      device.streams.erase(found);
      return 0;
    }
    return kRtInvalidParameter;
  }

  int memcpy_async(void* to, std::size_t room, const void* from, std::size_t bytes, int kind, void* stream) {
    if (to == nullptr || from == nullptr || room < bytes || kind != 2) return kInvalidParameter;
    if (!both_aligned(to, from)) return kRtInvalidParameter;
    std::unique_lock lock(mutex_);
    SimStream* on = find(stream);
    if (on == nullptr) return kStreamNotInContext;
    const std::byte* source = device().ram.find(from, bytes);
    if (source == nullptr) return kRtInvalidParameter;
    if (!is_pinned(static_cast<std::byte*>(to), bytes)) {
      ++counts_.waited_for;
      lock.unlock();
      while (on->pending.load() != 0) std::this_thread::yield();
      std::memcpy(to, source, bytes);
      return 0;
    }
    Work work;
    work.to = static_cast<std::byte*>(to);
    work.from = source;
    work.bytes = bytes;
    const std::uint64_t number = counts_.background++;
    if (number == fail_copy_) work.code = copy_code_;
    work.held = number >= hold_from_ && number < hold_end_;
    if (device().copies_under_way++ == 0) ++counts_.background_idle;
    if (device().copies_under_way > counts_.most_under_way)
      counts_.most_under_way = device().copies_under_way;
    submit(*on, work);
    return 0;
  }

  int get_overflow(void* to, std::size_t bytes, void* stream) {
    if (to == nullptr) return kInvalidParameter;
    if (bytes != 64) return kRtInvalidParameter;
    const std::lock_guard lock(mutex_);
    SimStream* on = find(stream);
    Work work;
    work.kind = Work::Kind::get_overflow;
    if (on == nullptr) return kStreamNotInContext;
    work.to = device().ram.find(to, bytes);
    work.bytes = bytes;
    if (work.to == nullptr) return kRtInvalidParameter;
    submit(*on, work);
    return 0;
  }

  int reset_overflow(void* stream) {
    const std::lock_guard lock(mutex_);
    SimStream* on = find(stream);
    if (on == nullptr) return kStreamNotInContext;
    Work work;
    work.kind = Work::Kind::reset_overflow;
    submit(*on, work);
    return 0;
  }

  int launch(void* stream, void (*run)(void* context), void* context) {
    const std::lock_guard lock(mutex_);
    SimStream* on = find(stream);
    if (on == nullptr) return kStreamNotInContext;
    Work work;
    work.kind = Work::Kind::launch;
    work.run = run;
    work.context = context;
    submit(*on, work);
    return 0;
  }

  std::byte* own_address(const void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (const Device& device : devices_) {
      if (std::byte* const own = device.ram.find(memory, bytes)) return own;
    }
    return nullptr;
  }

  int synchronize(void* stream, std::int32_t ms) {
    SimStream* on = nullptr;
    const bool endless = ms < 0;
    {
      const std::lock_guard lock(mutex_);
      on = find(stream);
    }
    if (on == nullptr) return kStreamNotInContext;
    if (ms == 0) return kRtInvalidParameter;
    const auto give_up = Steady::now() + std::chrono::milliseconds(ms);
    // Awake at first: a copy takes microseconds, and so would going to sleep.
    for (int i = 0; i < 20000 && on->pending.load(std::memory_order_acquire) != 0; ++i) pause();
    std::unique_lock lock(mutex_);
    const auto done = [on] { return on->pending.load() == 0; };
    if (endless) {
      finished_.wait(lock, done);
    } else if (!finished_.wait_until(lock, give_up, done)) {
      // However slow the machine is, only what is held takes longer than a limit.
      finished_.wait(lock, [&] { return done() || (!on->queue.empty() && on->queue.front().held); });
      if (!done()) {
        counts_.limits_ms += static_cast<std::uint64_t>(ms);
        return kSyncTimeout;
      }
    }
    return std::exchange(on->error, 0);
  }

  int query(void* stream, int* status) {
    if (status == nullptr) return kInvalidParameter;
    const std::lock_guard lock(mutex_);
    const SimStream* on = find(stream);
    if (on == nullptr) return kStreamNotInContext;
    *status = on->pending.load() == 0 ? 0 : 1;
    return 0;
  }

 private:
  struct Pinned {
    std::byte* start = nullptr;  ///< of the block that is given back
    std::size_t bytes = 0;
  };

  static bool both_aligned(const void* to, const void* from) {
    return ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) &
            (kAlignment - 1)) == 0;
  }

  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }

  Device& device() {
    return devices_[static_cast<std::size_t>(current_device)];
  }

  /// The stream, if it is one of the thread's device; null is the device's own.
  SimStream* find(void* stream) {
    if (current_device < 0) return nullptr;
    if (stream == nullptr) return &default_[static_cast<std::size_t>(current_device)];
    for (const auto& each : device().streams) {
      if (each.get() == stream) return each.get();
    }
    return nullptr;
  }

  bool is_pinned(const std::byte* at, std::size_t bytes) const {
    auto block = pinned_.upper_bound(const_cast<std::byte*>(at));
    if (block == pinned_.begin()) return false;
    --block;
    const std::size_t offset = static_cast<std::size_t>(at - block->first);
    return offset <= block->second.bytes && bytes <= block->second.bytes - offset;
  }

  void submit(SimStream& stream, Work work) {
    work.submitted = Steady::now();
    stream.queue.push_back(work);
    stream.pending.fetch_add(1);
    woken_.notify_all();
  }

  /// The stream whose first work is done next: the one that was submitted first, or any.
  SimStream* choose(std::size_t device) {
    std::vector<SimStream*> ready;
    for (const auto& stream : devices_[device].streams) {
      if (!stream->queue.empty() && !stream->queue.front().held) ready.push_back(stream.get());
    }
    if (!default_[device].queue.empty()) ready.push_back(&default_[device]);
    if (ready.empty()) return nullptr;
    if (how_.shuffle_seed != 0) return ready[random_() % ready.size()];
    return *std::min_element(ready.begin(), ready.end(), [](const SimStream* a, const SimStream* b) {
      return a->queue.front().submitted < b->queue.front().submitted;
    });
  }

  void work(std::size_t number) {
    Device& device = devices_[number];
    std::unique_lock lock(mutex_);
    while (true) {
      SimStream* stream = nullptr;
      // Copies follow each other within microseconds, so sleep only after a while without one.
      for (int i = 0; i < 2000 && stream == nullptr && !stopping_; ++i) {
        stream = choose(number);
        if (stream != nullptr) break;
        lock.unlock();
        for (int j = 0; j < 20; ++j) pause();
        lock.lock();
      }
      if (stream == nullptr)
        woken_.wait(lock, [&] { return stopping_ || (stream = choose(number)) != nullptr; });
      if (stream == nullptr) return;
      const Work work = stream->queue.front();
      int code = work.code;
      if (work.kind == Work::Kind::copy) {
        const auto cost = std::chrono::nanoseconds(how_.ns_per_mib * work.bytes / (1024 * 1024));
        const auto start = std::max(work.submitted, device.link_free);
        device.link_free = start + cost;
        counts_.busy_ns += static_cast<std::uint64_t>(cost.count());
        lock.unlock();
        if (code == 0) {
          std::memcpy(work.to, work.from, work.bytes);
          if (how_.wrong) work.to[work.bytes / 2] ^= std::byte{1};
        } else {
          std::memset(work.to, 0xee, work.bytes);
        }
        while (Steady::now() < device.link_free) pause();
        lock.lock();
        --device.copies_under_way;
      } else if (work.kind == Work::Kind::launch) {
        lock.unlock();
        work.run(work.context);
        lock.lock();
      } else if (work.kind == Work::Kind::get_overflow) {
        std::memset(work.to, 0, work.bytes);
        work.to[0] = std::byte{device.overflow ? std::uint8_t{1} : std::uint8_t{0}};
      } else {
        device.overflow = false;
      }
      stream->queue.pop_front();
      if (code != 0) stream->error = code;
      stream->pending.fetch_sub(1, std::memory_order_release);
      finished_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable woken_, finished_;
  Device devices_[kDevices];
  SimStream default_[kDevices];
  std::map<std::byte*, Pinned> pinned_;
  SimulatedAscend how_{};
  SimulatedAscendCounts counts_{};
  std::mt19937_64 random_;
  std::uint64_t fail_call_ = kNever, fail_copy_ = kNever, hold_from_ = kNever, hold_end_ = kNever;
  std::string failing_;  ///< name of the function that fails; empty: none
  int call_code_ = 0, copy_code_ = 0, failing_code_ = 0;
  bool stopping_ = false;
};

Driver& driver() {
  return Driver::instance();
}

int use_device(std::int32_t id) {
  if (id < 0 || static_cast<std::size_t>(id) >= kDevices) return kRtInvalidDevice;
  current_device = id;
  return 0;
}

template <class Call>
int counted(const char* name, Call call, bool on_nano = true) {
  const int code = driver().begin_call(name, on_nano);
  return code != 0 ? code : call();
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void simulated_ascend_reset(const SimulatedAscend* how) {
  driver().reset(*how);
}
EXPORTED void simulated_ascend_count(SimulatedAscendCounts* counts) {
  *counts = driver().counts();
}
EXPORTED void simulated_ascend_fail_call(uint64_t number, int code) {
  driver().fail_call(number, code);
}
EXPORTED void simulated_ascend_fail_function(const char* name, int code) {
  driver().fail_function(name, code);
}
EXPORTED void simulated_ascend_fail_copy(uint64_t number, int code) {
  driver().fail_copy(number, code);
}
EXPORTED void simulated_ascend_hold_copies(uint64_t number, uint64_t count) {
  driver().hold_copies(number, count);
}
EXPORTED void simulated_ascend_let_go() {
  driver().let_go();
}
EXPORTED void simulated_ascend_operator_says(void* stream, int code) {
  driver().operator_says(stream, code);
}
EXPORTED void simulated_ascend_set_overflow(int32_t device) {
  driver().set_overflow(device);
}

EXPORTED int simulated_ascend_use_device(int32_t id) {
  return use_device(id);
}
EXPORTED void* simulated_ascend_allocate(size_t bytes) {
  void* memory = nullptr;
  static_cast<void>(driver().malloc(&memory, bytes));
  return memory;
}
EXPORTED int simulated_ascend_upload(void* to, const void* from, size_t bytes) {
  return driver().memcpy(to, bytes, from, bytes, 1);
}
EXPORTED int simulated_ascend_free(void* memory) {
  return driver().free(memory);
}

EXPORTED void simulated_ascend_drop_left_over() {
  driver().drop_left_over();
}

EXPORTED int simulated_ascend_launch(void* stream, void (*run)(void* context), void* context) {
  return driver().launch(stream, run, context);
}
EXPORTED void* simulated_ascend_own_address(const void* memory, size_t bytes) {
  return driver().own_address(memory, bytes);
}

EXPORTED int simulated_ascend_begin_call(const char* name, bool on_nano) {
  return driver().begin_call(name, on_nano);
}

#if SIMULATED_RT
EXPORTED int rtMemcpy(void* to, uint64_t room, const void* from, uint64_t bytes, int kind) {
  return counted(__func__, [&] { return driver().memcpy(to, room, from, bytes, kind); });
}
#else
EXPORTED int aclrtSetDevice(int32_t id) {
  return counted(__func__, [&] { return use_device(id); });
}
EXPORTED int aclrtResetDevice(int32_t) {
  return counted(__func__, [] {
    current_device = -1;
    return 0;
  });
}
EXPORTED int aclrtGetDevice(int32_t* id) {
  return counted(__func__, [&] {
    if (id == nullptr) return kInvalidParameter;
    if (current_device < 0) return kNoContext;
    *id = current_device;
    return 0;
  });
}
EXPORTED int aclrtGetRunMode(int* mode) {
  return counted(__func__, [&] { return driver().run_mode(mode); });
}
EXPORTED int aclrtMalloc(void** memory, size_t bytes, int) {
  return counted(__func__, [&] { return driver().malloc(memory, bytes); });
}
EXPORTED int aclrtFree(void* memory) {
  return counted(__func__, [&] { return driver().free(memory); });
}
EXPORTED int aclrtMemcpy(void* to, size_t room, const void* from, size_t bytes, int kind) {
  return counted(__func__, [&] { return driver().memcpy(to, room, from, bytes, kind); });
}
EXPORTED int aclrtSynchronizeStream(void* stream) {
  return counted(__func__, [&] { return driver().synchronize(stream, -1); });
}
EXPORTED int aclrtDestroyStream(void* stream) {
  return counted(__func__, [&] { return driver().destroy_stream(stream); });
}
#endif

#if !SIMULATED_RT && !SIMULATED_NANO
EXPORTED int aclrtMallocHost(void** memory, size_t bytes) {
  return counted(
      __func__, [&] { return driver().malloc_host(memory, bytes); }, false);
}
EXPORTED int aclrtFreeHost(void* memory) {
  return counted(
      __func__, [&] { return driver().free_host(memory); }, false);
}
EXPORTED int aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t bytes, int kind, void* stream) {
  return counted(
      __func__, [&] { return driver().memcpy_async(to, room, from, bytes, kind, stream); }, false);
}
EXPORTED int aclrtCreateStream(void** stream) {
  return counted(
      __func__, [&] { return driver().create_stream(stream); }, false);
}
EXPORTED int aclrtSynchronizeStreamWithTimeout(void* stream, int32_t ms) {
  return counted(
      __func__, [&] { return driver().synchronize(stream, ms); }, false);
}
EXPORTED int aclrtStreamQuery(void* stream, int* status) {
  return counted(
      __func__, [&] { return driver().query(stream, status); }, false);
}
EXPORTED int aclrtGetOverflowStatus(void* to, size_t bytes, void* stream) {
  return counted(
      __func__, [&] { return driver().get_overflow(to, bytes, stream); }, false);
}
EXPORTED int aclrtResetOverflowStatus(void* stream) {
  return counted(
      __func__, [&] { return driver().reset_overflow(stream); }, false);
}
#endif
