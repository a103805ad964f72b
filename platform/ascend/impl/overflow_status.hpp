#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "platform/ascend/acl_api.hpp"
#include "platform/ascend/impl/driver_calls.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// The overflow status of a device, which the driver writes into device memory when it is asked. It counts
/// for all streams of the device.
class OverflowStatus {
 public:
  explicit OverflowStatus(DriverCalls& calls) : calls_(calls) {}
  OverflowStatus(const OverflowStatus&) = delete;
  OverflowStatus& operator=(const OverflowStatus&) = delete;

  /// Without the functions, or without memory for it, no status is told.
  void open() {
    if (!calls_.api().has_overflow()) return;
    const AclError code = calls_.api().malloc(&memory_, kBytes, kMallocNormalOnly);
    if (code == kAclSuccess) return;
    memory_ = nullptr;
    if (!says_unsupported(code)) static_cast<void>(calls_.check(DriverCalls::kMalloc, code));
  }

  /// Gives the memory back once the device writes it no more. An error when something failed.
  Status close() {
    const Status answered = answer_due_ ? wait_for_answer() : Status::ok;
    const Status freed =
        memory_ == nullptr ? Status::ok : calls_.check(DriverCalls::kFree, calls_.api().free(memory_));
    memory_ = nullptr;
    answer_due_ = reset_due_ = false;
    return freed == Status::ok ? answered : freed;
  }

  /// Whether the status is set; then it is reset. `copy(to, from, bytes)` copies from the device. An error
  /// when that is not known: the product has no status, another thread asks, or a call failed.
  template <class Copy>
  Result<bool> ask(Stream stream, Copy copy) {
    if (memory_ == nullptr || calls_.lacks(DriverCalls::kGetOverflowStatus)) return Status::not_supported;
    // acquire: the last one's asking comes before; partner: the release below.
    if (asking_.exchange(true, std::memory_order_acquire)) return Status::not_supported;
    bool over = false;
    const Status status = ask_device(stream, copy, over);
    asking_.store(false, std::memory_order_release);  // partner: the acquire above
    return status == Status::ok ? Result<bool>(over) : Result<bool>(status);
  }

 private:
  static constexpr std::size_t kBytes = 64;

  template <class Copy>
  Status ask_device(Stream stream, Copy copy, bool& over) {
    Status status = answer_due_ ? wait_for_answer() : Status::ok;
    if (status != Status::ok) return status;
    if (reset_due_) {
      // What is set may be of the operator that was told of, or of this one too.
      status = reset(stream);
      return status == Status::ok ? Status::not_supported : status;
    }
    status =
        check(DriverCalls::kGetOverflowStatus, calls_.api().get_overflow_status(memory_, kBytes, stream));
    if (status != Status::ok) return status;
    asked_ = stream;
    answer_due_ = true;
    status = wait_for_answer();
    alignas(kBytes) std::byte bytes[kBytes];
    if (status == Status::ok) status = copy(bytes, address_of(memory_), sizeof bytes);
    if (status != Status::ok) return status;
    over = load_little_endian<std::uint32_t>(bytes) != 0;
    if (over) static_cast<void>(reset(stream));
    return Status::ok;
  }

  /// Waits until the device has answered the latest question.
  Status wait_for_answer() {
    const Status status = check(DriverCalls::kSynchronizeStream, calls_.wait_for(asked_));
    answer_due_ = answer_due_ && status != Status::ok;
    return status;
  }

  Status reset(Stream stream) {
    Status status = check(DriverCalls::kResetOverflowStatus, calls_.api().reset_overflow_status(stream));
    if (status == Status::ok) status = check(DriverCalls::kSynchronizeStream, calls_.wait_for(stream));
    reset_due_ = status != Status::ok;
    return status;
  }

  /// As that of DriverCalls; a product that cannot do one of the calls does not tell of overflows.
  Status check(DriverCalls::Call call, AclError code) {
    if (!says_unsupported(code)) return calls_.check(call, code);
    calls_.note_lacking(DriverCalls::kGetOverflowStatus);
    return Status::not_supported;
  }

  DriverCalls& calls_;
  void* memory_ = nullptr;  ///< the device's; null: no status is told
  std::atomic<bool> asking_{false};
  Stream asked_ = nullptr;   ///< where the device was asked last; of whoever is `asking_`
  bool answer_due_ = false;  ///< and may still write `memory_`
  bool reset_due_ = false;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
