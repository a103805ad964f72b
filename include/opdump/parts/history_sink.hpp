#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

#include "opdump/impl/drain/step_count.hpp"
#include "opdump/parts/triggered_history.hpp"
#include "opdump/port/sink.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A flight recorder: keeps what the last steps dumped in memory, and hands it to another sink only when
/// something happens, in the order in which it was committed, together with what the steps afterwards dump.
/// Until then it does not touch the other sink.
///
/// What happens is a trigger: a call of `trigger`, or an object that reports an overflow or an operator that
/// failed. The step of the trigger is handed on to its end, and so are `after_steps` steps more; then the
/// history begins anew.
///
/// A step is a step of a model. Where several models run in turn, a step of the history lasts until one of
/// them begins its next step, so that it holds one step of the model that runs most often; a model beyond
/// kMaxModels in one step begins another. Operators that run on their own belong to the step in which they
/// come. With OPDUMP_SMALL_CODE an object has neither step nor kind: each object is a step, and only a call
/// of `trigger` is a trigger.
///
/// When the memory is full, the oldest step goes; an object that does not fit beside its own step is refused
/// with `no_space`, as are lines of a journal. Root, directory and file of a name are kMostNameBytes together
/// at most, which is what a TreeSink takes; with less than kLongNamesFrom of memory, kShortNameBytes. A
/// session that writes here keeps no journal, because the journal would name objects that are gone.
///
/// A trigger makes one call hand on the whole history. Where calls must be short, as under a watchdog, the
/// program asks for pieces: what is to be handed on then waits in the memory, and leaves it by calls of
/// `hand_on_some` alone, between two drains and before the last `sync`. What comes while it waits needs
/// memory too: without any, an object is refused with `no_space`.
///
///     history.hand_on_in_pieces();
///     for (;;) {
///       session.drain_some(kBudget);  // touches no more than memory
///       history.hand_on_some(kBudget);
///     }
///
/// `trigger` may be called from any context; all other calls as for any sink.
class HistorySink final : public TriggeredHistory {
 public:
  static constexpr std::size_t kBlockBytes = 512;
  static constexpr std::size_t kMaxModels = StepCount::kMaxModels;
  static constexpr std::size_t kShortNameBytes = 400;
  static constexpr std::size_t kMostNameBytes = 3072;
  static constexpr std::size_t kLongNamesFrom = 32 * 1024;

  /// With steps or memory of 0, until `configure` or `keep_steps`, keeps nothing and hands everything on.
  explicit HistorySink(Sink& sink, MutableBytes memory = {}, std::uint32_t history_steps = 0,
                       std::uint32_t after_steps = 0)
      : sink_(&sink) {
    configure(memory, history_steps, after_steps);
  }

  /// Forgets what is kept, and from now on keeps `history_steps` (0: nothing) in `memory`, 8-byte aligned,
  /// which then belongs to this object. While no object is open.
  void configure(MutableBytes memory, std::uint32_t history_steps, std::uint32_t after_steps) {
    memory_ = memory;
    blocks_ = reinterpret_cast<Block*>(memory.data());
    written_bytes_ = 0;
    written_records_ = refused_ = 0;
    allowed_bytes_ = UINT64_MAX;
    history_steps_ = history_steps;
    after_steps_ = after_steps;
    first_ = last_ = waiting_ = kNone;
    if (out_block_ != kNone) sink_->abort(out_);
    if (held_ != kNoObject) sink_->abort(held_);
    out_block_ = kNone;
    held_ = kNoObject;
    in_pieces_ = partner_lost_ = false;
    handing_on_until_ = 0;
    steps_ = {};
    long_name_ = memory.last(memory.size() < kLongNamesFrom ? 0 : kMostNameBytes);
    const std::size_t count = (memory.size() - long_name_.size()) / sizeof(Block);
    for (std::size_t i = 0; i < count; ++i) {
      Block& block = *::new (&blocks_[i]) Block;
      block.next = i + 1 < count ? static_cast<std::uint32_t>(i + 1) : kNone;
    }
    free_ = count == 0 ? kNone : 0;
  }

  HistorySink(const HistorySink&) = delete;
  HistorySink& operator=(const HistorySink&) = delete;

  /// Hands on to `sink` from now on. While nothing is kept and no object is open.
  void hand_on_to(Sink& sink) { sink_ = &sink; }

  /// Hands on what is kept, at the next call from the drainer.
  void trigger() { triggered_.store(true, std::memory_order_release); }  // partner: `look_for_trigger`

  /// From now on, until `configure`, only `hand_on_some` hands on. While nothing is being handed on.
  void hand_on_in_pieces() { in_pieces_ = true; }

  /// Hands on about `budget_bytes`, names included: `kBlockBytes` and a name more at most, or rows of a table
  /// that came together. True while there is more; on the drain context, after `hand_on_in_pieces`.
  bool hand_on_some(std::size_t budget_bytes) {
    look_for_trigger();
    while (waiting_ != kNone && budget_bytes != 0) {
      const std::size_t bytes = hand_on_next();
      budget_bytes -= bytes < budget_bytes ? bytes : budget_bytes;
      drop_old();
    }
    return waiting_ != kNone;
  }

  Status keep_steps(std::uint32_t history_steps, std::uint32_t after_steps) override {
    const bool fits = history_steps == 0 || memory_.size() >= kBlockBytes;
    configure(memory_, fits ? history_steps : 0, after_steps);
    return fits ? Status::ok : Status::no_memory;
  }

  bool has_reached(std::uint32_t load, std::uint64_t step) const override {
    return steps_.has_reached(load, step);
  }

  bool start(std::uint32_t load) override { return hand_on_history(step_ - steps_.since(load)); }

  std::uint64_t written_bytes() const override { return written_bytes_; }
  std::uint32_t written_records() const override { return written_records_; }
  void allow(std::uint64_t bytes) override { allowed_bytes_ = bytes; }
  std::uint32_t refused() const override { return refused_; }

  /// How many steps are kept.
  std::uint32_t steps() const { return history_steps_; }

  /// How often the history was handed on.
  std::uint32_t triggers() const { return triggers_; }

  /// Objects of the history that the other sink refused.
  std::uint32_t lost() const override { return lost_; }

  /// Objects that were let go because they were too old, or their memory was needed.
  std::uint32_t let_go() const { return let_go_; }

  Result<ObjectId> begin(const ObjectName& name) override {
    if (history_steps_ == 0) return sink_->begin(name);
    look_for_trigger();
    const Result<std::uint32_t> object = make(Kind::object, name);
    if (!object.ok()) return object.status();
    return ObjectId{object.value()};
  }

  Status append(ObjectId object, std::span<const Bytes> parts) override {
    if (history_steps_ == 0) return sink_->append(object, parts);
    for (const Bytes part : parts) {
      if (!add_data(static_cast<std::uint32_t>(object), part)) return Status::no_space;
    }
    return Status::ok;
  }

  Status commit(ObjectId object, ObjectId with = kNoObject) override {
    if (history_steps_ == 0) return sink_->commit(object, with);
    const std::uint32_t objects[] = {static_cast<std::uint32_t>(object), static_cast<std::uint32_t>(with)};
    return keep(std::span(objects).first(build::kFaults && with != kNoObject ? 2 : 1));
  }

  void abort(ObjectId object) override {
    if (history_steps_ == 0) return sink_->abort(object);
    release(static_cast<std::uint32_t>(object));
  }

  Status claim_journal(const ObjectName& name) override {
    return history_steps_ == 0 ? sink_->claim_journal(name) : Status::ok;
  }

  Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    if (history_steps_ == 0) return sink_->append_lines(name, parts);
    look_for_trigger();
    const Result<std::uint32_t> made = make(Kind::lines, name);
    if (!made.ok()) return made.status();
    const std::uint32_t lines = made.value();
    for (const Bytes part : parts) {
      if (add_data(lines, part)) continue;
      release(lines);
      return Status::no_space;
    }
    return keep({&lines, 1});
  }

  Status sync() override {
    look_for_trigger();
    return sink_->sync();
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  enum class Kind : std::uint8_t { object, lines };

  /// An object is a chain of blocks; the first one has the head, and the bytes begin with the name's texts.
  struct Block {
    std::uint32_t next = kNone;
    std::uint32_t used = 0;  ///< bytes of `bytes`
    std::byte bytes[kBlockBytes - 8];
  };
  static_assert(sizeof(Block) == kBlockBytes);

  struct Head {
    std::uint64_t step = 0;      ///< counts those that came here
    std::uint64_t bytes = 0;     ///< without the name
    std::uint32_t next = kNone;  ///< of the objects that are kept, in order
    std::uint32_t last = kNone;  ///< block of the chain
    std::uint16_t root_bytes = 0;
    std::uint16_t directory_bytes = 0;
    std::uint16_t file_bytes = 0;
    Kind kind = Kind::object;
    bool with_next = false;  ///< is committed with the next one that is handed on
    [[no_unique_address]] Maybe<!build::kLean, ObjectFacts> facts{};
  };

  static_assert(sizeof(Head) + kShortNameBytes <= sizeof(Block::bytes));

  Head& head_of(std::uint32_t object) {
    return *std::launder(reinterpret_cast<Head*>(blocks_[object].bytes));
  }

  Result<std::uint32_t> make(Kind kind, const ObjectName& name) {
    const std::size_t most = long_name_.empty() ? kShortNameBytes : kMostNameBytes;
    if (name.root.size() + name.directory.size() + name.file.size() > most) return Status::name_too_long;
    follow_step(name.facts);
    const std::uint32_t object = take_block();
    if (object == kNone) return Status::no_space;
    Head& head = *::new (blocks_[object].bytes) Head;
    blocks_[object].used = sizeof(Head);
    head.step = step_;
    head.last = object;
    head.kind = kind;
    head.root_bytes = static_cast<std::uint16_t>(name.root.size());
    head.directory_bytes = static_cast<std::uint16_t>(name.directory.size());
    head.file_bytes = static_cast<std::uint16_t>(name.file.size());
    head.facts = name.facts;
    for (const std::string_view text : {name.root, name.directory, name.file}) {
      if (add(object, as_bytes(text))) continue;
      release(object);
      return Status::no_space;
    }
    return object;
  }

  bool add_data(std::uint32_t object, Bytes bytes) {
    head_of(object).bytes += bytes.size();
    return add(object, bytes);
  }

  bool add(std::uint32_t object, Bytes bytes) {
    while (!bytes.empty()) {
      std::uint32_t last = head_of(object).last;
      if (blocks_[last].used == sizeof blocks_[last].bytes) {
        const std::uint32_t more = take_block();
        if (more == kNone) return false;
        blocks_[last].next = more;
        head_of(object).last = last = more;
      }
      Block& block = blocks_[last];
      const std::size_t room = sizeof block.bytes - block.used;
      const std::size_t now = bytes.size() < room ? bytes.size() : room;
      std::memcpy(block.bytes + block.used, bytes.data(), now);
      block.used += static_cast<std::uint32_t>(now);
      bytes = bytes.subspan(now);
    }
    return true;
  }

  /// A free block, of the oldest step if there is no other; none when all belong to the latest or are open.
  std::uint32_t take_block() {
    if (free_ == kNone && waiting_ == kNone && first_ != kNone && head_of(first_).step != step_) {
      const std::uint64_t oldest = head_of(first_).step;
      while (first_ != kNone && head_of(first_).step == oldest) drop_first();
    }
    const std::uint32_t block = free_;
    if (block == kNone) return kNone;
    free_ = blocks_[block].next;
    blocks_[block].next = kNone;
    blocks_[block].used = 0;
    return block;
  }

  void release(std::uint32_t object) {
    blocks_[head_of(object).last].next = free_;
    free_ = object;
  }

  void drop_first() {
    remove_first();
    ++let_go_;
  }

  void remove_first() {
    const std::uint32_t object = first_;
    first_ = head_of(object).next;
    if (first_ == kNone) last_ = kNone;
    if (object == waiting_) waiting_ = kNone;
    release(object);
  }

  void follow_step(const ObjectFacts& facts) {
    if (!steps_.begins(facts)) return;
    ++step_;
    drop_old();
  }

  void drop_old() {
    while (waiting_ == kNone && first_ != kNone && head_of(first_).step + history_steps_ <= step_)
      drop_first();
  }

  /// Takes a whole object, or two that are committed together, into the history, or hands them on.
  Status keep(std::span<const std::uint32_t> objects) {
    look_for_trigger();
    std::uint64_t bytes = 0;
    bool tells = false;
    for (const std::uint32_t object : objects) {
      bytes += head_of(object).bytes;
      tells = tells || tells_of_a_bug(object);
    }
    if (tells) hand_on_history(step_);
    const bool goes_on = step_ <= handing_on_until_ && take_room(bytes);
    for (const std::uint32_t object : objects) enlist(object);
    if (!goes_on) return Status::ok;
    head_of(objects[0]).with_next = objects.size() == 2;
    waiting_ = last_;
    const std::uint32_t lost = lost_;
    hand_on_waiting();
    if (lost_ == lost) return Status::ok;
    // The caller is told of it.
    lost_ = lost;
    return refusal_;
  }

  /// `object` is in the other sink.
  void count_written(std::uint32_t object) {
    const ObjectFacts facts = head_of(object).facts;
    const bool is_record = facts.kind == ObjectKind::record || facts.kind == ObjectKind::report ||
                           facts.kind == ObjectKind::failure;
    written_records_ += is_record ? 1 : 0;
  }

  /// Whether what is handed on may have `bytes` more; if not, what is handed on ends.
  bool take_room(std::uint64_t bytes) {
    if (bytes > allowed_bytes_) {
      ++refused_;
      handing_on_until_ = 0;
      return false;
    }
    allowed_bytes_ -= bytes;
    written_bytes_ += bytes;
    return true;
  }

  void enlist(std::uint32_t object) {
    if (last_ == kNone) {
      first_ = object;
    } else {
      head_of(last_).next = object;
    }
    last_ = object;
  }

  void look_for_trigger() {
    if (!triggered_.load(std::memory_order_acquire)) return;  // partner: `trigger`
    triggered_.store(false, std::memory_order_relaxed);
    hand_on_history(step_);
  }

  /// What is kept, and what comes until `after_steps_` steps behind `step`. False: it may not be so much.
  bool hand_on_history(std::uint64_t step) {
    std::uint64_t bytes = 0;
    // In pieces, what waits has its room already.
    for (std::uint32_t at = waiting_ == kNone ? first_ : head_of(waiting_).next; at != kNone;
         at = head_of(at).next) {
      bytes += head_of(at).bytes;
    }
    if (!take_room(bytes)) return false;
    ++triggers_;
    if (step + after_steps_ > handing_on_until_) handing_on_until_ = step + after_steps_;
    waiting_ = last_;
    hand_on_waiting();
    return true;
  }

  /// All that waits, unless the program asks for pieces.
  void hand_on_waiting() {
    while (!in_pieces_ && waiting_ != kNone) hand_on_next();
  }

  /// Hands some of the first object on, or all of its lines, and returns how many bytes that were.
  std::size_t hand_on_next() {
    return head_of(first_).kind == Kind::lines ? hand_on_lines() : hand_on_piece();
  }

  std::size_t hand_on_lines() {
    std::size_t bytes = 0;
    Status status = Status::ok;
    for (std::uint32_t at = first_; at != kNone; at = blocks_[at].next) {
      const Bytes part = bytes_in(at);
      bytes += blocks_[at].used;
      if (status == Status::ok && !part.empty()) status = sink_->append_lines(name_of(first_), {&part, 1});
    }
    count_lost(status, 1);
    remove_first();
    return bytes;
  }

  /// Bytes of the first object in one of its blocks, without its name.
  Bytes bytes_in(std::uint32_t block) {
    std::size_t skipped = sizeof(Head) + name_bytes(head_of(first_));
    const auto used = [&](std::uint32_t at) {
      return skipped < blocks_[at].used ? skipped : std::size_t{blocks_[at].used};
    };
    for (std::uint32_t at = first_; at != block && skipped != 0; at = blocks_[at].next) skipped -= used(at);
    return Bytes(blocks_[block].bytes, blocks_[block].used).subspan(used(block));
  }

  void count_lost(Status status, std::uint32_t objects) {
    if (status == Status::ok) return;
    lost_ += objects;
    refusal_ = status;
  }

  /// Hands a block of the first object on, and returns how many bytes that were, one at least.
  std::size_t hand_on_piece() {
    std::size_t bytes = 1;
    Status status = partner_lost_ ? refusal_ : Status::ok;
    if (status == Status::ok && out_block_ == kNone) {
      bytes += name_bytes(head_of(first_));
      const Result<ObjectId> id = sink_->begin(name_of(first_));
      status = id.status();
      if (id.ok()) {
        out_ = id.value();
        out_block_ = first_;
      }
    }
    if (status == Status::ok) {
      const Bytes part = bytes_in(out_block_);
      bytes += part.size();
      if (!part.empty()) status = sink_->append(out_, {&part, 1});
      if (status == Status::ok) {
        out_block_ = blocks_[out_block_].next;
        if (out_block_ != kNone) return bytes;
        end_first();
        return bytes;
      }
    }
    lose_first(status);
    return bytes;
  }

  /// All of it is in the other sink.
  void end_first() {
    if (head_of(first_).with_next) {
      held_ = out_;
    } else {
      const bool paired = held_ != kNoObject;
      const Status status = paired ? sink_->commit(held_, out_) : sink_->commit(out_);
      count_lost(status, paired ? 2 : 1);
      if (status == Status::ok) count_written(first_);
      if (status == Status::ok && paired) ++written_records_;
      held_ = kNoObject;
    }
    remove_first();
  }

  /// The other sink refuses it; then what is to be committed with it does not count either.
  void lose_first(Status status) {
    if (out_block_ != kNone) sink_->abort(out_);
    if (held_ != kNoObject) sink_->abort(held_);
    count_lost(status, held_ != kNoObject ? 2 : 1);
    out_block_ = kNone;
    held_ = kNoObject;
    partner_lost_ = head_of(first_).with_next;
    remove_first();
  }

  ObjectName name_of(std::uint32_t object) {
    const Head& head = head_of(object);
    const char* at = reinterpret_cast<const char*>(blocks_[object].bytes) + sizeof(Head);
    if (sizeof(Head) + name_bytes(head) > sizeof(Block::bytes)) at = join_name(object);
    ObjectName name = {{at, head.root_bytes},
                       {at + head.root_bytes, head.directory_bytes},
                       {at + head.root_bytes + head.directory_bytes, head.file_bytes}};
    name.facts = head.facts;
    return name;
  }

  /// Lays a name that is in several blocks in one piece.
  const char* join_name(std::uint32_t object) {
    std::size_t skipped = sizeof(Head), got = 0;
    for (std::uint32_t at = object; at != kNone && got < long_name_.size(); at = blocks_[at].next) {
      const Bytes part = Bytes(blocks_[at].bytes, blocks_[at].used).subspan(skipped);
      const std::size_t room = long_name_.size() - got;
      std::memcpy(long_name_.data() + got, part.data(), part.size() < room ? part.size() : room);
      got += part.size();
      skipped = 0;
    }
    return reinterpret_cast<const char*>(long_name_.data());
  }

  static std::size_t name_bytes(const Head& head) {
    return std::size_t{head.root_bytes} + head.directory_bytes + head.file_bytes;
  }

  bool tells_of_a_bug(std::uint32_t object) {
    const ObjectFacts facts = head_of(object).facts;
    return facts.kind == ObjectKind::report || facts.kind == ObjectKind::failure;
  }

  Sink* sink_;
  MutableBytes memory_{};
  MutableBytes long_name_{};  ///< of `memory_`, for a name that is in several blocks
  Block* blocks_ = nullptr;
  std::uint32_t free_ = kNone;
  std::uint32_t first_ = kNone;  ///< of the objects that are kept
  std::uint32_t last_ = kNone;
  std::uint32_t waiting_ = kNone;    ///< in pieces: the last of these that is to be handed on
  std::uint32_t out_block_ = kNone;  ///< of the first one, that is handed on next; none: it has not begun
  ObjectId out_ = kNoObject;         ///< the first one, where it has begun
  ObjectId held_ = kNoObject;        ///< whole, and to be committed with the first one
  bool in_pieces_ = false;
  bool partner_lost_ = false;    ///< what the first one was to be committed with
  Status refusal_ = Status::ok;  ///< of the object that was lost last
  std::uint64_t step_ = 1;       ///< the latest; counts those that came here
  StepCount steps_;
  std::uint64_t handing_on_until_ = 0;  ///< a step, of which the first is 1; 0: nothing has happened yet
  std::uint32_t history_steps_ = 0;
  std::uint32_t after_steps_ = 0;
  std::uint32_t triggers_ = 0;
  std::uint32_t let_go_ = 0;
  std::uint32_t lost_ = 0;
  std::uint32_t refused_ = 0;
  std::uint32_t written_records_ = 0;
  std::uint64_t written_bytes_ = 0;
  std::uint64_t allowed_bytes_ = UINT64_MAX;
  std::atomic<bool> triggered_{false};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
