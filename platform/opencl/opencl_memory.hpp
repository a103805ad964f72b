#pragma once
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/bytes.hpp"
#include "opdump/impl/stats/statistics.hpp"
#include "opdump/port/buffer_table.hpp"
#include "opdump/port/device_memory.hpp"
#include "platform/opencl/opencl_api.hpp"
#include "platform/opencl/opencl_statistics.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// How a copy reads a buffer's bytes. A tensor that is read as a whole is always mapped.
enum class OpenclReading : std::uint8_t {
  read,  ///< the driver copies them; several copies may be in flight
  map,   ///< the driver maps them, and the CPU copies: for drivers with slower reads
};

/// Tensors in buffers of OpenCL, on one device: two devices need two of these objects, and two sessions. A
/// buffer gets its address by `add`; sub-buffers are buffers like others.
///
/// *Order.* Reads go into the queue that `open` was given. If the operators run in that queue, reads come
/// after them; in an out-of-order queue `fence` sees to that with a barrier. If they run in another queue, or
/// end with an event of the host, `written_by` names the event that reads of their outputs wait for.
///
/// *Errors.* An event or command that fails loses the record with `device_copy_failed`, and an event that
/// does not come within `wait_limit_ms` loses it with `timeout`; `driver_error` has OpenCL's code. No command
/// is enqueued that waits for a failed one: some drivers never end such commands.
///
/// *Threads.* `open`, `add` and `remove` from one context, while no recorder captures. `written_by` from any
/// context, while nobody captures that buffer. Recorders may work at the same time.
template <std::size_t kBuffers = 64>
class OpenclMemory final : public DeviceMemory {
 public:
  /// `api` must be loaded, and outlive this object.
  explicit OpenclMemory(const OpenclApi& api) : api_(api) {}
  OpenclMemory(const OpenclMemory&) = delete;
  OpenclMemory& operator=(const OpenclMemory&) = delete;
  ~OpenclMemory() {
    for (auto& entry : table_.entries()) release(entry.buffer);
    if (queue_ != nullptr) api_.release_queue(queue_);
  }

  /// Takes the queue that reads go into and retains it, and the device's number in the session.
  /// `already_initialised` the second time, `driver_failed` for an invalid queue.
  [[nodiscard]] Status open(cl_command_queue queue, std::uint32_t device_id = 0,
                            OpenclReading reading = OpenclReading::read, std::uint32_t wait_limit_ms = 1000) {
    if (queue_ != nullptr) return Status::already_initialised;
    cl_command_queue_properties properties = 0;
    cl_int error = api_.get_queue_info(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr);
    if (error == CL_SUCCESS) error = api_.retain_queue(queue);
    if (error != CL_SUCCESS) return failed(kOpen, error, Status::driver_failed);
    queue_ = queue;
    device_id_ = device_id;
    wait_limit_ms_ = wait_limit_ms;
    in_order_ = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
    maps_ = reading == OpenclReading::map;
    return Status::ok;
  }

  /// Compiles the kernels for statistics on the device. `driver_failed` when the driver cannot; the host then
  /// computes them. For boot.
  [[nodiscard]] Status enable_statistics() {
    if (queue_ == nullptr) return Status::not_initialised;
    const cl_int error = statistics_.build(api_, queue_);
    return error == CL_SUCCESS ? Status::ok : failed(kBuild, error, Status::driver_failed);
  }

  /// The address of the buffer's first byte. The buffer is retained until `remove`. `too_many_objects` when
  /// `kBuffers` buffers are added, `driver_failed` for an invalid buffer.
  Result<Address> add(cl_mem buffer) {
    std::size_t bytes = 0;
    cl_int error = api_.get_mem_info(buffer, CL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
    if (error == CL_SUCCESS) error = api_.retain_mem(buffer);
    if (error != CL_SUCCESS) return failed(kAdd, error, Status::driver_failed);
    const Result<Address> address = table_.add({buffer, nullptr}, bytes);
    if (!address.ok()) api_.release_mem(buffer);
    return address;
  }

  /// Releases the buffer whose first byte is at `address`; `not_registered` if there is none.
  [[nodiscard]] Status remove(Address address) {
    const auto place = table_.find(address, 0);
    if (place.entry == nullptr || place.offset != 0) return Status::not_registered;
    release(place.entry->buffer);
    table_.remove(*place.entry);
    return Status::ok;
  }

  /// From now on reads of the buffer at `address` wait for `event`, which is retained until another event or null
  /// replaces it. `not_registered` when no buffer has this address, `driver_failed` for an invalid event.
  [[nodiscard]] Status written_by(Address address, cl_event event) {
    const auto place = table_.find(address, 0);
    if (place.entry == nullptr) return Status::not_registered;
    if (event != nullptr) {
      const cl_int error = api_.retain_event(event);
      if (error != CL_SUCCESS) return failed(kEvent, error, Status::driver_failed);
    }
    cl_event& written = place.entry->buffer.written;
    if (written != nullptr) api_.release_event(written);
    written = event;
    return Status::ok;
  }

  /// `not_registered` for bytes that do not lie in one buffer.
  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) override {
    if (bytes == 0) return Status::ok;
    if (maps_) {
      const Result<Bytes> mapped = map(from, bytes);
      if (!mapped.ok()) return mapped.status();
      std::memcpy(to, mapped.value().data(), bytes);
      return unmap(from, mapped.value());
    }
    const auto place = table_.find(from, bytes);
    if (place.entry == nullptr) return Status::not_registered;
    const Buffer& buffer = place.entry->buffer;
    if (const Status status = wait_for(buffer); status != Status::ok) return status;
    const cl_int error = api_.enqueue_read_buffer(queue_, buffer.memory, CL_TRUE, place.offset, bytes, to, 0,
                                                  nullptr, nullptr);
    return error == CL_SUCCESS ? Status::ok : failed(kRead, error, Status::device_copy_failed);
  }

  // Copies in the background.

  struct Copy {
    cl_event event = nullptr;
  };
  static constexpr std::size_t kMaxCopies = 4;

  [[nodiscard]] Status start(Copy& copy, std::byte* to, Address from, std::size_t bytes) {
    if (maps_ || bytes == 0) return Status::not_supported;
    const auto place = table_.find(from, bytes);
    if (place.entry == nullptr) return Status::not_registered;
    const Buffer& buffer = place.entry->buffer;
    const Result<bool> written = is_over(buffer.written, kEvent);
    if (!written.ok()) return written.status();
    const bool waits = !written.value();
    const cl_int error =
        api_.enqueue_read_buffer(queue_, buffer.memory, CL_FALSE, place.offset, bytes, to, waits ? 1 : 0,
                                 waits ? &buffer.written : nullptr, &copy.event);
    if (error != CL_SUCCESS) return failed(kRead, error, Status::device_copy_failed);
    // A copy that has begun must be followed to its end: an error of the flush shows there.
    if (const cl_int flushed = api_.flush(queue_); flushed != CL_SUCCESS) error_.set(kFlush, flushed);
    return Status::ok;
  }

  [[nodiscard]] Result<bool> poll(Copy& copy) {
    const Result<bool> over = is_over(copy.event, kRead);
    if (!over.ok() || over.value()) api_.release_event(copy.event);
    return over;
  }

  [[nodiscard]] Result<bool> complete(Copy& copy, std::uint32_t limit_ms) {
    const Result<bool> over = await(copy.event, kRead, limit_ms);
    if (!over.ok() || over.value()) api_.release_event(copy.event);
    return over;
  }

  /// In an out-of-order queue, makes later commands wait for all earlier ones.
  [[nodiscard]] Status fence(std::uint32_t /*stream_id*/) {
    if (in_order_) return Status::ok;
    const cl_int error = api_.enqueue_barrier(queue_, 0, nullptr, nullptr);
    return error == CL_SUCCESS ? Status::ok : failed(kBarrier, error, Status::device_copy_failed);
  }

  std::uint32_t device_id() const { return device_id_; }

  DriverError driver_error() const { return error_.get(); }

  // A whole tensor, for computing statistics.

  /// The bytes, mapped so that the CPU may read them until `unmap`.
  [[nodiscard]] Result<Bytes> map(Address from, std::uint64_t bytes) {
    const auto place = table_.find(from, bytes);
    if (place.entry == nullptr) return Status::not_registered;
    const Buffer& buffer = place.entry->buffer;
    if (const Status status = wait_for(buffer); status != Status::ok) return status;
    cl_int error = CL_SUCCESS;
    const void* const mapped =
        api_.enqueue_map_buffer(queue_, buffer.memory, CL_TRUE, CL_MAP_READ, place.offset,
                                static_cast<std::size_t>(bytes), 0, nullptr, nullptr, &error);
    if (error != CL_SUCCESS) return failed(kMap, error, Status::device_copy_failed);
    return Bytes(static_cast<const std::byte*>(mapped), static_cast<std::size_t>(bytes));
  }

  [[nodiscard]] Status unmap(Address from, Bytes mapped) {
    const auto place = table_.find(from, mapped.size());
    if (place.entry == nullptr) return Status::not_registered;
    const cl_int error = api_.enqueue_unmap(queue_, place.entry->buffer.memory,
                                            const_cast<std::byte*>(mapped.data()), 0, nullptr, nullptr);
    return error == CL_SUCCESS ? Status::ok : failed(kUnmap, error, Status::device_copy_failed);
  }

  /// Lets the device add the first `elements` elements of `tensor` to `to`. `not_supported` without
  /// `enable_statistics`, for dtypes that OpenclStatistics does not take, for addresses that are not a
  /// multiple of the element's size, and for 2^32 elements or more.
  [[nodiscard]] Status add_statistics(const TensorView& tensor, std::uint64_t elements, Statistics& to) {
    const std::size_t element_bytes = codes_of(tensor.dtype).bits / 8;
    if (!statistics_.built() || !OpenclStatistics::supports(tensor.dtype) || elements >> 32 != 0 ||
        tensor.address % element_bytes != 0)
      return Status::not_supported;
    if (elements == 0) return Status::ok;
    const auto place = table_.find(tensor.address, elements * element_bytes);
    if (place.entry == nullptr) return Status::not_registered;
    const Buffer& buffer = place.entry->buffer;
    if (const Status status = wait_for(buffer); status != Status::ok) return status;
    const cl_int error = statistics_.add(queue_, {buffer.memory, place.offset, elements, tensor.dtype}, to);
    return error == CL_SUCCESS ? Status::ok : failed(kStatistics, error, Status::device_copy_failed);
  }

 private:
  struct Buffer {
    cl_mem memory = nullptr;
    cl_event written = nullptr;
  };

  enum Call : std::uint8_t {
    kOpen,
    kBuild,
    kAdd,
    kEvent,
    kRead,
    kFlush,
    kBarrier,
    kMap,
    kUnmap,
    kStatistics,
  };
  static constexpr const char* kCalls[] = {"clGetCommandQueueInfo",        "clBuildProgram",
                                           "clGetMemObjectInfo",           "clGetEventInfo",
                                           "clEnqueueReadBuffer",          "clFlush",
                                           "clEnqueueBarrierWithWaitList", "clEnqueueMapBuffer",
                                           "clEnqueueUnmapMemObject",      "clEnqueueNDRangeKernel"};

  static constexpr std::uint64_t kLongestNapUs = 50;

  /// Whether a command, or an event of the host, has ended; an error when it failed. Null has ended.
  Result<bool> is_over(cl_event event, Call call) {
    if (event == nullptr) return true;
    cl_int state = CL_QUEUED;
    const cl_int asked =
        api_.get_event_info(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
    const cl_int error = asked != CL_SUCCESS ? asked : state;
    if (error >= CL_COMPLETE) return error == CL_COMPLETE;
    return failed(call, error, Status::device_copy_failed);
  }

  /// The same, but waits up to `limit_ms`. OpenCL cannot wait with a limit, so this polls at growing intervals.
  Result<bool> await(cl_event event, Call call, std::uint32_t limit_ms) {
    const std::uint64_t end = now_us() + std::uint64_t{limit_ms} * 1000;
    for (std::uint64_t nap_us = 0;; nap_us = nap_us < kLongestNapUs ? nap_us + 1 : nap_us) {
      const Result<bool> over = is_over(event, call);
      if (!over.ok() || over.value() || now_us() >= end) return over;
      const timespec nap = {.tv_sec = 0, .tv_nsec = static_cast<long>(nap_us * 1000)};
      if (nap_us != 0) ::nanosleep(&nap, nullptr);
    }
  }

  /// Waits until the buffer is written.
  Status wait_for(const Buffer& buffer) {
    const Result<bool> written = await(buffer.written, kEvent, wait_limit_ms_);
    if (!written.ok()) return written.status();
    return written.value() ? Status::ok : Status::timeout;
  }

  static std::uint64_t now_us() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec) / 1000;
  }

  Status failed(Call call, cl_int error, Status status) {
    error_.set(call, error);
    return status;
  }

  void release(Buffer& buffer) {
    if (buffer.written != nullptr) api_.release_event(buffer.written);
    if (buffer.memory != nullptr) api_.release_mem(buffer.memory);
    buffer = {};
  }

  const OpenclApi& api_;
  cl_command_queue queue_ = nullptr;
  std::uint32_t device_id_ = 0;
  std::uint32_t wait_limit_ms_ = 0;
  bool in_order_ = true;
  bool maps_ = false;
  BufferTable<Buffer, kBuffers> table_;
  OpenclStatistics statistics_;
  LatestDriverError error_{kCalls};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
