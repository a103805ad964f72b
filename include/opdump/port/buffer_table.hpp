#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Gives addresses to buffers that have only handles: each buffer gets a range of 2^40 bytes of its own, in
/// which offsets are added as in memory. An access outside every buffer is found out. The number of a removed
/// buffer is used again. For device memories; `kBuffers` is how many buffers there can be at once.
template <class Buffer, std::size_t kBuffers>
class BufferTable {
 public:
  static constexpr unsigned kOffsetBits = 40;
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << kOffsetBits;
  static_assert(kBuffers >= 1 && kBuffers < (std::size_t{1} << 20));

  struct Entry {
    std::uint64_t bytes = 0;  ///< 0: free
    Buffer buffer{};
  };

  /// Where an address points to.
  struct Place {
    Entry* entry = nullptr;  ///< null: outside every buffer
    std::size_t offset = 0;
  };

  /// The address of the buffer's first byte. `invalid_argument` for no bytes or more than kMaxBytes,
  /// `too_many_objects` when every entry is taken.
  Result<Address> add(const Buffer& buffer, std::uint64_t bytes) {
    if (bytes == 0 || bytes > kMaxBytes) return Status::invalid_argument;
    for (std::size_t i = 0; i < kBuffers; ++i) {
      if (entries_[i].bytes != 0) continue;
      entries_[i] = {bytes, buffer};
      return static_cast<Address>(i + 1) << kOffsetBits;
    }
    return Status::too_many_objects;
  }

  /// Removes the buffer.
  void remove(Entry& entry) { entry = {}; }

  /// Where `bytes` bytes from `address` on lie; nowhere, unless all of them are in one buffer.
  Place find(Address address, std::uint64_t bytes) {
    const std::uint64_t number = address >> kOffsetBits;
    const std::uint64_t offset = address & (kMaxBytes - 1);
    if (number == 0 || number > kBuffers) return {};
    Entry& entry = entries_[static_cast<std::size_t>(number - 1)];
    if (offset >= entry.bytes || bytes > entry.bytes - offset) return {};
    return {&entry, static_cast<std::size_t>(offset)};
  }

  std::array<Entry, kBuffers>& entries() { return entries_; }

 private:
  std::array<Entry, kBuffers> entries_{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
