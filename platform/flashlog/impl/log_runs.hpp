#pragma once
#include <cstdint>
#include <span>

#include "opdump/base/bytes.hpp"
#include "platform/flashlog/block.hpp"
#include "platform/flashlog/device.hpp"
#include "platform/flashlog/format.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// Blocks that a log has erased or taken ahead of its last sync, if it keeps two prepared at most. With more,
/// a loss of power may look like a block that is lost: FlashLog may erase `prepared_blocks` + 2.
inline constexpr std::uint32_t kMostAhead = 4;

/// A block as a piece of a stream.
struct Segment {
  std::uint32_t sequence = 0;
  std::uint32_t block = 0;
  std::uint32_t previous = 0;
  std::uint32_t previous_end = 0;
  std::uint32_t left = 0;      ///< as in BlockStart
  std::uint32_t run_crc = 0;   ///< as in BlockStart
  std::uint32_t given_up = 0;  ///< as its header says
  std::uint32_t boot = 0;      ///< as in BlockStart
  std::uint32_t begin = 0;     ///< offset of the first byte of the stream
  std::uint32_t end = 0;       ///< offset behind the last one
  bool follows = false;        ///< the stream comes from the segment before
  bool starts = false;         ///< a stream begins here
  bool retired = false;        ///< perhaps: a header calls it so, or has no room to
  bool behind_hole = false;    ///< a block that the log had before this one is lost
};

/// A byte of a log.
struct Position {
  std::uint32_t segment = 0;
  std::uint32_t offset = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

/// A way through the log, entry by entry.
struct Walk {
  /// Entries under one CRC.
  struct RunBegin {
    Position at;
    std::uint32_t crc = 0;  // of what the CRC covers before
  };
  struct Reference {
    RunBegin run;
    Position at;  // of the entry
    std::uint32_t bytes = 0;
    bool known = false;
  };
  Position at;
  RunBegin run;                     // the one that was checked
  Position run_end;                 // behind its CRC
  std::uint32_t run_crc = 0;        // of what the next CRC covers before `run_end`
  std::uint32_t first_segment = 0;  // of the stream
  std::uint32_t unreadable_runs = 0;
  Reference directory;
  Reference journal;
};

struct Entry {
  EntryHead head;
  Position begin;
  Position body;
};

/// Is handed the entries of a run while the run is read. What a visitor gathers counts once the CRC of the
/// run has turned out good.
class RunVisitor {
 public:
  Position from{};  ///< what begins before is not of interest

  /// The run is read anew, or another one is.
  virtual void restart(Walk::RunBegin) {}
  virtual void entry(const Entry&) {}
  /// The next bytes of the latest entry's body.
  virtual void body(Bytes) {}

 protected:
  ~RunVisitor() = default;
};

/// For runs that are only looked for, or gone past.
struct NoVisitor final : RunVisitor {};

/// The runs of entries in a log, each under a CRC that was good in the very reading which its bytes come from.
class LogRuns {
 public:
  enum class Run : std::uint8_t { good, bad, broken, none };

  explicit LogRuns(const Device& device) : device_(device) {}

  /// Finds the blocks of the log. Errors and arguments as `LogReader::open`.
  [[nodiscard]] Status open(std::span<Segment> segments, std::uint64_t search_bytes);

  /// In the order of the log. One is `behind_hole` where a block before it was lost otherwise than the log itself
  /// loses blocks: as it goes round, or with power before they were synced. A search finds more of these. The last
  /// block of a boot may be taken for a bad one, where the log has not come past all of those.
  std::span<const Segment> segments() const { return segments_; }
  bool search_ended() const { return search_ended_; }

  /// Hands the entries from `at` up to the next CRC, which covers what has the CRC `crc` before, to
  /// `visitor`, their bodies in pieces that fit `memory`. `at` becomes where they end, if they are `good` or
  /// just their CRC is `bad`. `broken`: they end nowhere; `none`: there is not even a first.
  Run check(Position& at, std::uint32_t crc, RunVisitor& visitor, MutableBytes memory) const;
  Run check(Position& at, std::uint32_t crc, RunVisitor& visitor) const;

  /// Hands what is left of the run at `walk`, or else the next one, to `visitor`. False at the end of the log.
  bool visit(Walk& walk, RunVisitor& visitor) const;

  /// Goes on to entries with a good CRC. False at the end of the log. Damaged bytes decide nothing: whether
  /// the directory is still the same is not known behind them.
  bool find(Walk& walk, RunVisitor& visitor) const;

  /// Goes to the first entry that begins in `segment` or a later one.
  bool resynchronise(Walk& walk, std::uint32_t segment, RunVisitor& visitor) const;

  const Device& device() const { return device_; }
  std::uint32_t block_after(std::uint32_t block) const;

  /// What follows the header `head` of `block`. False when that is no beginning of a segment.
  bool read_segment(std::uint32_t block, const BlockHeader& head, Segment& segment) const;

  /// Whether entries with a good CRC lie in a block that is no segment.
  bool holds_run(std::uint32_t block) const;

  /// Behind `entry`, in the run to which it belongs.
  Position behind(const Entry& entry) const;

  /// Whether a byte from `at` up to `end`, in the same stream, reads as an erased one, or cannot be read.
  bool any_erased(Position at, Position end) const;

 private:
  std::size_t link(std::span<Segment> segments, std::uint32_t given_up) const;
  bool was_overwritten(std::uint32_t block, const Segment& next) const;
  bool read_block(std::uint32_t block, std::uint32_t offset, MutableBytes to) const;

  bool to_next(Position& at) const;
  template <class Use>
  bool for_pieces(Position& at, std::uint32_t bytes, std::size_t most, Use use) const;
  std::uint64_t bytes_between(Position from, Position to) const;
  bool skip(Position& at, std::uint32_t bytes) const;
  bool take(Position& at, MutableBytes to) const;
  template <class T>
  bool take_value(Position& at, T& value) const;
  template <class Use>
  bool take(Position& at, std::uint32_t bytes, MutableBytes memory, Use use) const;
  bool to_entry(Position& at) const;
  bool take_head(Position& at, Entry& entry) const;

  void enter(Walk& walk, std::uint32_t segment) const;
  bool resume(Walk& walk, Position at, RunVisitor& visitor) const;
  bool search(Walk& walk, RunVisitor& visitor) const;

  const Device device_;
  std::span<Segment> segments_;
  mutable std::uint64_t search_left_ = 0;
  mutable bool search_ended_ = false;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
