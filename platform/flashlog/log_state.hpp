#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/build.hpp"
#include "opdump/base/status.hpp"
#include "opdump/port/sink.hpp"
#include "platform/flashlog/device.hpp"
#include "platform/flashlog/format.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// What happens when every block is in use.
enum class Policy : std::uint8_t {
  stop_when_full,    ///< what is there stays; new bytes are refused with `no_space`, journals' lines last
  overwrite_oldest,  ///< the block written longest ago is erased
};

struct Options {
  Policy policy = Policy::overwrite_oldest;
  bool verify = false;               ///< reads back all that was programmed or erased
  std::uint8_t prepared_blocks = 1;  ///< that `prepare` keeps ready
  /// Erases until the next mount; then `no_space`. 0: `FlashLog::erase_ahead` alone erases.
  std::uint32_t erase_budget = UINT32_MAX;
};

/// What a log is given, and whether it works.
struct LogSetup {
  const Device& device_;
  std::byte* const page_;
  const std::uint32_t page_bytes_;
  Options options_;
  Status stuck_;               // why nothing can be written any more
  const std::uint8_t format_;  // as in BlockHeader
  std::uint16_t free_ = 0;     // blocks that can be taken and hold nothing
};

/// What a log remembers beside its page. All is zero before the mount, which takes less code than a value for each.
struct LogState {
  static constexpr std::uint16_t kLost = 0;
  static constexpr std::uint32_t kOpen = 0x8000;

  struct Object {
    Little<std::uint32_t> bytes;
    std::uint16_t number;  // with kOpen, or that of the last one
    std::uint16_t begun;   // in the block of this number less 1; kLost: it has failed
  };

  /// An entry in the current block that later ones refer to.
  struct Reference {
    std::uint32_t offset;  // 0: none
    std::uint32_t bytes;
  };

  std::uint32_t cursor_;         // the block that the rotation has reached
  std::uint32_t block_;          // the one being written
  std::uint32_t sequence_;       // of the newest block that was taken, or the highest at the mount
  std::uint32_t last_sequence_;  // the highest given out
  std::uint32_t boot_;
  std::uint32_t erased_;  // a block that is erased and has no header yet
  std::uint32_t erases_;
  mutable std::uint32_t found_;  // by the latest look ahead
  std::uint16_t failures_;       // blocks that were tried since the last good program
  std::uint16_t retired_count_;

  std::uint32_t at_;         // where in the block the page begins, a multiple of the granule
  std::uint32_t used_;       // bytes in the page
  std::uint32_t kept_;       // of these, programmed before; they are erased bytes in the page
  std::uint32_t prefix_;     // bytes of header and start, if they are in the page and not programmed yet
  std::uint32_t left_;       // of the entry being written, as in BlockStart
  std::uint32_t crc_;        // of the bytes since the last CRC
  std::uint32_t page_left_;  // both when the page was empty
  std::uint32_t page_crc_;

  /// Who commits two at once asks.
  [[no_unique_address]] Maybe<build::kFaults, bool> in_emergency_;
  Reference references_[2];  // the directory, the journal
  Object objects_[kMaxOpenObjects];
  Little<std::uint16_t> retired_[kMaxRetired];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
