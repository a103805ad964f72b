#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "platform/host/host_memory.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Plain memory that is read only in registered ranges: a wrong address or length from the runtime loses the
/// record, but neither crashes the product nor puts foreign bytes into the dump. `kRanges` ranges can be
/// registered at once; a copy searches all of them.
///
/// Threads: `add` and `remove` from one context, while no recorder captures.
template <std::size_t kRanges = 16>
class CheckedHostMemory final : public DeviceMemory {
 public:
  /// Registers `memory`. Ranges may overlap; a copy must lie in a single one. `too_many_objects` when
  /// `kRanges` ranges are registered, `invalid_argument` for no bytes; nothing changes then.
  [[nodiscard]] Status add(Bytes memory) {
    if (memory.empty()) return Status::invalid_argument;
    for (Range& range : ranges_) {
      if (range.bytes != 0) continue;
      range = {address_of(memory.data()), memory.size()};
      return Status::ok;
    }
    return Status::too_many_objects;
  }

  /// Removes a range exactly as it was added; `not_registered` if it was not added.
  [[nodiscard]] Status remove(Bytes memory) {
    for (Range& range : ranges_) {
      if (range.start != address_of(memory.data()) || range.bytes != memory.size() || range.bytes == 0)
        continue;
      range = {};
      return Status::ok;
    }
    return Status::not_registered;
  }

  /// `not_registered` when not all the bytes lie in one range.
  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) override {
    if (!contains(from, bytes)) return Status::not_registered;
    return memory_.copy(to, from, bytes);
  }

  /// The same bytes in place; empty when they do not all lie in one range.
  Bytes view(Address from, std::uint64_t bytes) const {
    return contains(from, bytes) ? memory_.view(from, bytes) : Bytes();
  }

 private:
  struct Range {
    Address start = 0;
    std::uint64_t bytes = 0;
  };

  bool contains(Address from, std::uint64_t bytes) const {
    if (bytes == 0) return true;
    for (const Range& range : ranges_) {
      if (from >= range.start && from - range.start < range.bytes &&
          bytes <= range.bytes - (from - range.start)) {
        return true;
      }
    }
    return false;
  }

  HostMemory memory_;
  std::array<Range, kRanges> ranges_{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
