#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

  /// Longest wait of `fence` for an operator.
  std::uint32_t operator_limit_ms = 10000;
};

/// Memory of an Ascend device, by the functions of AscendCL that `api` has. Where the runtime copies in the
/// background, as all but the nano products' do, so does this; where it tells of overflows, this tells them.
///
/// A copy in the background needs pinned memory on its way. It goes straight to the ring if that lies in
/// `allocate_pinned` memory, and through a lane's buffer otherwise.
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
    std::size_t bytes = 0;
  };

  AscendMemory() = default;
  AscendMemory(const AscendMemory&) = delete;
  AscendMemory& operator=(const AscendMemory&) = delete;
  ~AscendMemory() { static_cast<void>(close()); }

  /// Takes what it needs of the device. `symbol_missing` when `api` cannot copy, `wrong_device` when the
  /// thread's device is another one, `invalid_argument` for options out of range, `already_initialised`,
  /// `driver_failed` when a call failed (see `driver_error`): nothing is taken. `api` is copied.
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
    Status status = open_lanes();
    if (status == Status::ok) status = open_overflow();
    if (status != Status::ok) static_cast<void>(close());
    return status;
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
    for (std::size_t i = 0; i < lane_count_; ++i) {
      Lane& lane = lanes_[i];
      if (lane.taken.load(std::memory_order_acquire))  // partner: `give_back`
        note(check(kSynchronizeStream, api_.synchronize_stream(lane.stream)));
      note(check(kDestroyStream, api_.destroy_stream(lane.stream)));
      note(check(kFreeHost, api_.free_host(lane.staging)));
      lane.taken.store(false, std::memory_order_relaxed);
    }
    for (std::size_t i = 0; i < pinned_count_; ++i) note(check(kFreeHost, api_.free_host(pinned_[i].data())));
    if (answer_due_) note(wait_for_answer());
    if (overflow_status_ != nullptr) note(check(kFree, api_.free(overflow_status_)));
    overflow_status_ = nullptr;
    answer_due_ = false;
    lane_count_ = pinned_count_ = stream_count_ = 0;
    open_ = on_host_ = false;
    return worst;
  }

  bool on_host() const { return on_host_; }

  /// Whether copies go on in the background.
  bool asynchronous() const { return lane_count_ != 0; }

  /// Memory for a ring to which the device copies by itself; stays until `close`. `not_supported` where the
  /// product has none, `too_many_objects` after `kMaxPinned`, `no_memory`.
  [[nodiscard]] Result<MutableBytes> allocate_pinned(std::size_t bytes) {
    if (!open_ || on_host_ || api_.malloc_host == nullptr || api_.free_host == nullptr)
      return Status::not_supported;
    if (pinned_count_ == kMaxPinned) return Status::too_many_objects;
    void* memory = nullptr;
    const AclError code = api_.malloc_host(&memory, bytes);
    if (says_unsupported(code)) return Status::not_supported;
    if (check(kMallocHost, code) != Status::ok || memory == nullptr) return Status::no_memory;
    pinned_[pinned_count_] = {static_cast<std::byte*>(memory), bytes};
    return pinned_[pinned_count_++];
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
    if (on_host_) return host_.copy(to, from, bytes);
    if (bytes == 0) return Status::ok;
    const void* source = pointer(from);
    if (api_.memcpy_sync != nullptr)
      return check(kMemcpy, api_.memcpy_sync(to, bytes, source, bytes, kDeviceToHost));
    return check(kRtMemcpy, api_.rt_memcpy(to, bytes, source, bytes, kDeviceToHost));
  }

  [[nodiscard]] Status start(Copy& copy, std::byte* to, Address from, std::size_t bytes) {
    const bool direct = ((address_of(to) | from) & (kAlignment - 1)) == 0 && is_pinned({to, bytes});
    // Device memory is handed out in aligned blocks, so the bytes before `from` in its block are there too.
    const std::size_t before = direct ? 0 : static_cast<std::size_t>(from & (kAlignment - 1));
    if (!direct && before + bytes > options_.staging_bytes) return Status::not_supported;
    if (!take_lane(copy)) return Status::not_supported;
    Lane& lane = lanes_[copy.lane];
    std::byte* arrival = direct ? to : lane.staging;
    copy.to = to;
    copy.staged = direct ? nullptr : lane.staging + before;
    copy.bytes = bytes;
    const AclError code = api_.memcpy_async(arrival, before + bytes, pointer(from - before), before + bytes,
                                            kDeviceToHost, lane.stream);
    if (code == kAclSuccess) return Status::ok;
    give_back(lane);
    if (says_unsupported(code) || code == kRtQueueFull) return Status::not_supported;
    return check(kMemcpyAsync, code);
  }

  [[nodiscard]] Result<bool> poll(Copy& copy) {
    const Result<bool> idle = is_idle(lanes_[copy.lane].stream);
    return idle.ok() && idle.value() ? synchronize(copy, 1) : Result<bool>(false);
  }

  [[nodiscard]] Result<bool> complete(Copy& copy, std::uint32_t limit_ms) {
    return limit_ms == 0 ? poll(copy) : synchronize(copy, limit_ms);
  }

  CopyRules copy_rules() const {
    if (!asynchronous()) return {};
    return {.alignment = kAlignment, .max_bytes = static_cast<std::uint32_t>(options_.staging_bytes)};
  }

  /// Waits for the operators of a stream that `add_stream` made known; others the program has waited for
  /// itself. `wrong_device` when the thread's device is another one, `driver_failed`, also after
  /// `MemoryOptions::operator_limit_ms` without an end. That an operator overflowed is no error here.
  [[nodiscard]] Status fence(std::uint32_t stream_id) {
    if (on_host_) return Status::ok;
    if (const Status status = check_device(); status != Status::ok) return status;
    OperatorStream* known = find_stream(stream_id);
    if (known == nullptr || api_.synchronize_stream == nullptr) return Status::ok;
    const AclError code = wait_for(known->stream, options_.operator_limit_ms);
    if (says_overflow(code)) {
      known->overflowed.store(true, std::memory_order_relaxed);
      return Status::ok;
    }
    return check(kSynchronizeStream, code);
  }

  /// What the latest `fence` of the stream was told, or else the device's own overflow status, which counts
  /// for all its streams. `not_supported` where the product has none; `recorder_busy` while another recorder
  /// asks; `driver_failed`.
  [[nodiscard]] Result<bool> overflowed(std::uint32_t stream_id) {
    if (on_host_) return Status::not_supported;
    OperatorStream* known = find_stream(stream_id);
    const bool told = known != nullptr && known->overflowed.load(std::memory_order_relaxed);
    if (told) known->overflowed.store(false, std::memory_order_relaxed);
    if (overflow_status_ == nullptr) return told ? Result<bool>(true) : Result<bool>(Status::not_supported);
    // acquire: the last one's asking comes before; partner: the release below.
    if (asking_.exchange(true, std::memory_order_acquire)) return Status::recorder_busy;
    const Result<bool> answer = ask_device(known == nullptr ? nullptr : known->stream);
    asking_.store(false, std::memory_order_release);  // partner: the acquire above
    return told ? Result<bool>(true) : answer;
  }

  std::uint32_t device_id() const { return options_.device_id; }

  DriverError driver_error() const { return error_.get(); }

 private:
  static constexpr AclError kRtQueueFull = 207014;
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
  };

  struct Lane {
    Stream stream = nullptr;
    std::byte* staging = nullptr;
    std::atomic<bool> taken{false};
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

  Status check_device() {
    if (api_.get_device == nullptr) return Status::ok;
    std::int32_t id = -1;
    if (const Status status = check(kGetDevice, api_.get_device(&id)); status != Status::ok) return status;
    return id >= 0 && static_cast<std::uint32_t>(id) == options_.device_id ? Status::ok
                                                                           : Status::wrong_device;
  }

  /// A product whose runtime has the functions but not what they are for has no lanes.
  Status open_lanes() {
    if (!api_.has_async()) return Status::ok;
    while (lane_count_ < options_.lanes) {
      Lane& lane = lanes_[lane_count_];
      void* staging = nullptr;
      AclError code = api_.malloc_host(&staging, options_.staging_bytes);
      if (says_unsupported(code)) return Status::ok;
      if (const Status status = check(kMallocHost, code); status != Status::ok) return status;
      lane.staging = static_cast<std::byte*>(staging);
      code = api_.create_stream(&lane.stream);
      if (code != kAclSuccess) {
        const Status status = says_unsupported(code) ? Status::ok : check(kCreateStream, code);
        const Status freed = check(kFreeHost, api_.free_host(staging));
        return status != Status::ok ? status : freed;
      }
      ++lane_count_;
    }
    return Status::ok;
  }

  Status open_overflow() {
    if (!api_.has_overflow()) return Status::ok;
    return check(kMalloc, api_.malloc(&overflow_status_, kOverflowBytes, kMallocNormalOnly));
  }

  OperatorStream* find_stream(std::uint32_t id) {
    for (std::size_t i = 0; i < stream_count_; ++i) {
      if (streams_[i].id == id) return &streams_[i];
    }
    return nullptr;
  }

  bool is_pinned(MutableBytes memory) const {
    for (std::size_t i = 0; i < pinned_count_; ++i) {
      const Address start = address_of(pinned_[i].data());
      const Address at = address_of(memory.data());
      if (at >= start && at - start <= pinned_[i].size() && memory.size() <= pinned_[i].size() - (at - start))
        return true;
    }
    return false;
  }

  bool take_lane(Copy& copy) {
    for (copy.lane = 0; copy.lane < lane_count_; ++copy.lane) {
      // acquire: its last user is done with it; pairs with the release in `give_back`.
      if (!lanes_[copy.lane].taken.exchange(true, std::memory_order_acquire)) return true;
    }
    return false;
  }

  // partners: `take_lane`, `close`.
  static void give_back(Lane& lane) { lane.taken.store(false, std::memory_order_release); }

  AclError wait_for(Stream stream, std::uint32_t limit_ms) {
    constexpr std::uint32_t kMost = 0x7fffffff;
    if (api_.synchronize_stream_with_timeout == nullptr) return api_.synchronize_stream(stream);
    return api_.synchronize_stream_with_timeout(
        stream, static_cast<std::int32_t>(limit_ms < kMost ? limit_ms : kMost));
  }

  /// Whether nothing is under way on the stream.
  Result<bool> is_idle(Stream stream) {
    if (api_.stream_query == nullptr) return Status::not_supported;
    int status = kStreamComplete + 1;
    const Status asked = check(kStreamQuery, api_.stream_query(stream, &status));
    return asked == Status::ok ? Result<bool>(status == kStreamComplete) : Result<bool>(asked);
  }

  Result<bool> synchronize(Copy& copy, std::uint32_t limit_ms) {
    Lane& lane = lanes_[copy.lane];
    const AclError code = wait_for(lane.stream, limit_ms);
    if (says_timeout(code)) return false;
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
    const Status status = check(kSynchronizeStream, api_.synchronize_stream(asked_));
    answer_due_ = answer_due_ && status != Status::ok;
    return status;
  }

  Result<bool> ask_device(Stream stream) {
    Status status = answer_due_ ? wait_for_answer() : Status::ok;
    if (status != Status::ok) return status;
    status = check(kGetOverflowStatus, api_.get_overflow_status(overflow_status_, kOverflowBytes, stream));
    if (status != Status::ok) return status;
    asked_ = stream;
    answer_due_ = true;
    status = wait_for_answer();
    std::byte bytes[kOverflowBytes];
    if (status == Status::ok) status = copy(bytes, address_of(overflow_status_), sizeof bytes);
    if (status != Status::ok) return status;
    if (load_little_endian<std::uint32_t>(bytes) == 0) return false;
    status = check(kResetOverflowStatus, api_.reset_overflow_status(stream));
    if (status == Status::ok) status = check(kSynchronizeStream, api_.synchronize_stream(stream));
    if (status != Status::ok) return status;
    return true;
  }

  AclApi api_;
  MemoryOptions options_;
  bool open_ = false;
  bool on_host_ = false;
  HostMemory host_;
  std::array<Lane, kMaxLanes> lanes_;
  std::size_t lane_count_ = 0;
  std::array<MutableBytes, kMaxPinned> pinned_{};
  std::size_t pinned_count_ = 0;
  std::array<OperatorStream, kMaxStreams> streams_;
  std::size_t stream_count_ = 0;
  void* overflow_status_ = nullptr;
  std::atomic<bool> asking_{false};
  Stream asked_ = nullptr;   ///< where the device was asked last; of whoever is `asking_`
  bool answer_due_ = false;  ///< and may still write it
  LatestDriverError error_{kCalls};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
