#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "platform/ascend/acl_api.hpp"
#include "platform/ascend/impl/driver_calls.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// Of both addresses of a copy in the background. Source: CANN's text on aclrtMemcpyAsync.
inline constexpr std::uint32_t kCopyAlignment = 64;

/// What an address has beyond a multiple of the alignment.
constexpr std::size_t beyond_alignment(Address address) {
  return static_cast<std::size_t>(address & (kCopyAlignment - 1));
}

/// Memory of the host's that the device copies to by itself.
struct Pinned {
  void* memory = nullptr;  ///< as the driver gave it
  MutableBytes aligned;    ///< what of it is to be used

  /// `not_supported` where the product has none, `no_memory`.
  Status allocate(DriverCalls& calls, std::size_t bytes) {
    memory = nullptr;
    const AclError code = calls.api().malloc_host(&memory, bytes + kCopyAlignment - 1);
    if (says_unsupported(code)) return Status::not_supported;
    if (calls.check(DriverCalls::kMallocHost, code) != Status::ok || memory == nullptr)
      return Status::no_memory;
    std::byte* const start = static_cast<std::byte*>(memory);
    aligned = {start + (-address_of(start) & (kCopyAlignment - 1)), bytes};
    return Status::ok;
  }

  Status free(DriverCalls& calls) {
    return calls.check(DriverCalls::kFreeHost, calls.api().free_host(memory));
  }
};

/// The pinned memory that a program asked for, for its rings.
class PinnedMemory {
 public:
  static constexpr std::size_t kMost = 16;

  explicit PinnedMemory(DriverCalls& calls) : calls_(calls) {}
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  /// `not_supported` where the product has none, `too_many_objects` after `kMost`, `no_memory`.
  Result<MutableBytes> allocate(std::size_t bytes) {
    if (calls_.api().malloc_host == nullptr || calls_.api().free_host == nullptr)
      return Status::not_supported;
    if (count_ == kMost) return Status::too_many_objects;
    const Status status = all_[count_].allocate(calls_, bytes);
    if (status != Status::ok) return status;
    return all_[count_++].aligned;
  }

  Status close() {
    Status worst = Status::ok;
    for (std::size_t i = 0; i < count_; ++i) {
      if (const Status status = all_[i].free(calls_); status != Status::ok) worst = status;
    }
    count_ = 0;
    return worst;
  }

  bool contains(MutableBytes memory) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const MutableBytes all = all_[i].aligned;
      const Address start = address_of(all.data());
      const Address at = address_of(memory.data());
      if (at >= start && at - start <= all.size() && memory.size() <= all.size() - (at - start)) return true;
    }
    return false;
  }

 private:
  DriverCalls& calls_;
  std::array<Pinned, kMost> all_{};
  std::size_t count_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
