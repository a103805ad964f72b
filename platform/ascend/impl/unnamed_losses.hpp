#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "platform/ascend/impl/chunk_message.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// Files that were lost while the ring had no room to name them, by the journal and the cause that they
/// belong to. Of more journals and causes than kMost at a time, the last place counts the rest.
class UnnamedLosses {
 public:
  static constexpr std::size_t kMost = 16;

  bool empty() const { return count_ == 0; }

  void add(const ChunkMessage& lost) {
    ChunkMessage& gap = place_of(lost);
    if (gap.count == 0) gap = lost;
    gap.event = ChunkEvent::gap;
    ++gap.count;
  }

  /// Calls `send` with the gaps, which says whether it took one, until it took all or does not take the next.
  template <class Send>
  void send_to(Send send) {
    while (count_ != 0 && send(gaps_[count_ - 1])) gaps_[--count_] = {};
  }

 private:
  ChunkMessage& place_of(const ChunkMessage& lost) {
    for (std::size_t i = 0; i < count_; ++i) {
      ChunkMessage& gap = gaps_[i];
      if (gap.device == lost.device && gap.time == lost.time && gap.cause == lost.cause) return gap;
    }
    return count_ == kMost ? gaps_[kMost - 1] : gaps_[count_++];
  }

  std::array<ChunkMessage, kMost> gaps_{};
  std::size_t count_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
