#pragma once
#include <errno.h>
#include <linux/dma-buf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/bytes.hpp"
#include "opdump/port/buffer_table.hpp"
#include "opdump/port/device_memory.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Tensors in dma-bufs of Linux: memory that devices share through file descriptors. Each buffer is mapped
/// when it is added; every copy lies between two calls of DMA_BUF_IOCTL_SYNC, which make what the devices
/// wrote visible to the CPU. In the first one the kernel waits for fences of the device's driver where there
/// are any; the operator must be over where there are none.
///
/// Threads: `add` and `remove` from one context, while no recorder captures; recorders may copy at the same
/// time. The destructor unmaps.
template <std::size_t kBuffers = 64>
class DmabufMemory final : public DeviceMemory {
 public:
  DmabufMemory() = default;
  DmabufMemory(const DmabufMemory&) = delete;
  DmabufMemory& operator=(const DmabufMemory&) = delete;
  ~DmabufMemory() {
    for (auto& entry : table_.entries()) unmap(entry);
  }

  /// Maps `bytes` bytes of the dma-buf `descriptor`, from its start; the address stands for the first of
  /// them. The descriptor must stay open until `remove`, and remains the caller's. `invalid_argument` for a
  /// descriptor of anything else, of which no call can make visible what a device wrote; `permission_denied`,
  /// `no_memory` or `invalid_argument` as mmap has it, `too_many_objects` when `kBuffers` are mapped.
  Result<Address> add(int descriptor, std::size_t bytes) {
    if (bytes == 0 || !is_dmabuf(descriptor)) return Status::invalid_argument;
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED) return status_of_mmap(errno);
    const Result<Address> address = table_.add({static_cast<const std::byte*>(mapped), descriptor}, bytes);
    if (!address.ok()) ::munmap(mapped, bytes);
    return address;
  }

  /// Unmaps the buffer of which `address` is the first byte's; `not_found` if there is none.
  [[nodiscard]] Status remove(Address address) {
    const auto place = table_.find(address, 0);
    if (place.entry == nullptr || place.offset != 0) return Status::not_found;
    unmap(*place.entry);
    table_.remove(*place.entry);
    return Status::ok;
  }

  /// `device_copy_failed` for bytes outside the buffers, and when the kernel refuses a sync call: then
  /// nothing is known of what the bytes were worth.
  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) override {
    if (bytes == 0) return Status::ok;
    const Result<Bytes> mapped = map(from, bytes);
    if (!mapped.ok()) return mapped.status();
    std::memcpy(to, mapped.value().data(), bytes);
    return unmap(from, mapped.value());
  }

  /// The bytes where they lie, which the CPU may read until `unmap`.
  [[nodiscard]] Result<Bytes> map(Address from, std::uint64_t bytes) {
    const auto place = table_.find(from, bytes);
    if (place.entry == nullptr) return Status::device_copy_failed;
    const Buffer& buffer = place.entry->buffer;
    if (!sync(buffer, DMA_BUF_SYNC_START)) return Status::device_copy_failed;
    return Bytes(buffer.mapped + place.offset, static_cast<std::size_t>(bytes));
  }

  [[nodiscard]] Status unmap(Address from, Bytes mapped) {
    const auto place = table_.find(from, mapped.size());
    if (place.entry == nullptr) return Status::device_copy_failed;
    return sync(place.entry->buffer, DMA_BUF_SYNC_END) ? Status::ok : Status::device_copy_failed;
  }

 private:
  struct Buffer {
    const std::byte* mapped = nullptr;
    int descriptor = -1;
  };
  using Table = BufferTable<Buffer, kBuffers>;

  static Status status_of_mmap(int error) {
    if (error == EACCES || error == EPERM) return Status::permission_denied;
    return error == ENOMEM ? Status::no_memory : Status::invalid_argument;
  }

  /// Asks for a sync call of no kind, which a dma-buf refuses without waiting, and others do not know.
  static bool is_dmabuf(int descriptor) {
    dma_buf_sync request = {.flags = ~std::uint64_t{DMA_BUF_SYNC_VALID_FLAGS_MASK}};
    return ::ioctl(descriptor, DMA_BUF_IOCTL_SYNC, &request) == 0 || errno == EINVAL;
  }

  /// The kernel asks for another try with EINTR and EAGAIN.
  static bool sync(const Buffer& buffer, std::uint64_t end) {
    dma_buf_sync request = {.flags = DMA_BUF_SYNC_READ | end};
    int result = 0;
    do {
      result = ::ioctl(buffer.descriptor, DMA_BUF_IOCTL_SYNC, &request);
    } while (result != 0 && (errno == EINTR || errno == EAGAIN));
    return result == 0;
  }

  static void unmap(typename Table::Entry& entry) {
    if (entry.bytes == 0) return;
    ::munmap(const_cast<std::byte*>(entry.buffer.mapped), static_cast<std::size_t>(entry.bytes));
  }

  Table table_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
