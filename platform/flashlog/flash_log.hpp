#pragma once
#include <cstdint>

#include "opdump/base/bytes.hpp"
#include "opdump/types/config.hpp"
#include "platform/flashlog/device.hpp"
#include "platform/flashlog/dumped_log.hpp"
#include "platform/flashlog/log_state.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// A dump in raw flash, without a file system: an append-only log of objects and journals, in the format of
/// format.hpp. The root of a name is left out; LogReader gives the objects back.
///
/// *What survives a loss of power.* Each object whose commit came before a `sync` that returned `ok`; of
/// later ones, each is there whole or counts as never committed. A mount begins a new block when the first
/// byte is written: what lies behind the last sync may be half programmed and is not built upon.
///
/// *overwrite_oldest* takes objects, oldest first and only whole: one whose first byte is overwritten counts
/// as overwritten, and the bytes that are left of it as nothing. So a session larger than the part keeps its
/// newest objects and journal lines; `opdump verify` tells from which sequence number on all is there. One
/// object may take half of the part: `no_space` beyond that, so that it cannot push out all the others; an
/// open object whose first byte is about to be overwritten fails likewise.
///
/// *stop_when_full* keeps what is there, and leaves its last block, or blocks of 2 KiB together (512 bytes in a small
/// build), to journals: so they tell what is refused, of each recorder the first records by their names and the
/// others together (DrainLedger). A boot takes a block at least; one that finds none that is free has no journal.
///
/// *Wear.* Blocks are used in the order of their numbers, round and round, so none is erased more often than
/// another; a loss of power has up to `prepared_blocks` + 2 of them erased once more, which were erased and
/// had nothing yet that was sure to stay. A block that fails to program or erase is retired: it is not
/// written again, its readable part counts until the next block is overwritten, and what it did not take goes
/// to that one; nothing is lost. The next block's header remembers it. Each header also says which blocks may
/// be overwritten before another one is taken, so what did not count in a retired block never does later.
/// That holds for a log that keeps its `prepared_blocks`, and unless a block before the retired one fails to
/// be erased in the very turn in which power is lost.
///
/// *Time.* `prepare` does at most one program or one erase. `append` does one program per page of bytes, and
/// `begin`, `commit`, `abort` and `append_lines` likewise; each does one more program and one more erase per
/// block it enters that was not prepared. `sync` does one program. A call that moves n bytes out of rings
/// adds `most_bytes(n, records)` at most to the log: where a block has room for that, one `drain_some` or
/// `finalize_some` erases one block at most, and none if the next one is prepared. Each block that fails
/// costs the call in which it does one erase and two programs more. Of reads, a block that is entered
/// prepared costs as many as it has bytes, in pieces of 16, as it must be blank, and the next header one for
/// each prepared block. `mount` reads twice from each block, and once more from each that is free. With `verify`
/// what is programmed or erased is read as well. A FedDevice feeds a watchdog meanwhile.
///
/// *Erases at a time of the caller's choice.* With an `Options::erase_budget` of 0 no call erases but
/// `erase_ahead`, and a drain that is bounded never waits for an erase:
///
///     constexpr std::uint32_t kMost = FlashLog::most_bytes(kBudget + 255, kRecords);
///     while (log.ready_bytes() < kMost && log.erase_ahead().value()) {
///     }
///     if (log.ready_bytes() >= kMost) session.drain_some(kBudget);
///
/// where all `prepared_blocks` together must have room for `kMost`, and a drain finds `kRecords` at most: that
/// many are captured between two, or `kBudget` / n + 2, where none takes less than n bytes of a ring. What is
/// written without such room is refused with `no_space`, and its records are counted as lost.
///
/// *RAM.* The page and kPrefixBytes, which the caller gives, and this object. No heap. Not thread-safe;
/// several logs work side by side. Two objects of one name are both kept.
class FlashLog final : public DumpedLog {
 public:
  /// `device` and `memory` are the log's as long as it lives. `memory` is `kPrefixBytes` and a page, whose
  /// size is a multiple of the granule, at least `kMinPageBytes`, and divides the block's.
  constexpr FlashLog(const Device& device, MutableBytes memory, const Options& options)
      : DumpedLog(device, memory, options) {}
  FlashLog(const Device&&, MutableBytes, const Options&) = delete;  // it would end before the log

  /// See ConfigurableSink. `keep` counts instead of the policy that the log was made with; for limits, for
  /// `fsync` of each record, for `history_steps` and for `seal` it is `not_supported`: the part is the limit,
  /// and a SealedSink seals.
  [[nodiscard]] Status follow(const DumpOptions& options, JournalDetail /*journal*/) {
    if (!build::kEnabled) return Status::ok;
    if (asks_files(options)) return Status::not_supported;
    if (options.keep)
      options_.policy = *options.keep == Keep::oldest ? Policy::stop_when_full : Policy::overwrite_oldest;
    return Status::ok;
  }
};

#if UINTPTR_MAX == UINT32_MAX
static_assert(FlashLog::kMaxOpenObjects > 2 || sizeof(FlashLog) + FlashLog::kPrefixBytes <= 256);
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
