#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "opdump/base/crc32.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// Enough of a chunk's bytes to know the same ones again: how many, the first, and the last.
struct ChunkPrint {
  std::uint32_t bytes = 0;
  std::uint32_t crc = 0;

  static ChunkPrint of(Bytes data) {
    constexpr std::size_t kEnd = 2048;
    const std::size_t end = data.size() < kEnd ? data.size() : kEnd;
    return {static_cast<std::uint32_t>(data.size()), crc32(crc32(0, data.first(end)), data.last(end))};
  }
  friend constexpr bool operator==(const ChunkPrint&, const ChunkPrint&) = default;
};

/// The latest files of which no chunk is expected any more.
class EndedFiles {
 public:
  enum class End : std::uint8_t { unknown, whole, lost, unwanted };

  struct Entry {
    std::uint64_t id = 0;
    ChunkPrint last{};
    End end = End::unknown;
  };

  void add(const Entry& entry) {
    for (Entry& known : entries_) {
      if (known.end != End::unknown && known.id == entry.id) {
        known = entry;
        return;
      }
    }
    entries_[next_] = entry;
    next_ = (next_ + 1) % kMost;
  }

  /// `End::unknown` if it is none of them.
  Entry find(std::uint64_t id) const {
    for (const Entry& entry : entries_) {
      if (entry.end != End::unknown && entry.id == id) return entry;
    }
    return {};
  }

 private:
  static constexpr std::size_t kMost = 512;

  std::array<Entry, kMost> entries_{};
  std::size_t next_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
