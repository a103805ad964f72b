#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/acl.h"
#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "opdump/port/clock.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/port/waker.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/counts.hpp"
#include "platform/ascend/chunk_name.hpp"
#include "platform/ascend/impl/chunk_account.hpp"
#include "platform/ascend/impl/chunk_files.hpp"
#include "platform/ascend/impl/chunk_filter.hpp"
#include "platform/ascend/impl/chunk_message.hpp"
#include "platform/ascend/impl/chunk_piece.hpp"
#include "platform/ascend/impl/chunk_ring.hpp"
#include "platform/ascend/impl/ended_files.hpp"
#include "platform/ascend/impl/file_progress.hpp"
#include "platform/ascend/impl/files_under_way.hpp"
#include "platform/ascend/impl/record_start.hpp"
#include "platform/ascend/impl/unnamed_losses.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// What came through CANN's callback. `files` is about files that the config wants: after `stop`, wanted =
/// written + lost().
struct ChunkCounts {
  /// `device_failed` counts those that never got their last chunk, or whose chunks were torn or out of order.
  DumpCounts files{};
  std::uint32_t chunks = 0;
  std::uint32_t unwanted = 0;  ///< files that the config does not want
  std::uint32_t late = 0;      ///< chunks, see ChunkFault
  std::uint32_t repeated = 0;
  std::uint32_t torn = 0;
  std::uint32_t out_of_order = 0;

  /// Whether every wanted file is in the sink as CANN would have written it.
  bool whole() const { return files.lost() == 0 && late == 0 && torn == 0 && out_of_order == 0; }
};

/// What a ChunkConsumer is made of. It refers to all of it, so all of it must outlive the consumer.
struct ChunkParts {
  Sink& sink;
  Clock& clock;
  MutableBytes ring;                     ///< 8-byte aligned, at least ChunkConsumer::kLeastRingBytes
  MutableBytes journal;                  ///< ChunkConsumer::kJournalBytes, for lines on their way
  WhenFull when_full = WhenFull::block;  ///< if the config does not say; `degrade` is as `drop`
  std::uint32_t block_limit_ms = 1000;   ///< likewise
};

/// Takes the chunks that CANN hands to the callback of `acldumpRegCallback`, and brings the files that a
/// config wants through a ring into a sink, with the names and bytes that CANN would have written.
///
/// *Filter.* A file counts by what its name and its head say: device, model, step, operator, and the
/// operators fused into it. What CANN alone knows, such as ranges, CANN's own config decides; so does it for
/// files whose names say nothing.
///
/// *Faults.* A file appears in the sink only when its last chunk has come, and all bytes in between. A record
/// whose first chunk holds its whole head, as CANN's do, must also be as long as the head says. Chunks that
/// come late, again, torn or out of order are counted, and the journal names their file.
///
/// *Tables.* CANN's statistics end in a zero that is not in the files that CANN writes, and may go on after
/// their last chunk. Such a file ends when `kMostOpenTables` others have, or at `stop`; offsets in it count
/// for nothing, as CANN appends.
///
/// *Bounds.* kMaxChunkFiles files may be under way at once: one more, and that which has been silent longest
/// is lost. The object keeps the ends of the latest 512 files, to know late chunks by.
///
/// *Journal.* One for each device and each directory that CANN names after a time. It ends with what of the
/// config no file came for. `opdump verify` reads it.
///
/// *Threads.* One control context calls `start` and `stop`, after CANN has stopped calling back. Any number
/// of threads may call `take`; they take turns, of a copy into the ring each, or of a wait as `when_full`
/// allows. One drain context at a time calls `drain_some`, or a posix::DrainThread does. No call allocates.
class ChunkConsumer {
 public:
  static constexpr std::size_t kJournalBytes = ChunkFiles::kJournalBytes;
  static constexpr std::size_t kLeastRingBytes = 16 * 1024;
  static constexpr std::uint32_t kMostOpenTables = kMaxChunkFiles / 2;

  explicit ChunkConsumer(const ChunkParts& parts)
      : clock_(parts.clock),
        ring_memory_(parts.ring),
        journal_bytes_(parts.journal.size()),
        given_when_full_(parts.when_full),
        given_limit_ms_(parts.block_limit_ms),
        files_(parts.sink, parts.clock, parts.journal),
        ring_(files_, parts.clock) {}
  ChunkConsumer(const ChunkConsumer&) = delete;
  ChunkConsumer& operator=(const ChunkConsumer&) = delete;

  /// From now on takes what `config` wants; what `config` refers to stays until `stop`. An inactive config
  /// wants nothing. `already_initialised` until `stop`; `drainer_attached` while a thread drains; `no_memory`
  /// for too small a ring or journal; `not_supported` for the layout of another system than CANN's,
  /// for digests, and for rules of a privacy, as the driver sends files that are whole.
  [[nodiscard]] Status start(const DumpConfig& config) {
    const Turn turn(*this);
    if (active_) return Status::already_initialised;
    if (drainer_attached_) return Status::drainer_attached;
    if (config.form.layout != Layout::cann || digest_bytes(config.form) != 0 ||
        !privacy_rules(config).empty())
      return Status::not_supported;
    if (ring_memory_.size() < kLeastRingBytes || journal_bytes_ < kJournalBytes) return Status::no_memory;
    const Status status =
        ring_.open(ring_memory_, possible(config.options.when_full.value_or(given_when_full_)),
                   config.options.block_limit_ms.value_or(given_limit_ms_));
    if (status != Status::ok) return status;
    config_ = config;
    files_.begin(config_, config_.options.journal.value_or(JournalDetail::records));
    account_.clear();
    ended_ = EndedFiles();
    active_ = true;
    return Status::ok;
  }

  bool active() const { return active_; }
  WhenFull when_full() const { return ring_.when_full(); }

  /// Takes a chunk, with CANN's second argument: the bytes of chunk and data. `ok` also for what the config does not
  /// want and for bytes that have come before. Otherwise the file, or these bytes of it, are lost and counted:
  /// `ring_full`, `timeout`, `too_large`, `truncated` (torn), `malformed` (out of order), `already_exists` (late),
  /// `too_many_objects`, `name_too_long`, `invalid_argument` (no name that stays below its directory), `unfinished`
  /// (of a file that is lost already, or that libopdump_acl gives up); `not_initialised` before `start`.
  Status take(const acldumpChunk& chunk, std::int32_t bytes) {
    const Turn turn(*this);
    if (!active_) return Status::not_initialised;
    chunks_.add_one();
    send_pending();
    Piece piece;
    if (!parse_chunk(chunk, bytes, config_.dump_path, piece)) {
      tell(ChunkFault::torn, {}, chunk.bufLen);
      return Status::invalid_argument;
    }
    File* const file = open_.find(piece.id);
    const Status status = file != nullptr ? take_next(*file, piece) : take_first(piece);
    ring_.wake_if_crowded();
    return status;
  }

  /// Gives up the files that never got their last chunk, moves everything to the sink, tells the journals
  /// what no file came for, and closes them. `not_initialised` before `start`, `drainer_attached` while a
  /// thread drains: nothing changes. An error of the sink's sync, or else why a journal lacks lines; the
  /// consumer is off all the same.
  [[nodiscard]] Status stop() {
    const Turn turn(*this);
    if (!active_) return Status::not_initialised;
    if (drainer_attached_) return Status::drainer_attached;
    for (File& file : open_) {
      if (file.state == State::open) end(file, {.event = ChunkEvent::end, .given_up = !file.ended});
    }
    active_ = false;
    for (bool sent = false; !sent;) {
      sent = send_pending();
      ring_.drain_all();
    }
    account_.for_each_unmet(config_,
                            [this](std::uint32_t device, bool any_device, const NeverCaptured& what) {
                              files_.never(device, any_device, what);
                            });
    return files_.finish();
  }

  /// Any context may ask.
  ChunkCounts counts() const {
    return {.files = files_.counts(),
            .chunks = chunks_.value(),
            .unwanted = unwanted_.value(),
            .late = faults_[0].value(),
            .repeated = faults_[1].value(),
            .torn = faults_[2].value(),
            .out_of_order = faults_[3].value()};
  }

  /// Why the sink lost the latest file, `ok` if it lost none. Any context may ask.
  Status last_sink_failure() const { return files_.last_failure(); }

  // As BasicSession's, so that a posix::DrainThread drains a consumer too.

  [[nodiscard]] Status attach_drainer(Waker* waker = nullptr) {
    const Turn turn(*this);
    if (drainer_attached_) return Status::drainer_attached;
    if (active_ && when_full() == WhenFull::inline_drain) return Status::invalid_argument;
    drainer_attached_ = true;
    ring_.set_waker(waker);
    return Status::ok;
  }

  void detach_drainer() {
    const Turn turn(*this);
    ring_.set_waker(nullptr);
    drainer_attached_ = false;
  }

  /// Moves about `budget_bytes` from the ring to the sink, a chunk of the ring more at most; returns the bytes moved.
  std::size_t drain_some(std::size_t budget_bytes) { return ring_.drain_some(budget_bytes); }

  bool take_crowded() { return ring_.take_crowded(); }

 private:
  using End = EndedFiles::End;
  using File = FileUnderWay;
  using Piece = ChunkPiece;
  using State = File::State;

  /// One thread's turn in `take`.
  class Turn {
   public:
    explicit Turn(ChunkConsumer& of) : of_(of) {
      // acquire: sees what the turn before has left; pairs with the release below.
      while (of_.taken_.test_and_set(std::memory_order_acquire)) of_.clock_.pause();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { of_.taken_.clear(std::memory_order_release); }

   private:
    ChunkConsumer& of_;
  };

  // Chunks.

  Status take_first(const Piece& piece) {
    const EndedFiles::Entry known = ended_.find(piece.id);
    if (known.end == End::unwanted) return Status::ok;
    if (known.end == End::lost) return Status::unfinished;
    if (known.end == End::whole) return take_late(piece, known);
    const RecordStart start = piece.torn || !piece.name.has_head() ? RecordStart() : RecordStart(piece.data);
    if (!wants_file(config_, piece.name, start)) {
      unwanted_.add_one();
      ended_.add({piece.id, {}, End::unwanted});
      return Status::ok;
    }
    account_.meet(config_, piece.name, start);
    if (piece.name.path.size() > kMaxChunkPathBytes)
      return lose(piece, LossCause::invalid, Status::name_too_long);
    if (piece.torn) return refuse_first(piece, ChunkFault::torn, Status::truncated);
    if (piece.offset > 0) return refuse_first(piece, ChunkFault::out_of_order, Status::malformed);
    if (piece.aborted) return lose(piece, LossCause::device_failed, Status::unfinished);
    File* const file = free_slot();
    if (file == nullptr) return lose(piece, LossCause::ring_full, Status::ok);
    *file = File{.id = piece.id, .progress = FileProgress(start)};
    const bool whole = piece.last && !piece.name.is_csv();
    ChunkMessage begin = message_of(ChunkEvent::begin, piece.name);
    begin.slot = open_.slot_of(*file);
    begin.whole = whole;
    if (const Status status = ring_.send(begin, as_bytes(piece.name.path)); status != Status::ok)
      return lose(piece, recorder_cause(status), Status::ok);
    file->state = State::open;
    return add(*file, piece);
  }

  Status take_next(File& file, const Piece& piece) {
    if (piece.aborted)
      return give_up(file, piece, {.event = ChunkEvent::end, .given_up = true}, Status::unfinished);
    if (piece.torn) return spoil(file, piece, ChunkFault::torn, Status::truncated);
    switch (file.progress.place_of(piece.data, piece.offset)) {
      case FileProgress::Place::next:
        break;
      case FileProgress::Place::again:
        return take_again(file, piece);
      case FileProgress::Place::torn:
        return spoil(file, piece, ChunkFault::torn, Status::truncated);
      case FileProgress::Place::ahead:
        return spoil(file, piece, ChunkFault::out_of_order, Status::malformed);
    }
    return add(file, piece);
  }

  /// Appends the bytes.
  Status add(File& file, const Piece& piece) {
    open_.note_use(file);
    file.progress.add(piece.data);
    if (!file.progress.is_possible(piece.last))
      return spoil(file, piece, ChunkFault::torn, Status::truncated);
    ChunkMessage data = {.event = ChunkEvent::data, .slot = open_.slot_of(file)};
    for (Bytes rest = piece.data; !rest.empty();) {
      const std::size_t now = std::min<std::size_t>(rest.size(), ring_.piece_bytes());
      const Status status = ring_.send(data, rest.first(now));
      if (status != Status::ok) return drop(file, piece, recorder_cause(status), status);
      rest = rest.subspan(now);
    }
    if (!piece.last) return Status::ok;
    file.ended = true;
    if (!piece.name.is_csv()) end(file, {.event = ChunkEvent::end});
    return Status::ok;
  }

  /// The bytes have come before; the chunk may yet be the last.
  Status take_again(File& file, const Piece& piece) {
    tell(ChunkFault::repeated, piece.name, piece.data.size());
    if (!piece.last || file.ended) return Status::ok;
    if (!file.progress.may_end()) return spoil(file, piece, ChunkFault::torn, Status::truncated);
    file.ended = true;
    if (!piece.name.is_csv()) end(file, {.event = ChunkEvent::end});
    return Status::ok;
  }

  Status take_late(const Piece& piece, const EndedFiles::Entry& known) {
    if (!piece.torn && ChunkPrint::of(piece.data) == known.last) {
      tell(ChunkFault::repeated, piece.name, piece.data.size());
      return Status::ok;
    }
    tell(piece.torn ? ChunkFault::torn : ChunkFault::late, piece.name, piece.data.size());
    return Status::already_exists;
  }

  // Losses.

  Status refuse_first(const Piece& piece, ChunkFault fault, Status status) {
    tell(fault, piece.name, piece.data.size());
    static_cast<void>(lose(piece, LossCause::device_failed, status));
    return status;
  }

  /// A file that has no slot is lost.
  Status lose(const Piece& piece, LossCause cause, Status status) {
    const ChunkName& name = piece.name;
    ended_.add({piece.id, {}, End::lost});
    ChunkMessage lost = message_of(ChunkEvent::lost, name);
    lost.cause = cause;
    lost.status = status;
    const std::string_view path = name.path.substr(0, kMaxChunkPathBytes);
    const bool is_named = path.size() == name.path.size() && unnamed_.empty();
    if (!is_named) lost.is_record = false;
    if (!unnamed_.empty() || !ring_.send_at_once(lost, is_named ? as_bytes(path) : Bytes()))
      unnamed_.add(lost);
    return status == Status::ok ? kind_of(cause).status : status;
  }

  /// A chunk shows that the file is not what CANN would have written.
  Status spoil(File& file, const Piece& piece, ChunkFault fault, Status status) {
    tell(fault, piece.name, piece.data.size());
    return drop(file, piece, LossCause::device_failed, status);
  }

  Status drop(File& file, const Piece& piece, LossCause cause, Status status) {
    const Status told = status == kind_of(cause).status ? Status::ok : status;
    return give_up(
        file, piece,
        {.event = ChunkEvent::end, .given_up = true, .has_cause = true, .cause = cause, .status = told},
        status);
  }

  Status give_up(File& file, const Piece& piece, const ChunkMessage& message, Status status) {
    end(file, message);
    ended_.add({piece.id, {}, End::lost});
    return status;
  }

  void end(File& file, ChunkMessage message) {
    ended_.add({file.id, file.progress.last(), message.given_up ? End::lost : End::whole});
    message.slot = open_.slot_of(file);
    message.count = file.progress.chunks();
    file.end = message;
    file.state = State::ending;
    send_end(file);
  }

  /// A place for one more file: a free one, that of a table, or else that of the file that has been silent longest.
  File* free_slot() {
    FilesUnderWay::Room room = open_.room();
    if (room.table != nullptr && (room.free == nullptr || room.tables >= kMostOpenTables)) {
      end(*room.table, {.event = ChunkEvent::end});
      if (room.free == nullptr && room.table->state == State::free) room.free = room.table;
    }
    if (room.free == nullptr && room.oldest != nullptr && room.oldest->state == State::open) {
      end(*room.oldest, {.event = ChunkEvent::end,
                         .given_up = true,
                         .has_cause = true,
                         .cause = LossCause::invalid,
                         .status = Status::too_many_objects});
      if (room.oldest->state == State::free) room.free = room.oldest;
    }
    return room.free;
  }

  // Messages.

  ChunkMessage message_of(ChunkEvent event, const ChunkName& name) const {
    ChunkMessage message = {.event = event};
    message.is_record = name.is_record;
    message.kind = !name.is_record ? ObjectKind::extra
                   : name.is_csv() ? ObjectKind::table
                                   : ObjectKind::record;
    message.file_at = static_cast<std::uint16_t>(name.path.size() - name.file.size());
    message.device = name.device;
    message.time = name.time;
    message.step = name.step;
    message.unix_us = name.unix_us;
    return message;
  }

  void tell(ChunkFault fault, const ChunkName& name, std::size_t bytes) {
    faults_[static_cast<std::size_t>(fault)].add_one();
    ChunkMessage told = message_of(ChunkEvent::fault, name);
    told.fault = fault;
    told.count = 1;
    told.bytes = bytes;
    // Without room the counts tell, and the file's loss if it is lost.
    static_cast<void>(ring_.send_at_once(told, as_bytes(name.path)));
  }

  void send_end(File& file) {
    if (ring_.send_at_once(file.end, {})) file.state = State::free;
  }

  /// Whether nothing waits for room any more.
  bool send_pending() {
    bool sent = true;
    for (File& file : open_) {
      if (file.state == State::ending) send_end(file);
      sent = sent && file.state != State::ending;
    }
    unnamed_.send_to([this](const ChunkMessage& gap) { return ring_.send_at_once(gap, {}); });
    return sent && unnamed_.empty();
  }

  Clock& clock_;
  const MutableBytes ring_memory_;
  const std::size_t journal_bytes_;
  const WhenFull given_when_full_;
  const std::uint32_t given_limit_ms_;

  std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
  DumpConfig config_{};
  bool active_ = false;
  bool drainer_attached_ = false;
  FilesUnderWay open_{};
  EndedFiles ended_{};
  UnnamedLosses unnamed_;
  ChunkAccount account_{};
  Count chunks_;
  Count unwanted_;
  Count faults_[4];

  ChunkFiles files_;
  ChunkRing ring_;
};

static_assert(sizeof(ChunkConsumer) <= 2048 * kMaxChunkFiles + 24 * 1024);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
