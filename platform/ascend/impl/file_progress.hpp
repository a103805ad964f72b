#pragma once
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "platform/ascend/impl/ended_files.hpp"
#include "platform/ascend/impl/record_start.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// How much of a file has come, and whether a chunk continues it.
class FileProgress {
 public:
  enum class Place : std::uint8_t {
    next,
    again,  ///< its bytes have come before
    torn,   ///< it has more bytes than belong there
    ahead,  ///< bytes before it are missing
  };

  FileProgress() = default;
  explicit FileProgress(const RecordStart& start) {
    if (!start.known()) return;
    least_ = start.least();
    most_ = start.most();
  }

  /// Where a chunk with these bytes belongs. `offset` negative: the chunk does not say where its bytes begin.
  Place place_of(Bytes data, std::int64_t offset) const {
    const std::uint64_t size = data.size();
    if (offset >= 0 && static_cast<std::uint64_t>(offset) != bytes_) {
      const std::uint64_t at = static_cast<std::uint64_t>(offset);
      if (at > bytes_) return Place::ahead;
      return size > bytes_ - at ? Place::torn : Place::again;
    }
    const bool fits = bytes_ <= most_ && size <= most_ - bytes_;
    if (fits) return Place::next;
    return last_ == ChunkPrint::of(data) ? Place::again : Place::torn;
  }

  void add(Bytes data) {
    ++chunks_;
    last_ = ChunkPrint::of(data);
    bytes_ += data.size();
  }

  /// Whether the file may be as long as it is by now, while more is to come or at its end.
  bool is_possible(bool ended) const { return bytes_ <= most_ && (!ended || may_end()); }
  bool may_end() const { return least_ <= bytes_; }

  std::uint32_t chunks() const { return chunks_; }
  const ChunkPrint& last() const { return last_; }

 private:
  std::uint64_t bytes_ = 0;
  std::uint64_t least_ = 0;  ///< bytes, as the file's head says
  std::uint64_t most_ = UINT64_MAX;
  std::uint32_t chunks_ = 0;
  ChunkPrint last_{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
