// libdatadump for Linux on a nano device: what the vendor's dump calls of it. README.md beside this file.

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "opdump/impl/stats/kernels.hpp"
#include "opdump/parts/statistics.hpp"
#include "platform/ascend/nano/data_dump.hpp"
#include "platform/ascend/nano/event_loop.hpp"
#include "platform/ascend/nano/flash_place.hpp"
#include "platform/ascend/nano/hal_scheduler.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/base/flash_file.hpp"
#include "platform/posix/config_file.hpp"
#include "platform/posix/counter_clock.hpp"
#include "platform/posix/drain_thread.hpp"
#include "platform/posix/impl/stderr_line.hpp"
#include "platform/posix/tree_sink.hpp"

// Weak: a process without the driver gets an error from InitDataDump, and no library fails to load.
extern "C" {
[[gnu::weak]] int halEschedWaitEvent(std::uint32_t thread, void* out, std::uint32_t* type,
                                     std::uint32_t* control, std::uint32_t* bytes, std::int32_t limit_ms);
[[gnu::weak]] int halEschedAckEvent(std::uint32_t type, std::uint32_t control);
}

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::size_t kModels = 16;
constexpr std::size_t kOps = 4096;
constexpr std::size_t kTensors = 256;
constexpr std::size_t kRingBytes = 256 * 1024;
constexpr std::int32_t kWaitMs = 100;
constexpr std::uint32_t kMostPending = 65536;

void say(void*, std::string_view line) {
  posix::write_stderr_line("opdump: libdatadump: ", line);
}

/// A call of the driver, whose library may have been loaded without showing its names to others.
template <class Function>
Function* found(Function* linked, const char* name) {
  if (linked != nullptr) return linked;
  // Stays loaded: the process uses it, or nothing else does.
  void* const library = dlopen("libascend_hal.so", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

/// The dump and its two threads: one waits for events and captures, one drains. Everything is allocated
/// before the first event.
class DeviceDump {
 public:
  explicit DeviceDump(const HalCalls& calls) : calls_(calls) {}
  DeviceDump(const DeviceDump&) = delete;
  DeviceDump& operator=(const DeviceDump&) = delete;

  /// After an error nothing runs. A config or flash part that cannot be used is none: then events are only
  /// acknowledged, and the log says why.
  Status begin() {
    DumpConfig config;
    const bool has_config = read_config(config);
    const bool has_place = has_config && open_place();
    if (const Status status = make_dump(config, has_place); status != Status::ok) return status;
    if (!has_place) return start_thread();
    const Status started = log_ != nullptr ? dump_->start(config, *log_) : dump_->start(config, tree_);
    if (started == Status::ok && dump_->session().when_full() != WhenFull::inline_drain) {
      if (const Status status = drain_.start(dump_->session()); status != Status::ok) return status;
    }
    const Status status = start_thread();
    if (status != Status::ok) drain_.stop();
    return status;
  }

  Status end() {
    stopping_.store(true, std::memory_order_relaxed);
    pthread_join(thread_, nullptr);
    drain_.stop();
    const Status status = dump_->stop();
    const DataDumpCounts& counts = dump_->counts();
    DumpLog(say, nullptr)
        .say(counts.captured, " operators captured, ", counts.lost, " lost before the ring, ",
             dump_->session().counts().lost(), " lost in all, ", counts.not_loaded, " of models not loaded");
    if (status != Status::ok) DumpLog(say, nullptr).say("the dump is not complete: ", to_string(status));
    return status;
  }

 private:
  using Dump = DataDump<HostMemory>;

  static bool read_config_at(const char* path, posix::ConfigMemory& memory, DumpConfig& config) {
    ConfigOutcome outcome;
    const ConfigContext context = {.dialect = ConfigDialect::acl, .nano = true};
    const Status status = posix::load_config_file(path, memory, outcome, context);
    for (const ConfigNote& note : outcome.notes) say(nullptr, to_string(note, path));
    if (status != Status::ok) say(nullptr, to_string(outcome.error, path) + ": no dump");
    config = outcome.config;
    return status == Status::ok;
  }

  bool read_config(DumpConfig& config) {
    const char* const path = std::getenv("OPDUMP_DATADUMP_CONFIG");
    return path == nullptr || *path == '\0' || read_config_at(path, config_memory_, config);
  }

  /// Mounts the flash part that the environment names, if it names one.
  bool open_place() {
    const char* const text = std::getenv("OPDUMP_DATADUMP_FLASH");
    if (text == nullptr || *text == '\0') return true;
    FlashPlace place;
    if (!parse_flash_place(text, place)) {
      say(nullptr,
          std::string("OPDUMP_DATADUMP_FLASH: \"") + text +
              "\" is not path:bytes of a block:blocks[:bytes of a program] of a usable part: no dump");
      return false;
    }
    const std::string path(place.path);
    Status status = flash_.open(path.c_str(), place.part, true);
    if (status == Status::ok) {
      flash_device_ = flash_.device();
      page_.reset(new (std::nothrow) std::byte[flashlog::FlashLog::kPrefixBytes + place.page_bytes]);
      status = page_ == nullptr ? Status::no_memory : Status::ok;
    }
    if (status == Status::ok) {
      const MutableBytes page(page_.get(), flashlog::FlashLog::kPrefixBytes + place.page_bytes);
      const flashlog::Options options = {.policy = flashlog::Policy::overwrite_oldest};
      log_.reset(new (std::nothrow) flashlog::FlashLog(flash_device_, page, options));
      status = log_ == nullptr ? Status::no_memory : log_->mount();
    }
    if (status == Status::ok) return true;
    say(nullptr, "OPDUMP_DATADUMP_FLASH: " + path + ": " + std::string(to_string(status)) + ": no dump");
    return false;
  }

  Status make_dump(const DumpConfig& config, bool has_place) {
    const std::size_t ring_bytes = config.options.ring_bytes.value_or(kRingBytes);
    ring_.reset(new (std::nothrow) std::uint64_t[(ring_bytes + 7) / 8]);
    if (ring_ == nullptr) return Status::no_memory;
    Sink& sink = has_place && log_ != nullptr ? static_cast<Sink&>(*log_) : static_cast<Sink&>(tree_);
    DataDumpParts<HostMemory> parts = rest_.parts(memory_, sink, clock_);
    parts.ring = std::as_writable_bytes(std::span(ring_.get(), (ring_bytes + 7) / 8)).first(ring_bytes);
    parts.reduction = &reduction_;
    parts.say = say;
    dump_.reset(new (std::nothrow) Dump(parts));
    return dump_ == nullptr ? Status::no_memory : Status::ok;
  }

  Status start_thread() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool made = pthread_create(&thread_, nullptr, &DeviceDump::run, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return made ? Status::ok : Status::too_many_objects;
  }

  static void* run(void* self) {
    static_cast<DeviceDump*>(self)->take_events();
    return nullptr;
  }

  void take_events() {
    HalScheduler scheduler(calls_, static_cast<std::uint32_t>(::syscall(SYS_gettid)));
    EventLoop loop(scheduler, *dump_);
    bool failed = false;
    while (!stopping_.load(std::memory_order_relaxed)) {
      const Status status = loop.run_once(kWaitMs);
      if (status == Status::ok || status == Status::timeout) continue;
      if (!failed)
        say(nullptr, "halEschedWaitEvent returned " + std::to_string(scheduler.code()) + "; waiting goes on");
      failed = true;
      const timespec moment = {0, 10'000'000};
      nanosleep(&moment, nullptr);
    }
    loop.run_out(kMostPending);
    if (loop.failed() != 0)
      say(nullptr, "halEschedAckEvent refused " + std::to_string(loop.failed()) + " acknowledgements");
  }

  const HalCalls calls_;
  HostMemory memory_;
  posix::CounterClock clock_;
  posix::ConfigMemory config_memory_;
  posix::TreeSink tree_;
  posix::FlashFile flash_;
  flashlog::Device flash_device_;
  std::unique_ptr<std::byte[]> page_;
  std::unique_ptr<flashlog::FlashLog> log_;  ///< null: files
  std::unique_ptr<std::uint64_t[]> ring_;
  StatisticsReduction<HostMemory> reduction_{memory_, &statistics_kernels()};
  DataDumpMemory<kModels, kOps, kTensors, 8> rest_;
  std::unique_ptr<Dump> dump_;
  posix::DrainThread<Dump::Session> drain_;
  std::atomic<bool> stopping_{false};
  pthread_t thread_{};
};

std::mutex exported;
std::unique_ptr<DeviceDump> device_dump;  ///< null: not begun

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano

extern "C" {

/// Begins to take events on a thread of its own; 0. When it has begun already, 0 and nothing changes. Another number
/// when events cannot be taken: without the two calls of the driver, memory or a thread. A config that is refused
/// switches the dump off and is no error, because tasks with a dump flag wait until their events are acknowledged.
[[gnu::visibility("default")]] std::uint32_t InitDataDump(void) {
  using namespace opdump::nano;
  const std::lock_guard lock(exported);
  if (device_dump != nullptr) return 0;
  const HalCalls calls = {.wait = found(halEschedWaitEvent, "halEschedWaitEvent"),
                          .acknowledge = found(halEschedAckEvent, "halEschedAckEvent")};
  if (calls.wait == nullptr || calls.acknowledge == nullptr) {
    say(nullptr, std::string("the driver has no ") +
                     (calls.wait == nullptr ? "halEschedWaitEvent" : "halEschedAckEvent"));
    return 1;
  }
  std::unique_ptr<DeviceDump> dump(new (std::nothrow) DeviceDump(calls));
  const opdump::Status status = dump == nullptr ? opdump::Status::no_memory : dump->begin();
  if (status != opdump::Status::ok) {
    DumpLog(say, nullptr).say("cannot begin: ", to_string(status));
    return 1;
  }
  device_dump = std::move(dump);
  return 0;
}

/// Takes and acknowledges the events that have come, writes out everything, ends the journal and the
/// threads; 0. Another number when the dump is not complete on its medium. 0 when it has not begun.
[[gnu::visibility("default")]] std::uint32_t StopDataDump(void) {
  using namespace opdump::nano;
  const std::lock_guard lock(exported);
  if (device_dump == nullptr) return 0;
  const opdump::Status status = device_dump->end();
  device_dump.reset();
  return status == opdump::Status::ok ? 0 : 1;
}

}  // extern "C"
