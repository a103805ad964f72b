#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/impl/drain/journal.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/port/clock.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/account.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/counts.hpp"
#include "platform/ascend/impl/chunk_message.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// Makes objects of a sink of what comes out of the ring, and tells the journals, one for each device and dump
/// directory. In them each slot is a recorder; one more stands for files that had none. For the drain context.
class ChunkFiles {
 public:
  using Journal = BasicJournal<build::kJournal>;

  static constexpr std::size_t kJournalBytes = 2 * journal_line_bytes(kMaxChunkPathBytes);

  ChunkFiles(Sink& sink, Clock& clock, MutableBytes journal_memory)
      : sink_(sink), clock_(clock), journal_(sink, journal_memory, JournalDetail::records) {}
  ChunkFiles(const ChunkFiles&) = delete;
  ChunkFiles& operator=(const ChunkFiles&) = delete;

  /// While nothing is open.
  void begin(const DumpConfig& config, JournalDetail detail) {
    root_ = config.dump_path.empty() ? std::string_view(".", 1) : config.dump_path;
    form_ = config.form;
    started_us_ = clock_.unix_us();
    started_ = local_time_number(started_us_ / 1'000'000, clock_.utc_offset_seconds());
    // What cannot name a file has no use for its numbers.
    journal_.begin(detail);
  }

  void take(const ChunkMessage& message, Bytes payload) {
    switch (message.event) {
      case ChunkEvent::begin:
        return open(message, payload);
      case ChunkEvent::data:
        return add(files_[message.slot], payload);
      case ChunkEvent::end:
        return close(message.slot, message);
      case ChunkEvent::lost:
        return lose(message, payload);
      case ChunkEvent::gap:
        return lose_unnamed(message);
      case ChunkEvent::fault:
        return tell(message, as_text(payload));
    }
  }

  void flush() { journal_.flush(); }

  /// Tells of something that no chunk brought, in the journal of `device`'s latest dump.
  void never(std::uint32_t device, bool any_device, const NeverCaptured& what) {
    std::size_t place = kNone;
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const Target& target = targets_[i];
      if (target.used == 0 || (!any_device && target.dump.device_id != device)) continue;
      if (place == kNone || targets_[place].used < target.used) place = i;
    }
    journal_.never(place == kNone ? target_of(0, device).dump : targets_[place].dump, what);
  }

  /// Closes all journals and makes everything durable. Nothing may be open.
  [[nodiscard]] Status finish() {
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      if (targets_[i].used != 0) close_target(i);
    }
    const Status synced = sink_.sync();
    return synced != Status::ok ? synced : journal_.failure();
  }

  /// What became of the files. Any context may ask.
  DumpCounts counts() const {
    DumpCounts counts;
    counts_.add_to(counts);
    return counts;
  }

  /// Why the sink lost the latest file, `ok` if it lost none. Any context may ask.
  Status last_failure() const { return static_cast<Status>(last_failure_.load(std::memory_order_relaxed)); }

 private:
  static constexpr std::size_t kTargets = 16;
  static constexpr std::size_t kNone = kTargets;
  static constexpr std::size_t kTimeDigits = 14;
  static constexpr std::size_t kDirectoryBytes = kMaxDumpDirectoryBytes + kMaxChunkPathBytes;

  /// A dump directory of one device.
  struct Target {
    DumpTarget dump{};
    DumpCounts counts{};
    std::uint64_t used = 0;  ///< when, as `uses_` counts; 0: the place is free
    std::uint64_t time = 0;  ///< that files have; 0: the journal is of files without
  };

  enum class State : std::uint8_t { idle, writing, failed };

  struct File {
    State state = State::idle;
    bool is_record = false;
    bool begun = false;  ///< the journal says so
    Status failure = Status::ok;
    ObjectKind kind = ObjectKind::extra;
    std::size_t target = kNone;
    std::uint32_t chunks = 0;
    std::uint16_t file_at = 0;
    std::uint16_t path_bytes = 0;
    std::uint64_t step = 0;
    std::uint64_t unix_us = 0;
    std::uint64_t bytes = 0;
    ObjectId object{};
    char path[kMaxChunkPathBytes];
  };

  /// The lines of one slot.
  struct Stream {
    std::size_t target = kNone;
    std::uint32_t next = 0;
  };
  static constexpr std::size_t kNoSlot = kMaxChunkFiles;

  // Journals and targets.

  Target& target_of(std::uint64_t time, std::uint32_t device) {
    std::size_t place = kNone;
    for (std::size_t i = 0; i < kTargets; ++i) {
      Target& target = targets_[i];
      if (target.used != 0 && target.time == time && target.dump.device_id == device) {
        target.used = ++uses_;
        return target;
      }
      const bool is_older = place == kNone || target.used < targets_[place].used;
      if (is_older && !has_open_file(i)) place = i;
    }
    if (targets_[place].used != 0) close_target(place);
    Target& target = targets_[place];
    const std::uint64_t now = clock_.unix_us();
    last_id_ = now > last_id_ ? now : last_id_ + 1;
    target = Target{.dump = {.root = root_,
                             .time = time == 0 ? started_ : time,
                             .id = last_id_,
                             .device_id = device,
                             .form = form_},
                    .used = ++uses_,
                    .time = time};
    char directory[kMaxDumpDirectoryBytes];
    target.dump.directory_bytes =
        static_cast<std::uint8_t>(put_dump_directory(directory, target.dump) - directory);
    return target;
  }

  bool has_open_file(std::size_t target) const {
    for (const File& file : files_) {
      if (file.state != State::idle && file.target == target) return true;
    }
    return false;
  }

  void close_target(std::size_t place) {
    Target& target = targets_[place];
    for (std::size_t slot = 0; slot < streams_.size(); ++slot) {
      if (streams_[slot].target != place) continue;
      journal_.to(target.dump, slot, streams_[slot].next);
      streams_[slot].target = kNone;
    }
    journal_.closed(target.dump, target.counts);
    journal_.flush();
    target.used = 0;
  }

  /// The next number of `slot`, in the journal of a target.
  std::uint32_t next_number(std::size_t slot, std::size_t target) {
    Stream& stream = streams_[slot];
    if (stream.target != target) {
      if (stream.target != kNone) journal_.to(targets_[stream.target].dump, slot, stream.next);
      stream.target = target;
      journal_.from(targets_[target].dump, slot, stream.next);
    }
    return stream.next++;
  }

  std::size_t index_of(const Target& target) const {
    return static_cast<std::size_t>(&target - targets_.data());
  }

  void count(std::size_t target, std::uint32_t DumpCounts::*field, std::uint32_t more = 1) {
    targets_[target].counts.*field += more;
    DumpCounts added;
    added.*field = more;
    counts_.add(added);
  }
  void count(std::size_t target, LossCause cause, std::uint32_t more = 1) {
    count(target, kDumpCountFields[static_cast<std::size_t>(count_of(cause))], more);
  }

  // Files.

  /// Puts the sink's name of a file with that path together in `directory_`.
  ObjectName name_of(const Target& target, std::string_view path, const File& file) {
    ObjectName name = {.root = root_, .file = path.substr(file.file_at)};
    char* to = directory_.data();
    std::string_view directory = path.substr(0, file.file_at == 0 ? 0 : file.file_at - std::size_t{1});
    ObjectFacts facts = {.kind = file.kind, .step = file.step, .unix_us = file.unix_us};
    if (target.time != 0) {
      to = put_dump_directory(to, target.dump);
      facts.dump_bytes = static_cast<std::uint8_t>(to - directory_.data());
      directory.remove_prefix(kTimeDigits);
    }
    if (!directory.empty()) to = put_text(to, directory);
    name.directory = {directory_.data(), static_cast<std::size_t>(to - directory_.data())};
    name.facts = facts;
    return name;
  }
  ObjectName name_of(const File& file) {
    return name_of(targets_[file.target], {file.path, file.path_bytes}, file);
  }

  void open(const ChunkMessage& message, Bytes path) {
    File& file = files_[message.slot];
    Target& target = target_of(message.time, message.device);
    file.is_record = message.is_record;
    file.begun = message.is_record && !message.whole;
    file.failure = Status::ok;
    file.kind = message.kind;
    file.target = index_of(target);
    file.chunks = 0;
    file.file_at = message.file_at;
    file.path_bytes = static_cast<std::uint16_t>(path.size());
    file.step = message.step;
    file.unix_us = message.unix_us;
    file.bytes = 0;
    std::memcpy(file.path, path.data(), path.size());
    const ObjectName name = name_of(file);
    const Result<ObjectId> object = sink_.begin(name);
    file.state = State::writing;
    if (object.ok()) {
      file.object = object.value();
    } else {
      fail(file, object.status());
    }
    if (file.begun) journal_.begun(target.dump, message.slot, next_number(message.slot, file.target), name);
  }

  void fail(File& file, Status status) {
    file.state = State::failed;
    file.failure = status;
    last_failure_.store(static_cast<std::uint8_t>(status), std::memory_order_relaxed);
  }

  void add(File& file, Bytes bytes) {
    if (file.state == State::idle) return;
    ++file.chunks;
    file.bytes += bytes.size();
    if (file.state != State::writing) return;
    const Status status = sink_.append(file.object, {&bytes, 1});
    if (status == Status::ok) return;
    sink_.abort(file.object);
    fail(file, status);
  }

  void close(std::size_t slot, const ChunkMessage& message) {
    File& file = files_[slot];
    if (file.state == State::idle) return;
    if (file.state == State::writing && message.given_up) sink_.abort(file.object);
    if (file.state == State::writing && !message.given_up) {
      if (const Status status = sink_.commit(file.object); status != Status::ok) fail(file, status);
    }
    const DumpTarget& target = targets_[file.target].dump;
    const bool whole = file.state == State::writing && !message.given_up;
    if (whole && !file.is_record) {
      tell_other(file, message.count);
    } else {
      const std::uint32_t number = file.begun ? streams_[slot].next - 1 : next_number(slot, file.target);
      const ObjectName name = file.is_record ? name_of(file) : ObjectName{};
      count(file.target, &DumpCounts::wanted);
      if (whole) {
        count(file.target, &DumpCounts::captured);
        count(file.target, &DumpCounts::written);
        journal_.written(target, slot, number, file.bytes, file.begun ? ObjectName{} : name);
      } else if (file.state == State::failed) {
        const LossCause cause = sink_cause(file.failure);
        count(file.target, &DumpCounts::captured);
        count(file.target, cause);
        journal_.lost(target, slot, number, bit(cause), file.failure, name);
      } else {
        tell_given_up(slot, file, message, number, name);
      }
    }
    file.state = State::idle;
  }

  void tell_given_up(std::size_t slot, const File& file, const ChunkMessage& message, std::uint32_t number,
                     const ObjectName& name) {
    const DumpTarget& target = targets_[file.target].dump;
    // What the device began and did not end counts as lost on its side.
    count(file.target, message.has_cause ? message.cause : LossCause::device_failed);
    count(file.target, &DumpCounts::cut_short);
    journal_.lost(target, slot, number, message.has_cause ? bit(message.cause) : LossCauses{0},
                  message.status, name);
    if (!file.is_record) {
      ChunkMessage fault = message;
      fault.fault = ChunkFault::torn;
      fault.count = file.chunks;
      fault.bytes = file.bytes;
      tell_in(targets_[file.target], fault, {file.path, file.path_bytes});
    }
  }

  void tell_other(const File& file, std::uint32_t chunks) {
    ChunkMessage whole;
    whole.fault = ChunkFault::other;
    whole.count = chunks;
    whole.bytes = file.bytes;
    tell_in(targets_[file.target], whole, {file.path, file.path_bytes});
  }

  void lose(const ChunkMessage& message, Bytes path) {
    Target& target = target_of(message.time, message.device);
    const std::size_t place = index_of(target);
    File file;
    file.kind = message.kind;
    file.file_at = message.file_at;
    const ObjectName name = message.is_record ? name_of(target, as_text(path), file) : ObjectName{};
    count(place, &DumpCounts::wanted);
    count(place, message.cause);
    journal_.lost(target.dump, kNoSlot, next_number(kNoSlot, place), bit(message.cause), message.status,
                  name);
  }

  void lose_unnamed(const ChunkMessage& message) {
    Target& target = target_of(message.time, message.device);
    const std::size_t place = index_of(target);
    count(place, &DumpCounts::wanted, message.count);
    count(place, message.cause, message.count);
    const std::uint32_t first = next_number(kNoSlot, place);
    streams_[kNoSlot].next = first + message.count;
    journal_.gap(target.dump, kNoSlot, first, first + message.count - 1, bit(message.cause));
  }

  void tell(const ChunkMessage& message, std::string_view path) {
    tell_in(target_of(message.time, message.device), message, path);
  }

  /// A path is told as seen from the journal's directory.
  void tell_in(Target& target, const ChunkMessage& message, std::string_view path) {
    char text[kMaxChunkPathBytes + 3];
    char* to = text;
    if (target.time == 0) {
      if (!path.empty()) to = put_text(put_text(to, "../"), path);
    } else {
      path.remove_prefix(path.size() > kTimeDigits ? kTimeDigits + 1 : path.size());
      if (!path.empty()) to = put_text(to, path);
    }
    journal_.chunk(target.dump, kind_of(message.fault).word, message.count, message.bytes,
                   {text, static_cast<std::size_t>(to - text)});
  }

  Sink& sink_;
  Clock& clock_;
  std::string_view root_{};
  TargetForm form_{};
  std::uint64_t started_us_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t last_id_ = 0;
  std::uint64_t uses_ = 0;
  [[no_unique_address]] Journal journal_;
  std::array<Target, kTargets> targets_{};
  std::array<File, kMaxChunkFiles> files_{};
  std::array<Stream, kMaxChunkFiles + 1> streams_{};
  std::array<char, kDirectoryBytes> directory_{};
  CountBlock<DumpCount::wanted, DumpCount::written> counts_;
  std::atomic<std::uint8_t> last_failure_{0};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
