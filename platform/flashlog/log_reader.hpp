#pragma once
#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "platform/flashlog/device.hpp"
#include "platform/flashlog/format.hpp"
#include "platform/flashlog/impl/log_runs.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

enum class ObjectState : std::uint8_t {
  committed,    ///< whole
  aborted,      ///< given up by the writer
  torn,         ///< never ended: power went, or the log was full
  damaged,      ///< ended, but bytes of it or its directory are lost
  overwritten,  ///< ended, but its beginning, with its name, is gone, or that of the other one of its pair
  lines,        ///< not an object: bytes that were added to a journal
};

/// Reads a log from a device or an image of it, which nobody vouches for: each byte that is given out stands under a
/// CRC that was good in the very reading which the byte comes from, and damage costs what it hit. So bytes that read
/// differently from time to time cost no more than damaged ones. A read that fails is tried again.
///
///     LogReader reader(device, names);
///     Status status = reader.open(segments);
///     for (LogReader::Object object; reader.next(object);) ...
///
/// The objects of one boot lie between those of the boots before and after. Of a pair, both count or neither, in an
/// image or wherever bytes read the same each time; a commit that a loss of power left undecided in the part may
/// count for one and, a moment later, not for the other: read such a part into an image first. Not thread-safe; the
/// log must not be written meanwhile. For hosts: the bodies are in log_reader.cpp, which libopdump has.
class LogReader {
 public:
  struct Object {
    ObjectState state = ObjectState::torn;
    std::string_view directory;    ///< in the reader's memory, until the next call of `next`
    std::string_view file;         ///< likewise; empty when it is not known
    bool directory_known = false;  ///< false: damage has taken it
    std::uint64_t bytes = 0;       ///< that `read` gives
    std::uint32_t number = 0;
    std::uint32_t boot = 0;  ///< `FlashLog::boot` of the boot that wrote it
    Walk walk;               ///< behind the object's first entry
  };

  /// `device` needs only its geometry, `read` and context. `names` holds one directory and file name; a
  /// quarter of a block is always enough.
  LogReader(const Device& device, std::span<char> names) : runs_(device), names_(names) {}

  /// Looks at the start of each block; `invalid_argument` when `is_usable` does not hold. `segments` has room
  /// for one per block (`no_memory`) and stays the reader's. `search_bytes`: after damage, look for the next
  /// good entry at every byte instead of in the next block, which loses less, until that many bytes have been
  /// read for it in all; `search_ended` then tells.
  [[nodiscard]] Status open(std::span<Segment> segments, std::uint64_t search_bytes = 0);

  /// Gives the next object in the order of their beginnings, or journal lines in the order in which they were
  /// written. False after the last.
  bool next(Object& object);

  /// Calls `use(Bytes)` with the object's bytes in order, in pieces that fit `memory`, while it returns true.
  /// An object that is not committed gives what is left of it. `io_error` when the device fails, or reads
  /// other bytes than before: what was given is void then.
  template <class Use>
  [[nodiscard]] Status read(const Object& object, MutableBytes memory, Use use) const {
    return read_pieces(object, memory,
                       {[](void* to, Bytes bytes) { return (*static_cast<Use*>(to))(bytes); }, &use});
  }

  /// The entries, for who looks at more than objects.
  const LogRuns& runs() const { return runs_; }

  /// Blocks that hold a part of the log.
  std::span<const Segment> segments() const { return runs_.segments(); }

  /// Runs of entries so far whose CRC is missing or wrong: one at the end of each stream that a loss of power
  /// cut short, one at its beginning if that is overwritten, and damage.
  std::uint32_t unreadable_runs() const { return walk_.unreadable_runs; }

  /// Whether more could perhaps be found by searching longer.
  bool search_ended() const { return runs_.search_ended(); }

 private:
  class Finder;

  struct PieceUse {
    bool (*use)(void* to, Bytes bytes);
    void* to;
  };
  Status read_pieces(const Object& object, MutableBytes memory, PieceUse use) const;

  void follow(Object& object) const;
  ObjectState state_with(std::uint32_t partner, const Walk& pair) const;
  void name_object(const Entry& entry, Object& object);
  void name_journal(Object& object);
  MutableBytes place_for_file(std::size_t bytes);
  bool load(const Walk::Reference& reference, std::size_t taken, std::string_view& name);

  LogRuns runs_;
  std::span<char> names_;
  bool ended_ = true;
  Walk walk_;
  std::bitset<kObjectNumbers> begun_;  // and not ended, in the stream below
  std::uint32_t begun_in_ = 0;
  Walk::Reference cached_;  // the directory or journal at the beginning of `names_`
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
