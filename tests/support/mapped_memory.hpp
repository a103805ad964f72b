#pragma once
#include <cstddef>
#include <cstdint>
#include <map>

#include "opdump/port/device_memory.hpp"

namespace opdump::tests {

/// A backend whose tensors have addresses of the test's own, as records tell the address and a device gives
/// out others than the host. Offers what `Memory` does.
template <class Memory>
class MappedMemory final : public DeviceMemory {
 public:
  struct NoCopy {};
  template <class M>
  struct CopyOf {
    using Type = NoCopy;
    static constexpr std::size_t kMost = 0;
  };
  template <AsyncMemory M>
  struct CopyOf<M> {
    using Type = typename M::Copy;
    static constexpr std::size_t kMost = M::kMaxCopies;
  };
  using Copy = typename CopyOf<Memory>::Type;
  static constexpr std::size_t kMaxCopies = CopyOf<Memory>::kMost;

  explicit MappedMemory(Memory& memory) : memory_(memory) {}

  /// Makes `bytes` bytes at `real` known at `address`.
  void map(Address address, Address real, std::size_t bytes) { ranges_[address] = {real, bytes}; }

  Status copy(std::byte* to, Address from, std::size_t bytes) override {
    return memory_.copy(to, find(from, bytes), bytes);
  }

  Status start(Copy& copy, std::byte* to, Address from, std::size_t bytes) requires AsyncMemory<Memory> {
    return memory_.start(copy, to, find(from, bytes), bytes);
  }
  Result<bool> poll(Copy& copy) requires AsyncMemory<Memory> { return memory_.poll(copy); }
  Result<bool> complete(Copy& copy, std::uint32_t limit_ms) requires AsyncMemory<Memory> {
    return memory_.complete(copy, limit_ms);
  }
  CopyRules copy_rules() const requires RuledMemory<Memory> { return memory_.copy_rules(); }
  Status fence(std::uint32_t stream_id) requires FencedMemory<Memory> { return memory_.fence(stream_id); }
  std::uint32_t device_id() const requires IdentifiedMemory<Memory> { return memory_.device_id(); }

 private:
  struct Range {
    Address real;
    std::size_t bytes;
  };

  /// 0, which no backend reads, for what is not mapped.
  Address find(Address from, std::size_t bytes) const {
    auto range = ranges_.upper_bound(from);
    if (range == ranges_.begin()) return 0;
    --range;
    const Address offset = from - range->first;
    const bool inside = offset <= range->second.bytes && bytes <= range->second.bytes - offset;
    return inside ? range->second.real + offset : 0;
  }

  Memory& memory_;
  std::map<Address, Range> ranges_;
};

}  // namespace opdump::tests
