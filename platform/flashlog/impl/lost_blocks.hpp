#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "opdump/base/bytes.hpp"
#include "platform/flashlog/block.hpp"
#include "platform/flashlog/device.hpp"
#include "platform/flashlog/format.hpp"
#include "platform/flashlog/impl/log_runs.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// The blocks that headers of a log call retired. When there is no room for more, each block may be.
class RetiredBlocks {
 public:
  void add(const Header& header) {
    for (std::uint32_t i = 0; i < header.head.retired_count; ++i) {
      const auto block = load_little_endian<std::uint16_t>(&header.rest[2 * i]);
      if (!may_have(block)) blocks_[count_++] = block;
    }
  }

  bool may_have(std::uint32_t block) const {
    const auto end = blocks_.begin() + count_;
    return count_ == blocks_.size() || std::find(blocks_.begin(), end, block) != end;
  }

 private:
  std::array<std::uint16_t, kMaxRetired> blocks_{};
  std::uint32_t count_ = 0;
};

/// Finds behind which segments of a log a block is lost.
class LostBlocks {
 public:
  LostBlocks(const LogRuns& runs, std::span<Segment> segments, const RetiredBlocks& retired)
      : runs_(runs), segments_(segments), retired_(retired) {}

  /// Says of each segment whether it is `behind_hole`.
  void mark();

 private:
  struct Gap;
  static bool is_known(std::uint32_t unread, std::optional<std::uint32_t> known, std::uint32_t passed);
  std::uint32_t passed_before(std::uint32_t segment) const;
  std::uint32_t unread_at_mount(std::uint32_t segment) const;
  bool is_first(std::uint32_t segment) const;
  std::uint32_t find_bad() const;
  bool went_round() const;
  bool is_behind_hole(std::uint32_t segment, std::uint32_t bad) const;
  bool may_be_erased_ahead() const;
  bool may_be_unsynced(std::uint32_t segment) const;
  void look_between(std::uint32_t block, const Segment& next, Gap& gap) const;
  void look_into(std::uint32_t block, BlockUse use, const Header& header, Gap& gap) const;
  const Device& device() const { return runs_.device(); }
  std::uint32_t block_after(std::uint32_t block) const { return runs_.block_after(block); }

  const LogRuns& runs_;
  const std::span<Segment> segments_;
  const RetiredBlocks& retired_;
  bool is_later_round_ = false;  // blocks have been written a second time
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
