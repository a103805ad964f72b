#pragma once
/// The format of a flash log, and of the area of a history. Numbers are little-endian, offsets in bytes.
///
/// *Blocks.* The part is divided into erase blocks of equal size. A block in use begins with a BlockHeader:
///
///      0  u32  magic, "OPFL"
///      4  u8   version of the format, 1, times 2, plus 1 in a log, not in a history
///      5  u8   what an erased byte reads as, 0xff or 0x00
///      6  u16  bytes of this header, CRC included
///      8  u32  sequence number; grows with each block that is taken into use, from 1; each mount passes over
///              256 numbers for each block that it cannot read
///     12  u32  bytes of an erase block
///     16  u16  number of blocks
///     18  u16  index of this block, from 0
///     20  u16  bytes that are programmed at once (the granule)
///     22  u16  number n of retired blocks
///     24  u16  index of each retired block, n times
///   24+2n u32  given up: a sequence number, see below
///   28+2n u32  CRC-32 of all before
///
/// Magic, version and header length stay where they are in every version. The header with the highest
/// sequence number has the valid list of retired blocks.
///
/// *Given up.* A header names the highest number among the blocks that may be erased before another block is
/// taken into use, or 0 if there are none, as in a log that stops when it is full. It is on the flash before
/// any of them is erased. A retired block is never erased, so what the start in the next block had declared
/// void in it would count again once that block is erased. A reader takes the highest number that a block
/// which holds more than a header gives up, where it is lower than that block's own. A block up to that
/// number is void, with all that comes before it in the log, if
/// (1) a header lists it as retired, or the headers list 16 blocks or more;
/// (2) the next start in the log does not name it as the block written before;
/// (3) the header of that start's block gives up a higher number than the block's, or a block between the
///     two, in the order of their indexes, holds no header, or one with a higher number than that of the
///     start's block.
///
/// After it, or at the next multiple of the granule if the byte after it is erased, stands a BlockStart. A
/// block without one was prepared ahead and is empty:
///
///      0  head of an entry of kind 1, number 0, with a body of 20 bytes
///      4  u32  sequence number of the block written before; blocks numbered between the two are void
///      8  u32  offset in that block at which the stream goes on here, what follows there is void; all ones
///              if a new stream begins here
///     12  u32  bytes here that still belong to the entry which began before this block, times 2, plus 1 if
///              it ends with a CRC; 0 if there is none, all ones if that is not known
///     16  u32  the CRC-32 that covers this entry, of its bytes up to here and all that it covers before
///     20  u32  boot: the same number in all blocks that were written between two mounts, higher than those
///              of the boots before
///     24  u32  CRC-32 of all before in this list
///
/// *Stream.* All after the starts is one stream of bytes, cut wherever a block ends or could not be
/// programmed any further. Each mount of the log begins a new stream; the objects of the older one that were
/// not committed by then never will be.
///
/// *Entries.* The stream is a sequence of entries. Where one would begin and the byte is erased, the rest of
/// the granule is void, or the rest of the block where a granule begins. An entry:
///
///      0  u16, its high byte first: kind (4 bits), object number (12 bits)
///      2  u16  bytes n of the body
///      4  n    body
///    4+n  u32  CRC-32, if the entry ends with one
///
///   kind         number  body                              CRC
///   2 directory  0       directory of the objects below    no
///   3 begin      object  file name                         no
///   4 data       object  next bytes of the object          if n >= 512
///   5 commit     object  u32, bytes of the object          yes
///   6 abort      object  nothing                           yes
///   7 journal    0       directory, '/', name of journal   no
///   8 lines      0       bytes added to that journal       yes
///   9 with next  object  u32, bytes of the object          no
///
/// Kind 9 commits an object as kind 5 does, and is followed by the commit of another one under the same CRC:
/// so both count or neither: if bytes of one are missing, or its beginning is overwritten, the other one does
/// not count either.
///
/// A CRC covers all entries since the last CRC or the beginning of the stream, its own entry included. What
/// no valid CRC follows does not count. A directory or journal holds up to the next of its kind, and is given
/// again before it is needed in each block, and behind a granule that was programmed in parts: a part that is
/// lost reads as void. Up to 255 objects are open at once, no two of one number. Other kinds are not written.
///
/// *Histories.* In the area of a history there are these entries besides, all of number 0:
///
///   kind            body                                   CRC
///   10 step         StepMark: a step begins                yes
///   11 facts        FactsHead and a root: of the object    no
///                   that begins next
///   12 written out  WrittenOutMark                         yes
///
/// Steps count from 1 in each boot. A step that has come already just ends the CRC before it.
#include <cstddef>
#include <cstdint>

#include "opdump/base/bytes.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::uint32_t kMagic = 0x4c46504fu;
inline constexpr std::uint8_t kVersion = 1;
/// What a header says of its block: the version times 2, plus 1 in a log, not in the area of a history.
inline constexpr std::uint8_t kLogFormat = 2 * kVersion + 1;
inline constexpr std::uint8_t kHistoryFormat = 2 * kVersion;

/// An integer as it lies on the flash.
template <class T>
class Little {
 public:
  Little() = default;
  Little(T value) { store_little_endian(bytes_, value); }
  operator T() const { return load_little_endian<T>(bytes_); }

 private:
  std::byte bytes_[sizeof(T)];
};

struct BlockHeader {
  Little<std::uint32_t> magic;
  std::uint8_t format;
  std::byte erased;
  Little<std::uint16_t> bytes;
  Little<std::uint32_t> sequence;
  Little<std::uint32_t> block_bytes;
  Little<std::uint16_t> block_count;
  Little<std::uint16_t> block;
  Little<std::uint16_t> program_bytes;
  Little<std::uint16_t> retired_count;
};

static_assert(sizeof(BlockHeader) == 24 && alignof(BlockHeader) == 1);
static_assert(offsetof(BlockHeader, magic) == 0 && offsetof(BlockHeader, format) == 4);
static_assert(offsetof(BlockHeader, erased) == 5 && offsetof(BlockHeader, bytes) == 6);
static_assert(offsetof(BlockHeader, sequence) == 8 && offsetof(BlockHeader, block_bytes) == 12);
static_assert(offsetof(BlockHeader, block_count) == 16 && offsetof(BlockHeader, block) == 18);
static_assert(offsetof(BlockHeader, program_bytes) == 20 && offsetof(BlockHeader, retired_count) == 22);

/// Values of 1 to 14 only: so the first byte of an entry is never an erased one.
enum class Kind : std::uint8_t {
  start = 1,
  directory = 2,
  begin = 3,
  data = 4,
  commit = 5,
  abort = 6,
  journal = 7,
  lines = 8,
  commit_with_next = 9,
  step = 10,
  facts = 11,
  written_out = 12,
};

inline constexpr std::uint32_t kObjectNumbers = 0x1000;
inline constexpr std::uint32_t kMaxBody = 0xffff;
inline constexpr std::uint32_t kCrcBytes = 4;
inline constexpr std::uint32_t kMinSealedData = 512;

/// A mount passes over so many numbers for each block that it cannot read: more than are given out while one
/// block is written.
inline constexpr std::uint32_t kUnreadableNumbers = 256;
inline constexpr std::uint32_t kUnknownLeft = 0xffffffffu;
inline constexpr std::uint32_t kNewStream = 0xffffffffu;

/// Kind and object number as one number.
constexpr std::uint32_t entry_of(Kind kind, std::uint32_t number) {
  return static_cast<std::uint32_t>(kind) << 12 | number % kObjectNumbers;
}

/// Whether an entry ends with a CRC.
constexpr bool is_sealed(Kind kind, std::uint32_t body_bytes) {
  constexpr std::uint32_t always = 1u << static_cast<int>(Kind::commit) |
                                   1u << static_cast<int>(Kind::abort) | 1u << static_cast<int>(Kind::lines) |
                                   1u << static_cast<int>(Kind::step) |
                                   1u << static_cast<int>(Kind::written_out);
  return (always >> static_cast<int>(kind) & 1) != 0 || (kind == Kind::data && body_bytes >= kMinSealedData);
}

class EntryHead {
 public:
  EntryHead() = default;
  EntryHead(std::uint32_t entry, std::uint32_t body_bytes)
      : kind_and_number_(static_cast<std::uint16_t>(entry >> 8 | entry << 8)),
        bytes_(static_cast<std::uint16_t>(body_bytes)) {}

  Kind kind() const { return static_cast<Kind>(kind_and_number_ >> 4 & 0xf); }
  std::uint32_t number() const { return (kind_and_number_ & 0xfu) << 8 | kind_and_number_ >> 8; }
  std::uint32_t body_bytes() const { return bytes_; }

  bool sealed() const { return is_sealed(kind(), body_bytes()); }

 private:
  Little<std::uint16_t> kind_and_number_;
  Little<std::uint16_t> bytes_;
};

static_assert(sizeof(EntryHead) == 4 && alignof(EntryHead) == 1);

struct BlockStart {
  static constexpr std::uint32_t kBodyBytes = 20;

  EntryHead head;
  Little<std::uint32_t> previous;
  Little<std::uint32_t> previous_end;
  Little<std::uint32_t> left;
  Little<std::uint32_t> run_crc;
  Little<std::uint32_t> boot;
  Little<std::uint32_t> crc;
};

static_assert(sizeof(BlockStart) == 28 && alignof(BlockStart) == 1);
static_assert(offsetof(BlockStart, previous) == 4 && offsetof(BlockStart, previous_end) == 8);
static_assert(offsetof(BlockStart, left) == 12 && offsetof(BlockStart, run_crc) == 16 &&
              offsetof(BlockStart, boot) == 20 && offsetof(BlockStart, crc) == 24);

struct StepMark {
  Little<std::uint64_t> step;
};
static_assert(sizeof(StepMark) == 8 && alignof(StepMark) == 1);

/// The ObjectFacts of an object; a root of the rest of the body follows.
struct FactsHead {
  Little<std::uint64_t> step;
  Little<std::uint64_t> unix_us;
  Little<std::uint32_t> load;
  std::uint8_t kind;
  std::uint8_t dump_bytes;
};
static_assert(sizeof(FactsHead) == 22 && alignof(FactsHead) == 1);

/// Why a history was written out.
enum class WriteOutCause : std::uint8_t {
  none,
  call,      ///< the program asked for it
  overflow,  ///< an object that reports one came
  failure,   ///< so did one of an operator that failed
  remains,   ///< what was found after a boot
  trigger,   ///< one of the config fired
};

/// Of `boot`, all steps from `first` to `last` were handed to the sink: `objects`, and `lost` were not,
/// because the sink refused them or the flash did not give them back.
struct WrittenOutMark {
  Little<std::uint64_t> first;
  Little<std::uint64_t> last;
  Little<std::uint32_t> boot;
  Little<std::uint32_t> objects;
  Little<std::uint32_t> lost;
  WriteOutCause cause;
};
static_assert(sizeof(WrittenOutMark) == 29 && alignof(WrittenOutMark) == 1);

/// Retired blocks that a header has room for. One more is found out again each time its turn comes.
inline constexpr std::uint32_t kMaxRetired = 16;
/// Of a header behind its retired blocks: what is given up, and the CRC.
inline constexpr std::uint32_t kHeaderEndBytes = 4 + kCrcBytes;
/// No header is longer.
inline constexpr std::uint32_t kMaxHeaderBytes = sizeof(BlockHeader) + 2 * kMaxRetired + kHeaderEndBytes;
static_assert(kMaxHeaderBytes == 64);

constexpr std::uint32_t round_up(std::uint32_t value, std::uint32_t step) {
  return (value + step - 1) / step * step;
}

template <class T>
Bytes bytes_of(const T& object) {
  return {reinterpret_cast<const std::byte*>(&object), sizeof object};
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
