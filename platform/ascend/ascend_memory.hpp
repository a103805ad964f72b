#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/types/tensor.hpp"
#include "platform/ascend/acl_api.hpp"
#include "platform/ascend/impl/copy_lanes.hpp"
#include "platform/ascend/impl/driver_calls.hpp"
#include "platform/ascend/impl/overflow_status.hpp"
#include "platform/ascend/impl/pinned_memory.hpp"
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
/// `allocate_pinned` memory, and through a lane's buffer otherwise. Both begin at multiples of 64, also where the
/// driver's own memory does not. What the driver refuses to do in the background is copied at once, and between
/// addresses that it refuses, by way of aligned ones; what it does not copy at once, in the background after all.
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
  static constexpr std::size_t kMaxLanes = CopyLanes::kMost;
  static constexpr std::size_t kMaxStreams = 32;

  /// Of both addresses of a copy in the background.
  static constexpr std::uint32_t kAlignment = kCopyAlignment;

  using Copy = CopyLanes::Copy;

  AscendMemory() = default;
  AscendMemory(const AscendMemory&) = delete;
  AscendMemory& operator=(const AscendMemory&) = delete;
  ~AscendMemory() { static_cast<void>(close()); }

  /// Takes what it needs of the device; without the memory and streams that the driver does not give, it does with
  /// fewer lanes or none, and does not tell of overflows. `symbol_missing` when `api` cannot copy, `wrong_device`
  /// when the thread's device is another one, `driver_failed` when the driver cannot tell which it is,
  /// `invalid_argument` for options out of range, `already_initialised`: nothing is taken. `api` is copied.
  [[nodiscard]] Status open(const AclApi& api, const MemoryOptions& options = {}) {
    if (open_) return Status::already_initialised;
    if (options.lanes > kMaxLanes || options.staging_bytes == 0 || options.staging_bytes % kAlignment != 0 ||
        options.staging_bytes > 0x40000000) {
      return Status::invalid_argument;
    }
    if (!api.can_copy()) return Status::symbol_missing;
    calls_.open(api);
    options_ = options;
    if (const Status status = calls_.check_device(options.device_id); status != Status::ok) return status;
    open_ = true;
    in_place_ = options.read_in_place && calls_.runs_on_device();
    if (!in_place_) lanes_.open(options.lanes, options.staging_bytes);
    overflow_.open();
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
    for (const Status status : {lanes_.close(), pinned_.close(), overflow_.close()}) {
      if (status != Status::ok) worst = status;
    }
    calls_.close();
    stream_count_ = 0;
    open_ = on_host_ = in_place_ = false;
    return worst;
  }

  bool on_host() const { return on_host_; }

  /// Whether the CPU reads device memory itself: aclrtGetRunMode says that the program runs on the device.
  /// Nano products say so too, but are asked to copy, as nothing tells that their CPU may read.
  bool reads_in_place() const { return in_place_; }

  /// Whether copies go on in the background.
  bool asynchronous() const { return lanes_.any() && !calls_.lacks(DriverCalls::kMemcpyAsync); }

  /// Memory for a ring to which the device copies by itself, at a multiple of 64; stays until `close`.
  /// `not_supported` where the product has none, `too_many_objects` after `PinnedMemory::kMost`, `no_memory`.
  [[nodiscard]] Result<MutableBytes> allocate_pinned(std::size_t bytes) {
    return open_ && !on_host_ ? pinned_.allocate(bytes) : Status::not_supported;
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
    const bool direct = arrives_directly(to, from, bytes);
    if (!direct && bytes > options_.staging_bytes) return Status::not_supported;
    return lanes_.take(copy) ? lanes_.start(copy, to, from, bytes, direct) : Status::not_supported;
  }

  [[nodiscard]] Result<bool> poll(Copy& copy) {
    return lanes_.is_known_idle(copy) ? synchronize(copy, 1) : Result<bool>(false);
  }

  [[nodiscard]] Result<bool> complete(Copy& copy, std::uint32_t limit_ms) {
    return limit_ms == 0 ? poll(copy) : synchronize(copy, limit_ms);
  }

  CopyRules copy_rules() const {
    if (!lanes_.any()) return {};
    return {.alignment = kAlignment, .max_bytes = static_cast<std::uint32_t>(options_.staging_bytes)};
  }

  /// Waits for the operators of a stream that `add_stream` made known; others, and those of a product that
  /// cannot wait, the program has waited for itself. `wrong_device` when the thread's device is another one,
  /// `driver_failed`, also after `MemoryOptions::operator_limit_ms` without an end. That an operator
  /// overflowed is no error here, nor that the driver could not say which the thread's device is.
  [[nodiscard]] Status fence(std::uint32_t stream_id) {
    if (on_host_) return Status::ok;
    if (calls_.check_device(options_.device_id) == Status::wrong_device) return Status::wrong_device;
    OperatorStream* known = find_stream(stream_id);
    if (known == nullptr || calls_.api().synchronize_stream == nullptr) return Status::ok;
    const AclError code = calls_.wait_for(known->stream, options_.operator_limit_ms);
    if (says_overflow(code)) known->overflowed.store(true, std::memory_order_relaxed);
    if (says_overflow(code) || says_unsupported(code)) return Status::ok;
    if (says_call_failed(code) && calls_.is_known_idle(known->stream)) return Status::ok;
    return calls_.check(DriverCalls::kSynchronizeStream, code);
  }

  /// What the latest `fence` of the stream was told, or else the device's own overflow status, which counts
  /// for all its streams. `not_supported` where the product has none, while another recorder asks, and when a
  /// call failed: the outputs then have to be searched.
  [[nodiscard]] Result<bool> overflowed(std::uint32_t stream_id) {
    if (on_host_) return Status::not_supported;
    OperatorStream* known = find_stream(stream_id);
    const bool told = known != nullptr && known->overflowed.load(std::memory_order_relaxed);
    if (told) known->overflowed.store(false, std::memory_order_relaxed);
    // Also of an operator that was told of, as that resets the status.
    const Result<bool> over = overflow_.ask(
        known == nullptr ? nullptr : known->stream,
        [this](std::byte* to, Address from, std::size_t bytes) { return copy(to, from, bytes); });
    if (told) return true;
    return over.ok() ? over : Result<bool>(Status::not_supported);
  }

  std::uint32_t device_id() const { return options_.device_id; }

  DriverError driver_error() const { return calls_.error(); }

 private:
  struct OperatorStream {
    std::uint32_t id = 0;
    Stream stream = nullptr;
    std::atomic<bool> overflowed{false};  ///< told by `fence`, not yet by `overflowed`
  };

  static bool is_aligned(Address address) { return beyond_alignment(address) == 0; }

  Status copy_by_driver(std::byte* to, Address from, std::size_t bytes) {
    const bool aligned = is_aligned(address_of(to) | from);
    bool refused = false;
    if (aligned || !calls_.lacks(DriverCalls::kUnaligned)) {
      const Status status = copy_at_once(to, from, bytes, !aligned);
      if (aligned || status == Status::ok) return status;
      refused = status == Status::not_supported;
    }
    const Status status = copy_by_aligned(to, from, bytes);
    if (status == Status::ok && refused) calls_.note_lacking(DriverCalls::kUnaligned);
    return status;
  }

  /// By whichever function there is that copies and returns when it has; again, and then by a lane, if the driver
  /// failed in itself. `may_refuse`: if the driver does not take the addresses, `not_supported`, which is no failure.
  Status copy_at_once(std::byte* to, Address from, std::size_t bytes, bool may_refuse = false) {
    const void* const source = pointer_of(from);
    const AclApi& api = calls_.api();
    if (api.memcpy_sync != nullptr && !calls_.lacks(DriverCalls::kMemcpy)) {
      AclError code = api.memcpy_sync(to, bytes, source, bytes, kDeviceToHost);
      if (says_call_failed(code) && !says_arguments(code) && !says_unsupported(code)) {
        static_cast<void>(calls_.check(DriverCalls::kMemcpy, code));
        code = api.memcpy_sync(to, bytes, source, bytes, kDeviceToHost);
      }
      if (may_refuse && says_arguments(code)) return Status::not_supported;
      const bool is_over = !says_call_failed(code) || says_arguments(code);
      if (says_unsupported(code)) {
        calls_.note_lacking(DriverCalls::kMemcpy);
      } else if (const Status status = calls_.check(DriverCalls::kMemcpy, code); is_over) {
        return status;
      }
    }
    if (api.rt_memcpy != nullptr) {
      const AclError code = api.rt_memcpy(to, bytes, source, bytes, kDeviceToHost);
      return may_refuse && says_arguments(code) ? Status::not_supported
                                                : calls_.check(DriverCalls::kRtMemcpy, code);
    }
    return copy_by_lanes(to, from, bytes);
  }

  Status copy_by_aligned(std::byte* to, Address from, std::size_t bytes) {
    alignas(kAlignment) std::byte piece[8 * kAlignment];
    while (bytes != 0) {
      // As in `start`, what lies before `from` in its block is there too.
      const std::size_t before = beyond_alignment(from);
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
      if (!lanes_.take_to_wait(copy)) return Status::device_copy_failed;
      const bool direct = arrives_directly(to, from, now);
      if (lanes_.start(copy, to, from, now, direct) != Status::ok) return Status::device_copy_failed;
      const CopyLanes::End end = lanes_.wait_for(copy, options_.operator_limit_ms);
      if (end == CopyLanes::End::under_way) lanes_.note_stuck(copy);
      if (end != CopyLanes::End::arrived) return Status::device_copy_failed;
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

  /// Whether the device copies to `to` itself, without a lane's buffer.
  bool arrives_directly(std::byte* to, Address from, std::size_t bytes) const {
    return is_aligned(address_of(to) | from) && pinned_.contains({to, bytes});
  }

  /// Copies again, by any way, if nobody can say what became of the copy.
  Result<bool> synchronize(const Copy& copy, std::uint32_t limit_ms) {
    switch (lanes_.wait_for(copy, limit_ms)) {
      case CopyLanes::End::under_way:
        return false;
      case CopyLanes::End::arrived:
        return true;
      case CopyLanes::End::failed:
        return Status::device_copy_failed;
      case CopyLanes::End::unknown:
        break;
    }
    const Status again = copy_by_driver(copy.to, copy.from, copy.bytes);
    return again == Status::ok ? Result<bool>(true) : Result<bool>(again);
  }

  DriverCalls calls_;
  CopyLanes lanes_{calls_};
  PinnedMemory pinned_{calls_};
  OverflowStatus overflow_{calls_};
  HostMemory host_;
  MemoryOptions options_;
  bool open_ = false;
  bool on_host_ = false;
  bool in_place_ = false;
  std::array<OperatorStream, kMaxStreams> streams_;
  std::size_t stream_count_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
