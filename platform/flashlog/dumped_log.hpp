#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include "opdump/base/bytes.hpp"
#include "opdump/port/sink.hpp"
#include "platform/flashlog/block.hpp"
#include "platform/flashlog/device.hpp"
#include "platform/flashlog/entry_stream.hpp"
#include "platform/flashlog/format.hpp"
#include "platform/flashlog/log_state.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// The upper floor of FlashLog, which a history in flash stands on too: objects and journals as entries, what
/// a mount finds, and blocks prepared ahead. FlashLog says what is promised.
class DumpedLog : public EntryStream {
 public:
  using BlockRotation::kMinPageBytes;
  using BlockRotation::kPrefixBytes;

  /// One per recorder, and a report beside the record that it belongs to.
  static constexpr std::uint32_t kMaxOpenObjects = opdump::kMaxOpenObjects;

  DumpedLog(const DumpedLog&) = delete;
  DumpedLog& operator=(const DumpedLog&) = delete;

  /// Finds out where the log goes on: reads the headers of all blocks and two bytes behind each, and writes
  /// nothing. Objects that were open are gone. `invalid_argument` for a geometry or page out of bounds;
  /// `not_supported` when another version or geometry wrote there (erase the part first);
  /// `driver_failed` as `opdump_crc_unit`. Before a mount has returned `ok` every call fails with `not_initialised`.
  [[nodiscard]] Status mount() {
    if (!build::kEnabled) return Status::ok;
    if (stuck_ != Status::not_initialised) return Status::already_initialised;
    if (!usable()) return Status::invalid_argument;
    if (!crc_unit_works()) return Status::driver_failed;
    for (std::uint32_t slot = 0; slot < kMaxOpenObjects; ++slot) {
      objects_[slot].number = static_cast<std::uint16_t>(slot);
    }
    at_ = kNewStream;
    block_ = erased_ = kNoBlock;
    const std::uint32_t count = geometry().block_count;
    std::uint32_t block = cursor_ = count - 1;
    std::uint32_t unreadable = 0;
    // The first block twice, as it may follow the last one.
    for (std::uint32_t i = 0; i <= count; ++i) {
      block = block_after(block);
      const BlockUse use = look_at(device_, block, header());
      if (use == BlockUse::foreign) return Status::not_supported;
      if (use == BlockUse::unreadable) {
        // It may be newer than all that can be read: it keeps its place in the rotation, and its number.
        ++unreadable;
        if (block == block_after(cursor_)) cursor_ = block;
      }
      if (use == BlockUse::none || use == BlockUse::unreadable) continue;
      const std::uint32_t sequence = header().head.sequence;
      if (sequence > last_sequence_) {
        last_sequence_ = sequence;
        retired_count_ = header().head.retired_count;
        std::memcpy(retired_, header().rest, retired_count_ * sizeof retired_[0]);
      }
      if (use == BlockUse::taken && sequence > sequence_) {
        sequence_ = sequence;
        cursor_ = block;
      }
    }
    if (unreadable > count) return Status::io_error;
    // Where no block is taken the rotation comes to that one too.
    free_ = sequence_ == 0;
    sequence_ = last_sequence_ += unreadable * kUnreadableNumbers;
    boot_ = sequence_ + 1;
    found_ = cursor_;
    while (look_beyond() < BlockUse::taken) ++free_;
    stuck_ = Status::ok;
    return Status::ok;
  }

  /// `too_many_objects` when kMaxOpenObjects are open; `name_too_long` when directory and file together
  /// exceed a quarter of a block; `invalid_argument` for an empty file name; `no_space` as for `append`.
  Result<ObjectId> begin(const ObjectName& name) override {
    std::uint32_t slot = kMaxOpenObjects;
    Status status = Status::too_many_objects;
    while (slot-- != 0) {
      Object& object = objects_[slot];
      if (is_open(object)) continue;
      status = may_have(0, 0) ? refer_to(name, false) : Status::no_space;
      if (status != Status::ok) break;
      // Each slot has numbers of its own, so no two open objects share one.
      const std::uint32_t number =
          (object.number + kMaxOpenObjects) % (kObjectNumbers / kMaxOpenObjects * kMaxOpenObjects);
      object.bytes = 0;
      object.begun = static_cast<std::uint16_t>(block_ + 1);
      const Bytes file = as_bytes(name.file);
      status = write(entry_of(Kind::begin, number), &file, file.size());
      if (status != Status::ok) break;
      object.number = static_cast<std::uint16_t>(number + kOpen);
      return ObjectId{slot};
    }
    return status;
  }

  /// `no_space` when the part, but for what FlashLog keeps for journals, or the object's share of it is full,
  /// `io_error` when no other block works any more.
  [[nodiscard]] Status append(ObjectId id, std::span<const Bytes> parts) override {
    return add(Kind::data, id, &parts);
  }

  /// Does not wait for the flash: `sync` does. Errors as for `append`. Of two also those of `sync`: also under a loss
  /// of power both are there or neither, whatever the part has in a write cache: what they hold is synced first, but
  /// in an emergency, where LogReader alone sees to it. Both are overwritten when the first byte of one is.
  [[nodiscard]] Status commit(ObjectId first_id, ObjectId second_id = kNoObject) override {
    if (!build::kFaults || second_id == kNoObject) return add(Kind::commit, first_id, nullptr);
    Object* const first = find(first_id);
    Object* const second = find(second_id);
    Status status = Status::invalid_argument;
    const bool found = first != nullptr && second != nullptr && first != second;
    // Both commits come with one program, and all that is before them in the log is synced by then. So no
    // block is entered between the two either, which might cost one of the objects its first byte.
    for (bool ready = false; found && !ready; ready = status != Status::ok || make_room() >= kPairBytes) {
      while (make_room() < kPairBytes && stuck_ == Status::ok)
        write(entry_of(Kind::data, first->number), nullptr, 0);
      status = stuck_;
      if (status == Status::ok && !in_emergency_) status = sync();
    }
    if (found && (first->begun == kLost || second->begun == kLost)) status = Status::no_space;
    if (status != Status::ok) {
      abort(first_id);
      abort(second_id);
      return status;
    }
    const Bytes body = bytes_of(first->bytes);
    write(entry_of(Kind::commit_with_next, first->number), &body, body.size());
    first->number ^= kOpen;
    return commit(second_id);
  }

  void abort(ObjectId id) override { static_cast<void>(add(Kind::abort, id, nullptr)); }

  /// Errors as for `begin` and `append`. `not_supported` in a lean build without a journal, which has no lines.
  [[nodiscard]] Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    if (build::kLean && !build::kJournal) return Status::not_supported;
    const std::size_t bytes = size_of(parts.data(), parts.size());
    if (!build::kLean) {
      const ObjectFacts facts = name.facts;
      const bool is_rows = facts.kind == ObjectKind::table;
      if ((is_rows || (facts.is_spare && at_ > geometry().block_bytes / 2)) &&
          !may_have(0, is_rows ? bytes : 0))
        return Status::no_space;
    }
    const Status status = refer_to(name, true);
    return status == Status::ok ? write(entry_of(Kind::lines, 0), parts.data(), bytes) : status;
  }

  /// Programs what the page holds, filled up to a granule, and syncs the device.
  [[nodiscard]] Status sync() override {
    const Status status = flush();
    return status == Status::ok ? device_.sync(device_.context) : status;
  }

  /// One step towards `Options::prepared_blocks` erased blocks ahead, for idle time: one erase, or one program, or
  /// nothing. True when it should be called again. With large granules a block gets its header ahead only while
  /// nothing waits in the page. Under overwrite_oldest this gives up the oldest blocks early.
  Result<bool> prepare() {
    if (!build::kEnabled) return false;
    bool again = false;
    if (const Status status = prepare_block(again); status != Status::ok) return status;
    return again;
  }

  /// As `prepare`, and erases whatever `Options::erase_budget` says; for a log that has 0 there. After a refusal for
  /// want of an erased block the log goes on: what was open then has failed. Not after `emergency`.
  Result<bool> erase_ahead() {
    if (!build::kEnabled) return false;
    if (stuck_ == Status::no_space && used_ == kept_) go_on();
    options_.erase_budget = UINT32_MAX;
    const Result<bool> again = prepare();
    options_.erase_budget = erases_;
    return again;
  }

  /// Bytes that the log takes now without an erase, its own entries included; fewer after a program that fails.
  std::uint32_t ready_bytes() const {
    if (!build::kEnabled || stuck_ != Status::ok) return 0;
    std::uint32_t bytes = at_ < geometry().block_bytes ? geometry().block_bytes - at_ - used_ : 0;
    found_ = cursor_;
    for (;;) {
      const BlockUse use = look_beyond();
      if (use == BlockUse::unreadable || (use != BlockUse::prepared && found_ != erased_)) break;
      bytes += geometry().block_bytes - kPrefixBytes - geometry().program_bytes;
    }
    return bytes;
  }

  /// Most bytes that a session's call adds to the log when it moves `bytes` bytes of tensors: names, journals'
  /// lines and the log's own entries included. `records`: those of which it moves a part, with one tensor
  /// each; a record counts again for each tensor more, and for a report. `name_bytes`: of the longest type
  /// and name of an operator together.
  static constexpr std::uint32_t most_bytes(std::uint32_t bytes, std::uint32_t records,
                                            std::uint32_t name_bytes = 40) {
    return bytes + bytes / 32 + records * (284 + 3 * name_bytes) + 128;
  }

  /// For fault and watchdog handlers, with interrupts off: programs what the page holds, polled. From now on
  /// until the next mount the log neither erases nor syncs; while prepared blocks last, rings may still be
  /// drained into it, followed by this call again. `unfinished` when it interrupted another call of this log:
  /// then nothing can be added.
  Status emergency() {
    if (!build::kEnabled) return Status::ok;
    options_.erase_budget = erases_;
    in_emergency_ = true;
    const Status status = flush();
    return left_ != 0 ? Status::unfinished : status;
  }

  /// Erases since the mount.
  std::uint32_t erases() const { return build::kEnabled ? erases_ : 0; }

  /// Tells this boot, since the mount, from all others whose bytes the log holds: a number from 1 that grows from one
  /// boot that writes to the next, often by more than 1. LogReader and `opdump extract --boot` know it.
  std::uint32_t boot() const { return build::kEnabled ? boot_ : 0; }

  /// Blocks known to be bad.
  std::uint32_t retired() const { return build::kEnabled ? retired_count_ : 0; }

 protected:
  using EntryStream::EntryStream;
  ~DumpedLog() = default;

  static constexpr std::uint32_t kPairBytes = 2 * (sizeof(EntryHead) + 4) + kCrcBytes;

  /// In a new stream, behind a block that is whole.
  void go_on() {
    for (Object& object : objects_) object.begun = kLost;
    at_ = kNewStream;
    used_ = kept_ = prefix_ = left_ = crc_ = page_left_ = page_crc_ = 0;
    // The block that was not to be erased comes again.
    cursor_ = cursor_ == 0 ? geometry().block_count - 1 : cursor_ - 1;
    stuck_ = Status::ok;
  }

  static std::size_t size_of(const Bytes* parts, std::size_t count) {
    std::size_t bytes = 0;
    while (count != 0) bytes += parts[--count].size();
    return bytes;
  }

  static bool is_open(const Object& object) { return (object.number & kOpen) != 0; }

  Object* find(ObjectId id) {
    const std::uint32_t slot = static_cast<std::uint32_t>(id);
    return slot < kMaxOpenObjects && is_open(objects_[slot]) ? &objects_[slot] : nullptr;
  }

  /// What a log that keeps what it has leaves free for journals, beside a block.
  static constexpr std::uint32_t kForJournals = build::kLean ? 512 : 2048;

  /// Whether `more` bytes may be added of an object that has `bytes` then. A log that keeps what it has leaves a
  /// block free behind them, and `kForJournals`.
  OPDUMP_APART bool may_have(std::size_t bytes, std::size_t more) const {
    std::size_t blocks = geometry().block_count / 2;
    if (options_.policy == Policy::stop_when_full) {
      if (!build::kJournal) return true;
      blocks = free_;
      bytes = more + kForJournals;
      if (!build::kLean) bytes += more / 32;
    }
    return bytes == 0 || (bytes - 1) / geometry().block_bytes < blocks;
  }

  /// Adds `parts` to an object, or ends it if they are null.
  Status add(Kind kind, ObjectId id, const std::span<const Bytes>* parts) {
    Object* const object = find(id);
    if (object == nullptr) return Status::invalid_argument;
    const Bytes size = bytes_of(object->bytes);
    const Bytes* part = &size;
    std::size_t bytes = 0;
    if (parts != nullptr) {
      part = parts->data();
      bytes = size_of(part, parts->size());
      const std::uint32_t total = object->bytes + static_cast<std::uint32_t>(bytes);
      if (total - object->bytes != bytes || total < bytes || !may_have(total, bytes)) object->begun = kLost;
      if (object->begun == kLost) return Status::no_space;
      if (bytes == 0) return Status::ok;
      object->bytes = total;
    } else if (object->begun == kLost) {
      kind = Kind::abort;
    } else if (kind == Kind::commit) {
      bytes = size.size();
    }
    const std::uint32_t number = object->number % kObjectNumbers;
    const Status status = write(entry_of(kind, number), part, bytes);
    if (parts == nullptr) object->number = static_cast<std::uint16_t>(number);
    // The first byte may have been overwritten to make room for this entry.
    return object->begun == kLost ? Status::no_space : status;
  }

  /// Makes sure that the block where the next entry begins names the directory, or the journal, in its latest
  /// entry of that kind.
  Status refer_to(const ObjectName& name, bool journal) {
    if (name.file.empty()) return Status::invalid_argument;
    static constexpr std::byte kSlash{'/'};  // not on the stack
    const Bytes path[] = {as_bytes(name.directory), {&kSlash, 1}, as_bytes(name.file)};
    std::size_t bytes = name.directory.size() + 1 + name.file.size();
    if (bytes > geometry().block_bytes / 4 || bytes > kMaxBody) return Status::name_too_long;
    if (!journal) bytes = name.directory.size();
    Reference& reference = references_[journal];
    for (;;) {
      if (make_room() == 0 || is_said(reference, path, bytes)) return stuck_;
      // A block that is entered meanwhile takes it back.
      reference = {at_ + used_ + static_cast<std::uint32_t>(sizeof(EntryHead)),
                   static_cast<std::uint32_t>(bytes)};
      write(entry_of(journal ? Kind::journal : Kind::directory, 0), path, bytes);
    }
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
