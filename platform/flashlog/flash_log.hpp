#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include "opdump/crc32.hpp"
#include "opdump/sink.hpp"
#include "platform/flashlog/block.hpp"
#include "platform/flashlog/device.hpp"
#include "platform/flashlog/format.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// What happens when every block is in use.
enum class Policy : std::uint8_t {
  stop_when_full,    ///< what is there stays; new bytes are refused with `no_space`
  overwrite_oldest,  ///< the block written longest ago is erased
};

struct Options {
  Policy policy = Policy::overwrite_oldest;
  bool verify = false;                      ///< reads back all that was programmed or erased
  std::uint8_t prepared_blocks = 1;         ///< that `prepare` keeps ready
  std::uint32_t erase_budget = UINT32_MAX;  ///< erases until the next mount; then `no_space`
};

/// A dump in raw flash, without a file system: an append-only log of objects and journals, in the format of
/// format.hpp. The root of a name is left out; LogReader gives the objects back.
///
/// *What survives a loss of power.* Each object whose commit came before a `sync` that returned `ok`; of
/// later ones, each is there whole or counts as never committed. A mount begins a new block when the first
/// byte is written: what lies behind the last sync may be half programmed and is not built upon.
///
/// *overwrite_oldest* takes objects, oldest first and only whole: one whose first byte is overwritten counts
/// as overwritten, and the bytes that are left of it as nothing. So a session larger than the part keeps its
/// newest objects, and the journal in it tells which ones are gone. One object may take half of the part:
/// `no_space` beyond that, so that it cannot push out all the others; an open object whose first byte is
/// about to be overwritten fails likewise.
///
/// *Wear.* Blocks are used in the order of their numbers, round and round, so none is erased more often than
/// another; a loss of power during an erase costs that block one more. A block that fails to program or
/// erase is retired: it is not written again, its readable part stays readable, and what it did not take goes
/// to the next block; nothing is lost. The next block's header remembers it.
///
/// *Time.* `prepare` does at most one program or one erase. `append` does one program per page of bytes, and
/// `begin`, `commit`, `abort` and `append_journal` likewise; each does one more erase per block it enters
/// that was not prepared, and after a failure what the next block needs. `sync` does one program.
///
/// *RAM.* The page and kPrefixBytes, which the caller gives, and this object. No heap. Not thread-safe;
/// several logs work side by side. Two objects of one name are both kept.
class FlashLog final : public Sink {
 public:
  /// A page is programmed at once; larger pages mean fewer programs.
  static constexpr std::uint32_t kMinPageBytes = 128;

  /// Room before the page, for what a block begins with.
  static constexpr std::uint32_t kPrefixBytes = kMaxHeaderBytes + sizeof(BlockStart);

  /// One per recorder, and a report beside the record that it belongs to.
  static constexpr std::uint32_t kMaxOpenObjects = OPDUMP_MAX_RECORDERS + OPDUMP_FAULTS;

  /// `device` and `memory` are the log's as long as it lives. `memory` is `kPrefixBytes` and a page, whose
  /// size is a multiple of the granule, at least `kMinPageBytes`, and divides the block's.
  FlashLog(const Device& device, MutableBytes memory, const Options& options)
      : device_(device),
        page_(memory.data() + kPrefixBytes),
        page_bytes_(static_cast<std::uint32_t>(memory.size() - kPrefixBytes)),
        options_(options) {}
  FlashLog(const FlashLog&) = delete;
  FlashLog& operator=(const FlashLog&) = delete;

  /// Finds out where the log goes on: reads the headers of all blocks and two bytes behind each, and writes
  /// nothing. Objects that were open are gone. `invalid_argument` for a geometry or page out of bounds;
  /// `not_supported` when a newer version or another geometry wrote there (erase the part first). Before a
  /// mount has returned `ok` every call fails with `not_initialised`.
  [[nodiscard]] Status mount() {
    if (stuck_ != Status::not_initialised) return Status::already_initialised;
    if (!usable()) return Status::invalid_argument;
    for (std::uint32_t slot = 0; slot < kMaxOpenObjects; ++slot) {
      objects_[slot].number = static_cast<std::uint16_t>(slot);
    }
    cursor_ = geometry().block_count - 1;
    at_ = geometry().block_bytes;
    for (std::uint32_t block = 0; block < geometry().block_count; ++block) {
      Header header;
      const BlockUse use = look_at(device_, block, header);
      if (use == BlockUse::foreign) return Status::not_supported;
      if (use == BlockUse::none) continue;
      if (header.head.sequence > last_sequence_) {
        last_sequence_ = header.head.sequence;
        retired_count_ = header.head.retired_count;
        std::memcpy(retired_, header.rest, retired_count_ * sizeof retired_[0]);
      }
      if (use == BlockUse::taken && header.head.sequence > sequence_) {
        sequence_ = header.head.sequence;
        cursor_ = block;
      }
    }
    stuck_ = Status::ok;
    return Status::ok;
  }

  /// `too_many_objects` when kMaxOpenObjects are open; `name_too_long` when directory and file together
  /// exceed a quarter of a block; `invalid_argument` for an empty file name.
  Result<ObjectId> begin(const ObjectName& name) override {
    if (const Status status = check(name); status != Status::ok) return status;
    Object* object = nullptr;
    for (Object& candidate : objects_) {
      if (candidate.state == State::free) object = &candidate;
    }
    if (object == nullptr) return Status::too_many_objects;
    const Bytes directory = as_bytes(name.directory);
    const Bytes file = as_bytes(name.file);
    if (const Status status = refer_to(Kind::directory, {&directory, 1}); status != Status::ok) return status;
    // Each slot has numbers of its own, so no two open objects share one.
    const std::uint32_t slot = static_cast<std::uint32_t>(object - objects_);
    const std::uint32_t number = object->number + kMaxOpenObjects;
    object->number = static_cast<std::uint16_t>(number < kObjectNumbers ? number : slot);
    object->bytes = 0;
    object->block = static_cast<std::uint16_t>(block_);
    object->state = State::open;
    if (const Status status = write(Kind::begin, object->number, {&file, 1}); status != Status::ok) {
      object->state = State::free;
      return status;
    }
    return ObjectId{slot};
  }

  /// `no_space` when the part or the object's share of it is full, `io_error` when no block works any more.
  [[nodiscard]] Status append(ObjectId id, std::span<const Bytes> parts) override {
    Object* object = find(id);
    if (object == nullptr) return Status::invalid_argument;
    const std::size_t bytes = size_of(parts);
    if (object->state == State::failed || bytes > max_object_bytes() - object->bytes) {
      object->state = State::failed;
      return Status::no_space;
    }
    if (bytes == 0) return Status::ok;
    object->bytes += static_cast<std::uint32_t>(bytes);
    return write(Kind::data, object->number, parts);
  }

  /// Does not wait for the flash: `sync` does. Errors as for `append`.
  [[nodiscard]] Status commit(ObjectId id) override {
    Object* object = find(id);
    if (object == nullptr) return Status::invalid_argument;
    if (object->state == State::failed) {
      abort(id);
      return Status::no_space;
    }
    const Little<std::uint32_t> bytes = object->bytes;
    const Bytes body = bytes_of(bytes);
    const Status status = write(Kind::commit, object->number, {&body, 1});
    // The first byte may have been overwritten to make room for this entry.
    const bool whole = object->state == State::open;
    object->state = State::free;
    return status == Status::ok && !whole ? Status::no_space : status;
  }

#if OPDUMP_FAULTS
  /// Errors as for `append`. Also under a loss of power both are there or neither.
  [[nodiscard]] Status commit_both(ObjectId first_id, ObjectId second_id) override {
    Object* const first = find(first_id);
    Object* const second = find(second_id);
    const bool found = first != nullptr && second != nullptr && first != second;
    // No block is entered between the two entries, which might cost one of the objects its first byte.
    while (found && stuck_ == Status::ok && geometry().block_bytes - at_ - used_ < kPairBytes)
      write(Kind::data, first->number, {});
    if (!found || first->state == State::failed || second->state == State::failed) {
      abort(first_id);
      abort(second_id);
      return found ? Status::no_space : Status::invalid_argument;
    }
    const Little<std::uint32_t> bytes[] = {first->bytes, second->bytes};
    const Bytes bodies[] = {bytes_of(bytes[0]), bytes_of(bytes[1])};
    write(Kind::commit_with_next, first->number, {&bodies[0], 1});
    const Status status = write(Kind::commit, second->number, {&bodies[1], 1});
    first->state = second->state = State::free;
    return status;
  }
#endif

  void abort(ObjectId id) override {
    Object* object = find(id);
    if (object == nullptr) return;
    static_cast<void>(write(Kind::abort, object->number, {}));
    object->state = State::free;
  }

  /// Errors as for `begin` and `append`.
  [[nodiscard]] Status append_journal(const ObjectName& name, std::span<const Bytes> parts) override {
    if (const Status status = check(name); status != Status::ok) return status;
    const Bytes path[] = {as_bytes(name.directory), as_bytes("/"), as_bytes(name.file)};
    const Status status = refer_to(Kind::journal, path);
    return status == Status::ok ? write(Kind::lines, 0, parts) : status;
  }

  /// Programs what the page holds, filled up to a granule, and syncs the device.
  [[nodiscard]] Status sync() override {
    const Status status = flush();
    return status == Status::ok ? device_.sync(device_.context) : status;
  }

  /// One step towards `Options::prepared_blocks` erased blocks ahead, for idle time: one erase, or one
  /// program, or nothing. True when it should be called again. Under overwrite_oldest this gives up the
  /// oldest blocks early.
  Result<bool> prepare() {
    if (stuck_ != Status::ok) return stuck_;
    std::uint32_t block = cursor_;
    for (std::uint32_t ahead = 0; ahead < options_.prepared_blocks; ++ahead) {
      block = block_after(block);
      // Never so far that it meets the block in use.
      if (block == kNoBlock || block == cursor_) return false;
      HeaderFacts header;
      const BlockUse use = look_at(device_, block, header);
      if (use == BlockUse::prepared && header.sequence > sequence_) continue;
      if (erased_ != block) return erase(block, use);
      if (used_ != kept_) {
        if (const Status status = flush(); status != Status::ok) return status;
      } else {
        write_header(block);
      }
      return true;
    }
    return false;
  }

  /// For fault and watchdog handlers, with interrupts off: programs what the page holds, polled. From now on
  /// until the next mount the log neither erases nor syncs; while prepared blocks last, rings may still be
  /// drained into it, followed by this call again. `unfinished` when it interrupted another call of this log:
  /// then nothing can be added.
  Status emergency() {
    emergency_ = true;
    const Status status = flush();
    return left_ != 0 ? Status::unfinished : status;
  }

  /// Erases since the mount.
  std::uint32_t erases() const {
    return erases_;
  }

  /// Blocks known to be bad.
  std::uint32_t retired() const {
    return retired_count_;
  }

 private:
  static constexpr std::uint32_t kNoBlock = 0xffffffffu;
  static constexpr std::uint32_t kPairBytes = 2 * (sizeof(EntryHead) + 4) + kCrcBytes;

  enum class State : std::uint8_t { free, open, failed };

  struct Object {
    std::uint32_t bytes = 0;
    std::uint16_t number = 0;
    std::uint16_t block = 0;  // in which it begins
    State state = State::free;
  };

  /// An entry in the current block that later ones refer to.
  struct Reference {
    std::uint32_t offset = 0;
    std::uint32_t bytes = kNoBlock;
  };

  const Geometry& geometry() const {
    return device_.geometry;
  }

  bool usable() const {
    const Geometry& part = geometry();
    return is_usable(part) && page_bytes_ >= kMinPageBytes && page_bytes_ % part.program_bytes == 0 &&
           part.block_bytes >= 2 * page_bytes_ && part.block_bytes % page_bytes_ == 0;
  }

  static std::size_t size_of(std::span<const Bytes> parts) {
    std::size_t bytes = 0;
    for (const Bytes part : parts) bytes += part.size();
    return bytes;
  }

  Status check(const ObjectName& name) const {
    if (name.file.empty()) return Status::invalid_argument;
    const std::size_t most = geometry().block_bytes / 4 < kMaxBody ? geometry().block_bytes / 4 : kMaxBody;
    return name.directory.size() >= most || name.file.size() >= most - name.directory.size()
               ? Status::name_too_long
               : Status::ok;
  }

  Object* find(ObjectId id) {
    const std::uint32_t slot = static_cast<std::uint32_t>(id);
    return slot < kMaxOpenObjects && objects_[slot].state != State::free ? &objects_[slot] : nullptr;
  }

  std::uint32_t max_object_bytes() const {
    if (options_.policy == Policy::stop_when_full) return UINT32_MAX;
    const std::uint64_t half = std::uint64_t{geometry().block_bytes} * (geometry().block_count / 2);
    return half < UINT32_MAX ? static_cast<std::uint32_t>(half) : UINT32_MAX;
  }

  // Entries.

  /// Writes an entry of `parts`, or several when they are too long for one.
  Status write(Kind kind, std::uint32_t number, std::span<const Bytes> parts) {
    std::size_t total = size_of(parts);
    const Bytes* part = parts.data();
    std::size_t at = 0;
    do {
      std::uint32_t body = begin_entry(kind, number, total);
      while (body != 0) {
        const std::size_t rest = part->size() - at;
        const std::size_t bytes = rest < body ? rest : body;
        put(part->subspan(at, bytes));
        body -= static_cast<std::uint32_t>(bytes);
        at += bytes;
        if (at == part->size()) {
          ++part;
          at = 0;
        }
      }
      end_entry();
    } while (total != 0);
    return stuck_;
  }

  /// Writes the head of an entry for as many of the `total` bytes as it may have, and takes them off.
  std::uint32_t begin_entry(Kind kind, std::uint32_t number, std::size_t& total) {
    const std::uint32_t body = total < kMaxBody ? static_cast<std::uint32_t>(total) : kMaxBody;
    total -= body;
    const EntryHead head(kind, number, body);
    const std::uint32_t sealed = head.sealed();
    left_ = 2 * (static_cast<std::uint32_t>(sizeof head) + body + kCrcBytes * sealed) + sealed;
    put(bytes_of(head));
    return body;
  }

  void end_entry() {
    if (left_ % 2 != 0) {
      const Little<std::uint32_t> crc = crc_;
      put(bytes_of(crc));
      crc_ = 0;
    }
    left_ = 0;
  }

  /// Makes sure that the block where the next entry begins says `parts` in its latest entry of `kind`.
  Status refer_to(Kind kind, std::span<const Bytes> parts) {
    Reference& reference = references_[kind == Kind::journal];
    for (;;) {
      make_room();
      if (stuck_ != Status::ok || is_said(reference, parts)) return stuck_;
      const Reference said = {at_ + used_ + static_cast<std::uint32_t>(sizeof(EntryHead)),
                              static_cast<std::uint32_t>(size_of(parts))};
      const std::uint32_t block = block_;
      write(kind, 0, parts);
      if (block == block_) reference = said;
    }
  }

  /// Not inline, so that its stack is free again before `refer_to` writes.
  [[gnu::noinline]] bool is_said(const Reference& reference, std::span<const Bytes> parts) const {
    if (reference.bytes != size_of(parts)) return false;
    std::uint32_t offset = reference.offset;
    for (const Bytes part : parts) {
      const std::uint32_t bytes = static_cast<std::uint32_t>(part.size());
      const std::uint32_t programmed = at_ + kept_ > offset ? at_ + kept_ - offset : 0;
      const std::uint32_t there = programmed < bytes ? programmed : bytes;
      if (!reads_as(device_, block_, offset, part.data(), there)) return false;
      if (there != bytes &&
          std::memcmp(page_ + (offset + there - at_), part.data() + there, bytes - there) != 0) {
        return false;
      }
      offset += bytes;
    }
    return true;
  }

  // The stream of bytes. When `stuck_` says why nothing can be written any more, nothing is.

  /// Bytes that fit the page before it has to be programmed.
  std::uint32_t page_room() const {
    return page_bytes_ - at_ % page_bytes_;
  }

  void make_room() {
    while (stuck_ == Status::ok) {
      if (at_ == geometry().block_bytes) {
        stuck_ = next_block();
      } else if (used_ == page_room()) {
        program_page();
      } else {
        break;
      }
    }
  }

  void put(Bytes bytes) {
    const std::byte* from = bytes.data();
    for (std::uint32_t rest = static_cast<std::uint32_t>(bytes.size()); rest != 0;) {
      make_room();
      if (stuck_ != Status::ok) return;
      const std::uint32_t room = page_room() - used_;
      const std::uint32_t now = rest < room ? rest : room;
      std::memcpy(page_ + used_, from, now);
      crc_ = crc32(crc_, {from, now});
      used_ += now;
      left_ -= 2 * now;
      from += now;
      rest -= now;
    }
  }

  void fill_erased(std::byte* to, std::uint32_t bytes) const {
    std::memset(to, static_cast<int>(geometry().erased), bytes);
  }

  Status flush() {
    while (stuck_ == Status::ok && used_ != kept_) program_page();
    return used_ != kept_ ? stuck_ : Status::ok;
  }

  void program_page() {
    const std::uint32_t granule = geometry().program_bytes;
    const std::uint32_t filled = round_up(used_, granule);
    fill_erased(page_ + used_, filled - used_);
    if (!program(block_, at_, page_, filled, kept_)) {
      retire(block_);
      stuck_ = next_block();
      return;
    }
    // Where bits can only be cleared, the granule that is not full is programmed again with what comes.
    kept_ = geometry().bits_only_clear ? used_ % granule : 0;
    used_ = kept_;
    at_ += kept_ != 0 ? filled - granule : filled;
    fill_erased(page_, kept_);
    prefix_ = 0;
    page_left_ = left_;
    page_crc_ = crc_;
  }

  /// Goes on in another block. What the page holds, because its block did not take it, moves along: it stays
  /// where it is until it is programmed, and header and start are put before it.
  Status next_block() {
    std::byte* const content = page_ + (prefix_ != 0 ? prefix_ : kept_);
    const std::uint32_t moving = static_cast<std::uint32_t>(page_ + used_ - content);
    if (prefix_ == 0) {
      BlockStart& start = *::new (content - sizeof(BlockStart)) BlockStart;
      start.head = EntryHead(Kind::start, 0, BlockStart::kBodyBytes);
      start.previous = sequence_;
      start.previous_end = block_ == kNoBlock ? kNewStream : at_ + kept_;
      start.left = page_left_;
      start.run_crc = page_crc_;
      start.crc = crc32(0, bytes_of(start).first(sizeof start - kCrcBytes));
    }
    references_[0] = references_[1] = {};
    for (;;) {
      const std::uint32_t old = block_;
      if (const Status status = take_block(moving == 0); status != Status::ok) return status;
      if (moving != 0) move_objects(old, block_);
      std::byte* begin = content - sizeof(BlockStart);
      if (at_ == 0) {
        begin -= header_bytes();
        make_header(block_, sequence_, begin);
      }
      prefix_ = static_cast<std::uint32_t>(content - begin);
      kept_ = 0;
      used_ = prefix_ + moving;
      const std::uint32_t room = page_room();
      if (used_ > room) {
        if (!program(block_, at_, begin, room)) {
          retire(block_);
          continue;
        }
        at_ += room;
        used_ -= room;
        begin += room;
        prefix_ = 0;
        page_left_ = kUnknownLeft;
      }
      std::memmove(page_, begin, used_);
      return Status::ok;
    }
  }

  /// `from` is never erased again, so what began there ends with what follows it in `to`.
  void move_objects(std::uint32_t from, std::uint32_t to) {
    for (Object& object : objects_) {
      if (object.block == from) object.block = static_cast<std::uint16_t>(to);
    }
  }

  // Blocks.

  std::uint32_t block_after(std::uint32_t block) const {
    for (std::uint32_t i = 0; i < geometry().block_count; ++i) {
      block = block + 1 == geometry().block_count ? 0 : block + 1;
      if (!is_retired(block)) return block;
    }
    return kNoBlock;
  }

  /// Makes the next block of the rotation the current one, erased, or with its header if `prepared` will do.
  Status take_block(bool prepared) {
    for (std::uint32_t tries = geometry().block_count; tries != 0; --tries) {
      const std::uint32_t block = block_after(cursor_);
      if (block == kNoBlock || block == block_) break;
      HeaderFacts header;
      const BlockUse use = look_at(device_, block, header);
      at_ = 0;
      if (prepared && use == BlockUse::prepared && header.sequence > sequence_ &&
          is_blank(device_, block, header.bytes)) {
        at_ = round_up(header.bytes, geometry().program_bytes);
        sequence_ = header.sequence;
      } else {
        if (erased_ != block) {
          if (!erase(block, use)) return Status::no_space;
          cursor_ = block;
          if (erased_ != block) continue;
        }
        sequence_ = ++last_sequence_;
      }
      if (erased_ == block) erased_ = kNoBlock;
      block_ = cursor_ = block;
      return Status::ok;
    }
    return Status::io_error;
  }

  /// False when the block is to be kept. True otherwise: it is `erased_`, or failed and is retired.
  bool erase(std::uint32_t block, BlockUse use) {
    if (use == BlockUse::taken && options_.policy == Policy::stop_when_full) return false;
    if (emergency_ || erases_ == options_.erase_budget) return false;
    ++erases_;
    for (Object& object : objects_) {
      if (object.state == State::open && object.block == block) object.state = State::failed;
    }
    protect(false);
    Status status = device_.erase(device_.context, block);
    protect(true);
    // The block must not be seen with a new header and old bytes.
    if (status == Status::ok) status = device_.sync(device_.context);
    if (status == Status::ok && options_.verify && !is_blank(device_, block, 0)) status = Status::io_error;
    erased_ = kNoBlock;
    if (status == Status::ok) {
      erased_ = block;
    } else {
      retire(block);
    }
    return true;
  }

  /// Gives the block erased ahead its header, by way of the page, which holds nothing but kept bytes.
  void write_header(std::uint32_t block) {
    make_header(block, ++last_sequence_, page_);
    const std::uint32_t bytes = header_bytes();
    const std::uint32_t filled = round_up(bytes, geometry().program_bytes);
    fill_erased(page_ + bytes, filled - bytes);
    if (!program(block, 0, page_, filled)) retire(block);
    erased_ = kNoBlock;
    fill_erased(page_, kept_);
  }

  std::uint32_t header_bytes() const {
    return static_cast<std::uint32_t>(sizeof(BlockHeader)) + 2 * retired_count_ + kCrcBytes;
  }

  void make_header(std::uint32_t block, std::uint32_t sequence, std::byte* to) const {
    const std::uint32_t bytes = header_bytes();
    const BlockHeader head = block_header(geometry(), block, sequence, retired_count_, bytes);
    std::memcpy(to, &head, sizeof head);
    std::memcpy(to + sizeof head, retired_, 2 * retired_count_);
    store_little_endian(to + bytes - kCrcBytes, crc32(0, {to, bytes - kCrcBytes}));
  }

  bool is_retired(std::uint32_t block) const {
    for (std::uint32_t i = 0; i < retired_count_; ++i) {
      if (retired_[i] == block) return true;
    }
    return false;
  }

  void retire(std::uint32_t block) {
    cursor_ = block;
    if (retired_count_ < kMaxRetired) retired_[retired_count_++] = static_cast<std::uint16_t>(block);
  }

  // The device.

  void protect(bool on) const {
    if (device_.protect != nullptr) device_.protect(device_.context, on);
  }

  /// Programs `bytes` bytes, of which the first `kept` are there already and look erased in `from`.
  bool program(std::uint32_t block, std::uint32_t offset, const std::byte* from, std::uint32_t bytes,
               std::uint32_t kept = 0) const {
    protect(false);
    const Status status = device_.program(device_.context, block, offset, {from, bytes});
    protect(true);
    return status == Status::ok &&
           (!options_.verify || reads_as(device_, block, offset + kept, from + kept, bytes - kept));
  }

  const Device& device_;
  std::byte* const page_;
  const std::uint32_t page_bytes_;
  const Options options_;
  Status stuck_ = Status::not_initialised;  // why nothing can be written any more
  bool emergency_ = false;

  std::uint32_t cursor_ = 0;         // the block that the rotation has reached
  std::uint32_t block_ = kNoBlock;   // the one being written
  std::uint32_t sequence_ = 0;       // of the newest block that was taken
  std::uint32_t last_sequence_ = 0;  // the highest given out
  std::uint32_t erased_ = kNoBlock;  // a block that is erased and has no header yet
  std::uint32_t erases_ = 0;
  std::uint32_t retired_count_ = 0;

  std::uint32_t at_ = 0;         // where in the block the page begins, a multiple of the granule
  std::uint32_t used_ = 0;       // bytes in the page
  std::uint32_t kept_ = 0;       // of these, programmed before; they are erased bytes in the page
  std::uint32_t prefix_ = 0;     // bytes of header and start, if they are in the page and not programmed yet
  std::uint32_t left_ = 0;       // of the entry being written, as in BlockStart
  std::uint32_t crc_ = 0;        // of the bytes since the last CRC
  std::uint32_t page_left_ = 0;  // both when the page was empty
  std::uint32_t page_crc_ = 0;

  Reference references_[2];  // the directory, the journal
  Object objects_[kMaxOpenObjects];
  Little<std::uint16_t> retired_[kMaxRetired];
};

#if UINTPTR_MAX == UINT32_MAX
static_assert(FlashLog::kMaxOpenObjects > 2 || sizeof(FlashLog) + FlashLog::kPrefixBytes <= 256);
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
