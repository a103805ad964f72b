#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "opdump/base/bytes.hpp"
#include "opdump/port/device_memory.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// A device's memory, and beside it the head of the file that is being captured, which lies with the CPU: a
/// record is then the whole file, byte by byte as the vendor writes it. Copies at once, whatever `Memory` can
/// do in the background: the task waits in any case.
template <class Memory>
class OpMemory final : public DeviceMemory {
 public:
  static constexpr std::size_t kHeadParts = 3;

  explicit OpMemory(Memory& memory) : memory_(memory) {}

  /// Sets the parts of the head, which stay until the record is captured.
  void set_head(const std::array<Bytes, kHeadParts>& head) { head_ = head; }

  /// Where part `i` of the head is for `copy`. No device of 64 bits or less has such addresses.
  static constexpr Address head_address(std::size_t i) { return kHead | Address{i} << kPartShift; }

  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) override {
    if (!is_head(from)) return memory_.copy(to, from, bytes);
    const Bytes part = view_head(from, bytes);
    if (part.size() != bytes) return Status::device_copy_failed;
    copy_bytes(to, part);
    return Status::ok;
  }

  Bytes view(Address from, std::uint64_t bytes) const requires ViewableMemory<Memory> {
    return is_head(from) ? view_head(from, bytes) : memory_.view(from, bytes);
  }

  Status fence(std::uint32_t stream_id) requires FencedMemory<Memory> { return memory_.fence(stream_id); }

  void will_read(Address from, std::uint64_t bytes) requires CachedMemory<Memory> {
    if (!is_head(from)) memory_.will_read(from, bytes);
  }

  CopyRules copy_rules() const requires RuledMemory<Memory> { return memory_.copy_rules(); }

  DriverError driver_error() const requires ExplainingMemory<Memory> { return memory_.driver_error(); }

 private:
  static constexpr Address kHead = Address{1} << 63;
  static constexpr unsigned kPartShift = 40;

  static constexpr bool is_head(Address address) { return (address & kHead) != 0; }

  Bytes view_head(Address from, std::uint64_t bytes) const {
    const std::size_t part = static_cast<std::size_t>((from & ~kHead) >> kPartShift);
    const Address at = from & ((Address{1} << kPartShift) - 1);
    if (part >= kHeadParts || at > head_[part].size() || bytes > head_[part].size() - at) return {};
    return head_[part].subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(bytes));
  }

  Memory& memory_;
  std::array<Bytes, kHeadParts> head_{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
