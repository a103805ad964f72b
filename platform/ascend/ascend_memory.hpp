#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/cpu.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/types/overflow.hpp"
#include "platform/ascend/acl_api.hpp"
#include "platform/host/host_memory.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

struct MemoryOptions {
  std::uint32_t device_id = 0;

  /// Copies in the background at once, of all recorders together, up to `AscendMemory::kMaxLanes`; each takes
  /// a stream and `staging_bytes` of pinned memory. 0: every copy is waited for.
  std::size_t lanes = 4;
  std::size_t staging_bytes = 64 * 1024;  ///< a multiple of 64; no copy in the background is longer

  /// Where the program runs on the device's own CPU (RC form), that reads tensors where they lie. Memory of
  /// aclrtMallocCached the program then has to invalidate (aclrtMemInvalidate) before it is captured. False:
  /// they are copied by the driver there too.
  bool read_in_place = true;

  /// Longest wait of `fence` for an operator.
  std::uint32_t operator_limit_ms = 10000;
};

/// Memory of an Ascend device, by the functions of AscendCL that `api` has. Where the runtime copies in the
/// background, as all but the nano products' do, so does this; where it tells of overflows, this tells them.
/// On a board whose CPU is the device's own (`reads_in_place`), that reads the tensors itself.
///
/// A copy in the background needs pinned memory on its way. It goes straight to the ring if that lies in
/// `allocate_pinned` memory, and through a lane's buffer otherwise. Both begin at multiples of 64, also where
/// the driver's own memory does not. What the driver refuses to do in the background is copied at once, and
/// between addresses that it refuses, by way of aligned ones; what it does not copy at once, in the
/// background after all.
///
/// A function that says that it is not supported counts as one that is not there. Of one that fails,
/// `driver_error` tells, also where nothing is lost.
///
/// Threads: open, close, add_stream and allocate_pinned come from a control context, on which the device is
/// set, while no recorder captures; the rest is as DeviceMemory and its concepts say, from threads on which
/// the device is set (aclrtSetDevice or aclrtSetCurrentContext). Several recorders may share one object.
class AscendMemory final : public DeviceMemory {
 public:
  static constexpr std::size_t kMaxCopies = 4;
  static constexpr std::size_t kMaxLanes = 32;
  static constexpr std::size_t kMaxStreams = 32;
  static constexpr std::size_t kMaxPinned = 16;

  /// Of both addresses of a copy in the background. Source: CANN's text on aclrtMemcpyAsync.
  static constexpr std::uint32_t kAlignment = 64;

  struct Copy {
    std::size_t lane = 0;
    std::byte* to = nullptr;
    std::byte* staged = nullptr;  ///< where the bytes arrive; null: at `to`
    Address from = 0;
    std::size_t bytes = 0;
  };

  AscendMemory() = default;
  AscendMemory(const AscendMemory&) = delete;
  AscendMemory& operator=(const AscendMemory&) = delete;
  ~AscendMemory() { static_cast<void>(close()); }

  /// Takes what it needs of the device; without the memory and streams that the driver does not give, it does
  /// with fewer lanes or none, and does not tell of overflows. `symbol_missing` when `api` cannot copy,
  /// `wrong_device` when the thread's device is another one, `driver_failed` when the driver cannot tell
  /// which it is, `invalid_argument` for options out of range, `already_initialised`: nothing is taken. `api`
  /// is copied.
  [[nodiscard]] Status open(const AclApi& api, const MemoryOptions& options = {}) {
    if (open_) return Status::already_initialised;
    if (options.lanes > kMaxLanes || options.staging_bytes == 0 || options.staging_bytes % kAlignment != 0 ||
        options.staging_bytes > 0x40000000) {
      return Status::invalid_argument;
    }
    if (!api.can_copy()) return Status::symbol_missing;
    api_ = api;
    options_ = options;
    if (const Status status = check_device(); status != Status::ok) return status;
    open_ = true;
    in_place_ = options.read_in_place && runs_on_device();
    if (!in_place_) open_lanes();
    open_overflow();
    return Status::ok;
  }

  /// Stands for the device by plain memory, for a program that runs with and without one: addresses are then
  /// pointers. `already_initialised` while open.
  [[nodiscard]] Status open_on_host(std::uint32_t device_id) {
    if (open_) return Status::already_initialised;
    options_ = {.device_id = device_id};
    open_ = on_host_ = true;
    return Status::ok;
  }

  /// Gives back what was taken, pinned memory too, once the copies under way are over. Closed either way;
  /// `driver_failed` when something could not be given back.
  [[nodiscard]] Status close() {
    Status worst = Status::ok;
    const auto note = [&worst](Status status) {
      if (status != Status::ok) worst = status;
    };
    for (Lane& lane : lanes_) {
      if (lane.staging == nullptr) continue;
      if (lane.taken.load(std::memory_order_acquire))  // partner: `give_back`
        note(check(kSynchronizeStream, wait_for(lane.stream)));
      note(check(kDestroyStream, api_.destroy_stream(lane.stream)));
      note(check(kFreeHost, api_.free_host(lane.memory)));
      lane.staging = nullptr;
      lane.taken.store(false, std::memory_order_relaxed);
    }
    for (std::size_t i = 0; i < pinned_count_; ++i) note(check(kFreeHost, api_.free_host(pinned_[i].memory)));
    if (answer_due_) note(wait_for_answer());
    if (overflow_status_ != nullptr) note(check(kFree, api_.free(overflow_status_)));
    overflow_status_ = nullptr;
    answer_due_ = reset_due_ = false;
    lane_count_ = pinned_count_ = stream_count_ = 0;
    open_ = on_host_ = in_place_ = false;
    spare_stuck_.store(false, std::memory_order_relaxed);
    lacking_.store(0, std::memory_order_relaxed);
    return worst;
  }

  bool on_host() const { return on_host_; }

  /// Whether the CPU reads device memory itself: aclrtGetRunMode says that the program runs on the device.
  /// Nano products say so too, but are asked to copy, as nothing tells that their CPU may read.
  bool reads_in_place() const { return in_place_; }

  /// Whether copies go on in the background.
  bool asynchronous() const { return lane_count_ != 0 && !lacks(kMemcpyAsync); }

  /// Memory for a ring to which the device copies by itself, at a multiple of 64; stays until `close`.
  /// `not_supported` where the product has none, `too_many_objects` after `kMaxPinned`, `no_memory`.
  [[nodiscard]] Result<MutableBytes> allocate_pinned(std::size_t bytes) {
    if (!open_ || on_host_ || api_.malloc_host == nullptr || api_.free_host == nullptr)
      return Status::not_supported;
    if (pinned_count_ == kMaxPinned) return Status::too_many_objects;
    Pinned& pinned = pinned_[pinned_count_];
    const Status status = allocate_aligned(pinned.memory, pinned.aligned, bytes);
    if (status != Status::ok) return status;
    ++pinned_count_;
    return pinned.aligned;
  }

  /// Makes `fence` and `overflowed` know the stream on which operators with that `OpDesc::stream_id` run,
  /// which stays until `close`; again: another one. `too_many_objects` after `kMaxStreams`.
  [[nodiscard]] Status add_stream(std::uint32_t stream_id, Stream stream) {
    OperatorStream* known = find_stream(stream_id);
    if (known == nullptr && stream_count_ == kMaxStreams) return Status::too_many_objects;
    if (known == nullptr) known = &streams_[stream_count_++];
    known->id = stream_id;
    known->stream = stream;
    known->overflowed.store(false, std::memory_order_relaxed);
    return Status::ok;
  }

  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) override {
    if (!open_) return Status::not_initialised;
    if (on_host_ || in_place_) return host_.copy(to, from, bytes);
    return bytes == 0 ? Status::ok : copy_by_driver(to, from, bytes);
  }

  /// The bytes where they lie, if the CPU reads them there; else none.
  Bytes view(Address from, std::uint64_t bytes) const {
    return on_host_ || in_place_ ? host_.view(from, bytes) : Bytes();
  }

  [[nodiscard]] Status start(Copy& copy, std::byte* to, Address from, std::size_t bytes) {
    if (!arrives_directly(to, from, bytes) && bytes > options_.staging_bytes) return Status::not_supported;
    if (!take_lane(copy)) return Status::not_supported;
    return start_on_lane(copy, to, from, bytes);
  }

  [[nodiscard]] Result<bool> poll(Copy& copy) {
    const Result<bool> idle = is_idle(lanes_[copy.lane].stream);
    return idle.ok() && idle.value() ? synchronize(copy, 1) : Result<bool>(false);
  }

  [[nodiscard]] Result<bool> complete(Copy& copy, std::uint32_t limit_ms) {
    return limit_ms == 0 ? poll(copy) : synchronize(copy, limit_ms);
  }

  CopyRules copy_rules() const {
    if (lane_count_ == 0) return {};
    return {.alignment = kAlignment, .max_bytes = static_cast<std::uint32_t>(options_.staging_bytes)};
  }

  /// Waits for the operators of a stream that `add_stream` made known; others, and those of a product that
  /// cannot wait, the program has waited for itself. `wrong_device` when the thread's device is another one,
  /// `driver_failed`, also after `MemoryOptions::operator_limit_ms` without an end. That an operator
  /// overflowed is no error here, nor that the driver could not say which the thread's device is.
  [[nodiscard]] Status fence(std::uint32_t stream_id) {
    if (on_host_) return Status::ok;
    if (check_device() == Status::wrong_device) return Status::wrong_device;
    OperatorStream* known = find_stream(stream_id);
    if (known == nullptr || api_.synchronize_stream == nullptr) return Status::ok;
    const AclError code = wait_for(known->stream, options_.operator_limit_ms);
    if (says_overflow(code)) known->overflowed.store(true, std::memory_order_relaxed);
    if (says_overflow(code) || says_unsupported(code)) return Status::ok;
    if (says_call_failed(code) && is_known_idle(known->stream)) return Status::ok;
    return check(kSynchronizeStream, code);
  }

  /// What the latest `fence` of the stream was told, or else the device's own overflow status, which counts
  /// for all its streams. `not_supported` where the product has none, while another recorder asks, and when a
  /// call failed: the outputs then have to be searched.
  [[nodiscard]] Result<bool> overflowed(std::uint32_t stream_id) {
    if (on_host_) return Status::not_supported;
    OperatorStream* known = find_stream(stream_id);
    const bool told = known != nullptr && known->overflowed.load(std::memory_order_relaxed);
    if (told) known->overflowed.store(false, std::memory_order_relaxed);
    const Result<bool> untold = told ? Result<bool>(true) : Result<bool>(Status::not_supported);
    if (overflow_status_ == nullptr || lacks(kGetOverflowStatus)) return untold;
    // acquire: the last one's asking comes before; partner: the release below.
    if (asking_.exchange(true, std::memory_order_acquire)) return untold;
    bool over = false;
    const Status status = ask_device(known == nullptr ? nullptr : known->stream, over);
    asking_.store(false, std::memory_order_release);  // partner: the acquire above
    return status == Status::ok && !told ? Result<bool>(over) : untold;
  }

  std::uint32_t device_id() const { return options_.device_id; }

  DriverError driver_error() const { return error_.get(); }

 private:
  static constexpr AclError kRtQueueFull = 207014;
  static constexpr std::uint32_t kEndless = 0xffffffff;
  static constexpr std::size_t kOverflowBytes = 64;

  enum Call : std::uint8_t {
    kMemcpy,
    kRtMemcpy,
    kMemcpyAsync,
    kGetDevice,
    kSynchronizeStream,
    kMallocHost,
    kFreeHost,
    kCreateStream,
    kDestroyStream,
    kMalloc,
    kFree,
    kGetOverflowStatus,
    kResetOverflowStatus,
    kStreamQuery,
    kGetRunMode,
    // What `lacks` knows besides.
    kSynchronizeStreamWithTimeout,
    kUnaligned,
  };
  static constexpr const char* kCalls[] = {
      "aclrtMemcpy",
      "rtMemcpy",
      "aclrtMemcpyAsync",
      "aclrtGetDevice",
      "aclrtSynchronizeStream",
      "aclrtMallocHost",
      "aclrtFreeHost",
      "aclrtCreateStream",
      "aclrtDestroyStream",
      "aclrtMalloc",
      "aclrtFree",
      "aclrtGetOverflowStatus",
      "aclrtResetOverflowStatus",
      "aclrtStreamQuery",
      "aclrtGetRunMode",
  };

  struct Lane {
    Stream stream = nullptr;
    void* memory = nullptr;
    std::byte* staging = nullptr;  ///< where `memory` is aligned; null: the lane is not open
    std::atomic<bool> taken{false};
  };

  struct Pinned {
    void* memory = nullptr;
    MutableBytes aligned;
  };

  struct OperatorStream {
    std::uint32_t id = 0;
    Stream stream = nullptr;
    std::atomic<bool> overflowed{false};  ///< told by `fence`, not yet by `overflowed`
  };

  static void* pointer(Address address) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  }

  Status check(Call call, AclError code) {
    if (code == kAclSuccess) return Status::ok;
    error_.set(call, code);
    return call <= kMemcpyAsync ? Status::device_copy_failed : Status::driver_failed;
  }

  /// Whether the product has turned out not to have what the call is for.
  bool lacks(Call call) const { return (lacking_.load(std::memory_order_relaxed) >> call & 1) != 0; }
  void note_lacking(Call call) { lacking_.fetch_or(1u << call, std::memory_order_relaxed); }

  static bool is_aligned(Address address) { return (address & (kAlignment - 1)) == 0; }

  Status check_device() {
    if (api_.get_device == nullptr) return Status::ok;
    std::int32_t id = -1;
    const AclError code = api_.get_device(&id);
    if (says_unsupported(code)) return Status::ok;
    if (const Status status = check(kGetDevice, code); status != Status::ok) return status;
    return id >= 0 && static_cast<std::uint32_t>(id) == options_.device_id ? Status::ok
                                                                           : Status::wrong_device;
  }

  /// A nano product has no memory of the host's.
  bool runs_on_device() {
    if (api_.get_run_mode == nullptr || api_.malloc_host == nullptr) return false;
    int mode = kRunModeDevice + 1;
    const AclError code = api_.get_run_mode(&mode);
    if (!says_unsupported(code)) static_cast<void>(check(kGetRunMode, code));
    return code == kAclSuccess && mode == kRunModeDevice;
  }

  /// `bytes` bytes at a multiple of the alignment, in `memory`, which is to be given back.
  Status allocate_aligned(void*& memory, MutableBytes& aligned, std::size_t bytes) {
    memory = nullptr;
    const AclError code = api_.malloc_host(&memory, bytes + kAlignment - 1);
    if (says_unsupported(code)) return Status::not_supported;
    if (check(kMallocHost, code) != Status::ok || memory == nullptr) return Status::no_memory;
    std::byte* const start = static_cast<std::byte*>(memory);
    aligned = {start + (-address_of(start) & (kAlignment - 1)), bytes};
    return Status::ok;
  }

  /// As many lanes as the driver gives; a product whose runtime has the functions but not what they are for
  /// has none.
  void open_lanes() {
    if (!api_.has_async()) return;
    while (lane_count_ < options_.lanes && open_lane(lanes_[lane_count_])) ++lane_count_;
  }

  bool open_lane(Lane& lane) {
    MutableBytes staging;
    // With room for what comes along before the first byte.
    if (allocate_aligned(lane.memory, staging, options_.staging_bytes + kAlignment) != Status::ok)
      return false;
    const AclError code = api_.create_stream(&lane.stream);
    // What cannot be waited for cannot go on in the background.
    if (code == kAclSuccess && !says_unsupported(wait_for(lane.stream))) {
      lane.staging = staging.data();
      return true;
    }
    if (code == kAclSuccess) static_cast<void>(check(kDestroyStream, api_.destroy_stream(lane.stream)));
    if (code != kAclSuccess && !says_unsupported(code)) static_cast<void>(check(kCreateStream, code));
    static_cast<void>(check(kFreeHost, api_.free_host(lane.memory)));
    return false;
  }

  void open_overflow() {
    if (!api_.has_overflow()) return;
    const AclError code = api_.malloc(&overflow_status_, kOverflowBytes, kMallocNormalOnly);
    if (code == kAclSuccess) return;
    overflow_status_ = nullptr;
    if (!says_unsupported(code)) static_cast<void>(check(kMalloc, code));
  }

  Status copy_by_driver(std::byte* to, Address from, std::size_t bytes) {
    const bool aligned = is_aligned(address_of(to) | from);
    bool refused = false;
    if (aligned || !lacks(kUnaligned)) {
      const Status status = copy_at_once(to, from, bytes, !aligned);
      if (aligned || status == Status::ok) return status;
      refused = status == Status::not_supported;
    }
    const Status status = copy_by_aligned(to, from, bytes);
    if (status == Status::ok && refused) note_lacking(kUnaligned);
    return status;
  }

  /// By whichever function there is that copies and returns when it has; again, and then by a lane, if the
  /// driver failed in itself. `may_refuse`: if the driver does not take the addresses, `not_supported`, which
  /// is no failure.
  Status copy_at_once(std::byte* to, Address from, std::size_t bytes, bool may_refuse = false) {
    const void* const source = pointer(from);
    if (api_.memcpy_sync != nullptr && !lacks(kMemcpy)) {
      AclError code = api_.memcpy_sync(to, bytes, source, bytes, kDeviceToHost);
      if (says_call_failed(code) && !says_arguments(code) && !says_unsupported(code)) {
        static_cast<void>(check(kMemcpy, code));
        code = api_.memcpy_sync(to, bytes, source, bytes, kDeviceToHost);
      }
      if (may_refuse && says_arguments(code)) return Status::not_supported;
      const bool is_over = !says_call_failed(code) || says_arguments(code);
      if (says_unsupported(code)) {
        note_lacking(kMemcpy);
      } else if (const Status status = check(kMemcpy, code); is_over) {
        return status;
      }
    }
    if (api_.rt_memcpy != nullptr) {
      const AclError code = api_.rt_memcpy(to, bytes, source, bytes, kDeviceToHost);
      return may_refuse && says_arguments(code) ? Status::not_supported : check(kRtMemcpy, code);
    }
    return copy_by_lanes(to, from, bytes);
  }

  Status copy_by_aligned(std::byte* to, Address from, std::size_t bytes) {
    alignas(kAlignment) std::byte piece[8 * kAlignment];
    while (bytes != 0) {
      // As in `start`, what lies before `from` in its block is there too.
      const std::size_t before = static_cast<std::size_t>(from & (kAlignment - 1));
      const std::size_t now = bytes < sizeof piece - before ? bytes : sizeof piece - before;
      const Status status = copy_at_once(piece, from - before, before + now);
      if (status != Status::ok) return status;
      std::memcpy(to, piece + before, now);
      to += now;
      from += now;
      bytes -= now;
    }
    return Status::ok;
  }

  Status copy_by_lanes(std::byte* to, Address from, std::size_t bytes) {
    while (bytes != 0) {
      const std::size_t now = bytes < options_.staging_bytes ? bytes : options_.staging_bytes;
      Copy copy;
      if (!take_lane(copy) && !take_spare_lane(copy)) return Status::device_copy_failed;
      if (start_on_lane(copy, to, from, now) != Status::ok) return Status::device_copy_failed;
      const Result<bool> over = synchronize(copy, options_.operator_limit_ms, false);
      if (over.ok() && !over.value() && copy.lane == kMaxLanes)
        spare_stuck_.store(true, std::memory_order_relaxed);
      if (!over.ok() || !over.value()) return Status::device_copy_failed;
      to += now;
      from += now;
      bytes -= now;
    }
    return Status::ok;
  }

  OperatorStream* find_stream(std::uint32_t id) {
    for (std::size_t i = 0; i < stream_count_; ++i) {
      if (streams_[i].id == id) return &streams_[i];
    }
    return nullptr;
  }

  bool is_pinned(MutableBytes memory) const {
    for (std::size_t i = 0; i < pinned_count_; ++i) {
      const MutableBytes all = pinned_[i].aligned;
      const Address start = address_of(all.data());
      const Address at = address_of(memory.data());
      if (at >= start && at - start <= all.size() && memory.size() <= all.size() - (at - start)) return true;
    }
    return false;
  }

  /// Whether the device copies to `to` itself, without a lane's buffer.
  bool arrives_directly(std::byte* to, Address from, std::size_t bytes) const {
    return is_aligned(address_of(to) | from) && is_pinned({to, bytes});
  }

  /// Starts a copy, of at most a lane's bytes, on a lane that was taken for it.
  Status start_on_lane(Copy& copy, std::byte* to, Address from, std::size_t bytes) {
    const bool direct = arrives_directly(to, from, bytes);
    // Device memory is handed out in aligned blocks, so the bytes before `from` in its block are there too.
    const std::size_t before = direct ? 0 : static_cast<std::size_t>(from & (kAlignment - 1));
    Lane& lane = lanes_[copy.lane];
    std::byte* arrival = direct ? to : lane.staging;
    copy.to = to;
    copy.from = from;
    copy.staged = direct ? nullptr : lane.staging + before;
    copy.bytes = bytes;
    const AclError code = api_.memcpy_async(arrival, before + bytes, pointer(from - before), before + bytes,
                                            kDeviceToHost, lane.stream);
    if (code == kAclSuccess) return Status::ok;
    give_back(lane);
    if (says_unsupported(code)) {
      note_lacking(kMemcpyAsync);
    } else if (code != kRtQueueFull) {
      static_cast<void>(check(kMemcpyAsync, code));
    }
    return Status::not_supported;
  }

  bool take_lane(Copy& copy) {
    if (lacks(kMemcpyAsync)) return false;
    for (copy.lane = 0; copy.lane < lane_count_; ++copy.lane) {
      // acquire: its last user is done with it; pairs with the release in `give_back`.
      if (!lanes_[copy.lane].taken.exchange(true, std::memory_order_acquire)) return true;
    }
    return false;
  }

  /// A lane for copies that are waited for while all others are taken, perhaps by who waits. Opened when it
  /// is first taken.
  bool take_spare_lane(Copy& copy) {
    if (lane_count_ == 0 || lacks(kMemcpyAsync)) return false;
    copy.lane = kMaxLanes;
    Lane& spare = lanes_[copy.lane];
    // acquire: as in `take_lane`. Whoever has it waits for one copy.
    while (spare.taken.exchange(true, std::memory_order_acquire)) {
      if (spare_stuck_.load(std::memory_order_relaxed)) return false;
      cpu_relax();
    }
    if (spare.staging != nullptr || open_lane(spare)) return true;
    give_back(spare);
    return false;
  }

  // partners: `take_lane`, `take_spare_lane`, `close`.
  static void give_back(Lane& lane) { lane.taken.store(false, std::memory_order_release); }

  /// Tries again, without a limit, when it was the call that failed, as what is waited for may be sound.
  AclError wait_for(Stream stream, std::uint32_t limit_ms = kEndless) {
    const AclError code = wait_once(stream, limit_ms);
    if (!says_call_failed(code) || says_unsupported(code)) return code;
    static_cast<void>(check(kSynchronizeStream, code));
    return api_.synchronize_stream(stream);
  }

  AclError wait_once(Stream stream, std::uint32_t limit_ms) {
    constexpr std::uint32_t kMost = 0x7fffffff;
    if (limit_ms != kEndless && api_.synchronize_stream_with_timeout != nullptr &&
        !lacks(kSynchronizeStreamWithTimeout)) {
      const std::int32_t limit = static_cast<std::int32_t>(limit_ms < kMost ? limit_ms : kMost);
      const AclError code = api_.synchronize_stream_with_timeout(stream, limit);
      if (!says_unsupported(code)) return code;
      note_lacking(kSynchronizeStreamWithTimeout);
    }
    return api_.synchronize_stream(stream);
  }

  /// Whether nothing is under way on the stream.
  Result<bool> is_idle(Stream stream) {
    if (api_.stream_query == nullptr) return Status::not_supported;
    int status = kStreamComplete + 1;
    const AclError code = api_.stream_query(stream, &status);
    if (says_unsupported(code)) return Status::not_supported;
    const Status asked = check(kStreamQuery, code);
    return asked == Status::ok ? Result<bool>(status == kStreamComplete) : Result<bool>(asked);
  }

  bool is_known_idle(Stream stream) {
    const Result<bool> idle = is_idle(stream);
    return idle.ok() && idle.value();
  }

  /// `may_copy_again`: by any way, if nobody can say what became of the copy.
  Result<bool> synchronize(Copy& copy, std::uint32_t limit_ms, bool may_copy_again = true) {
    Lane& lane = lanes_[copy.lane];
    const AclError code = wait_for(lane.stream, limit_ms);
    if (says_timeout(code)) return false;
    if (says_call_failed(code) && is_known_idle(lane.stream)) {
      // Whether the copy failed too nobody says.
      give_back(lane);
      if (!may_copy_again) return Status::device_copy_failed;
      if (const Status again = copy_by_driver(copy.to, copy.from, copy.bytes); again != Status::ok)
        return again;
      return true;
    }
    const Status status = says_overflow(code) ? Status::ok : check(kSynchronizeStream, code);
    if (status != Status::ok) {
      // The wait may have failed rather than the copy, which then still writes.
      const Result<bool> idle = is_idle(lane.stream);
      const bool over = idle.ok() ? idle.value() : idle.status() == Status::not_supported;
      if (!over) return false;
    }
    if (status == Status::ok && copy.staged != nullptr) std::memcpy(copy.to, copy.staged, copy.bytes);
    give_back(lane);
    if (status != Status::ok) return Status::device_copy_failed;
    return true;
  }

  /// Waits until the device has answered the latest question.
  Status wait_for_answer() {
    const Status status = check_overflow(kSynchronizeStream, wait_for(asked_));
    answer_due_ = answer_due_ && status != Status::ok;
    return status;
  }

  /// As `check`; a product that cannot do one of the calls does not tell of overflows.
  Status check_overflow(Call call, AclError code) {
    if (!says_unsupported(code)) return check(call, code);
    note_lacking(kGetOverflowStatus);
    return Status::not_supported;
  }

  /// `over`: whether the status is set, and then it is reset. Any error: that is not known.
  Status ask_device(Stream stream, bool& over) {
    Status status = answer_due_ ? wait_for_answer() : Status::ok;
    if (status != Status::ok) return status;
    if (reset_due_) {
      // What is set may be of the operator that was told of, or of this one too.
      status = reset_overflow(stream);
      return status == Status::ok ? Status::not_supported : status;
    }
    status = check_overflow(kGetOverflowStatus,
                            api_.get_overflow_status(overflow_status_, kOverflowBytes, stream));
    if (status != Status::ok) return status;
    asked_ = stream;
    answer_due_ = true;
    status = wait_for_answer();
    alignas(kAlignment) std::byte bytes[kOverflowBytes];
    if (status == Status::ok) status = copy(bytes, address_of(overflow_status_), sizeof bytes);
    if (status != Status::ok) return status;
    over = load_little_endian<std::uint32_t>(bytes) != 0;
    if (over) static_cast<void>(reset_overflow(stream));
    return Status::ok;
  }

  Status reset_overflow(Stream stream) {
    Status status = check_overflow(kResetOverflowStatus, api_.reset_overflow_status(stream));
    if (status == Status::ok) status = check_overflow(kSynchronizeStream, wait_for(stream));
    reset_due_ = status != Status::ok;
    return status;
  }

  AclApi api_;
  MemoryOptions options_;
  bool open_ = false;
  bool on_host_ = false;
  bool in_place_ = false;
  HostMemory host_;
  std::array<Lane, kMaxLanes + 1> lanes_;  ///< the last one is the spare
  std::atomic<bool> spare_stuck_{false};   ///< with a copy that has not ended within its limit
  std::size_t lane_count_ = 0;
  std::array<Pinned, kMaxPinned> pinned_{};
  std::size_t pinned_count_ = 0;
  std::array<OperatorStream, kMaxStreams> streams_;
  std::size_t stream_count_ = 0;
  void* overflow_status_ = nullptr;
  std::atomic<bool> asking_{false};
  Stream asked_ = nullptr;   ///< where the device was asked last; of whoever is `asking_`
  bool answer_due_ = false;  ///< and may still write it
  bool reset_due_ = false;
  std::atomic<std::uint32_t> lacking_{0};  ///< a bit for each Call; see `lacks`
  LatestDriverError error_{kCalls};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
