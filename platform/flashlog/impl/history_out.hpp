#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "opdump/port/sink.hpp"
#include "platform/flashlog/history_tape.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// Hands the objects of some steps, entry by entry as they stand on a tape, to a sink; or only counts what
/// there is of them.
class HistoryOut final : public TapeVisitor {
 public:
  /// Of root, directory and file together.
  static constexpr std::uint32_t kMaxNameBytes = 400;

  struct Memory {
    char directory[kMaxNameBytes];
    char journal[kMaxNameBytes];
    std::byte facts[sizeof(FactsHead) + kMaxNameBytes + 2];  // and the root, and the file behind it
    char lines[256];
  };

  /// What `look` has seen.
  struct Seen {
    std::uint32_t boot = 0;            ///< whose marks count in `written_until`
    std::uint64_t first_step = 0;      ///< 0: none
    std::uint64_t last_step = 0;       ///< that has begun
    std::uint64_t written_until = 0;   ///< the last step that a mark calls written out
    std::uint32_t objects = 0;         ///< that were committed, but for those that began in `last_step`
    std::uint32_t latest_objects = 0;  ///< these
  };

  explicit HistoryOut(Sink& sink) : sink_(sink) {}

  /// Null: there is none.
  void use(Memory* memory) { names_ = memory; }
  bool has_memory() const { return names_ != nullptr; }

  /// From now on hands on the objects that begin in steps `from` to `until`; the next entry is of `step`, or
  /// of none that is known (0).
  void start(std::uint64_t from, std::uint64_t until, std::uint64_t step) {
    from_ = from;
    until_ = until;
    walk_step_ = step;
    past_end_ = looking_ = false;
    forget_names();
  }
  void extend(std::uint64_t until) { until_ = until; }

  /// From now on, until `start`, counts the objects of steps from `from` on, and notes in `seen` what there is.
  void look(std::uint64_t from) {
    start(from, UINT64_MAX, 0);
    looking_ = true;
    seen_.last_step = 0;
    seen_.objects = seen_.latest_objects = 0;
  }
  Seen& seen() { return seen_; }

  std::uint64_t from() const { return from_; }
  std::uint64_t until() const { return until_; }

  /// The last step that is handed on and has begun.
  std::uint64_t last_step() const { return walk_step_ < until_ ? walk_step_ : until_; }

  /// Whether a step behind `until` has begun.
  bool is_past_end() const { return past_end_; }

  /// Objects that are to be handed on and were not seen yet.
  std::uint32_t expected() const { return expected_; }
  void expect(std::uint32_t objects) { expected_ += objects; }

  /// They will never be seen.
  void lose_expected() {
    lost_ += expected_;
    expected_ = 0;
  }

  std::uint32_t handed_on() const { return handed_on_; }

  /// Of these, files of operators and reports.
  std::uint32_t records() const { return records_; }
  std::uint32_t lost() const { return lost_; }

  /// Bytes of entries since the last call.
  std::uint32_t take_bytes() {
    const std::uint32_t bytes = bytes_;
    bytes_ = 0;
    return bytes;
  }

  /// Where lines about what was handed on belong: beside the latest object.
  ObjectName name_beside(std::string_view file) const {
    return {.root = {file_memory() - root_bytes_, root_bytes_},
            .directory = {names_->directory, directory_of_dump_},
            .file = file};
  }
  std::span<char> line_memory() { return names_->lines; }

  bool has_open() const {
    for (const Out& out : outs_) {
      if (out.state != OutState::none) return true;
    }
    return false;
  }

  /// Bytes of them may be damaged.
  void lose_open() {
    for (Out& out : outs_) give_up(out);
    held_ = nullptr;
    is_pair_ = false;
    forget_names();
  }

  void entry(EntryHead head) override {
    head_ = head;
    got_ = 0;
    out_ = nullptr;
    bytes_ += static_cast<std::uint32_t>(sizeof head) + head.body_bytes();
    for (Out& out : outs_) {
      if (out.state != OutState::none && out.number == head.number()) out_ = &out;
    }
  }

  void body(Bytes bytes) override {
    const std::uint32_t at = got_;
    got_ += static_cast<std::uint32_t>(bytes.size());
    switch (head_.kind()) {
      case Kind::data:
        if (out_ != nullptr) add_out(bytes);
        return;
      case Kind::lines:
        return add_lines(bytes);
      case Kind::directory:
        return copy(names_->directory, sizeof names_->directory, at, bytes);
      case Kind::journal:
        return copy(names_->journal, sizeof names_->journal, at, bytes);
      case Kind::facts:
        return copy(names_->facts, sizeof names_->facts, at, bytes);
      case Kind::begin:
        return copy(file_memory(), kMaxNameBytes - root_bytes_, at, bytes);
      default:
        copy(&small_, sizeof small_, at, bytes);
    }
  }

  void end() override {
    switch (head_.kind()) {
      case Kind::step:
        walk_step_ = small_.step.step;
        if (looking_) return see_step();
        past_end_ = walk_step_ > until_;
        return;
      case Kind::directory:
        directory_bytes_ = got_ <= sizeof names_->directory ? got_ : kUnknown;
        return;
      case Kind::journal:
        journal_bytes_ = got_ <= sizeof names_->journal ? got_ : kUnknown;
        return;
      case Kind::facts:
        if (past_end_) return;
        root_bytes_ = got_ - static_cast<std::uint32_t>(sizeof(FactsHead));
        if (root_bytes_ > kMaxNameBytes) root_bytes_ = 0;
        return;
      case Kind::begin:
        if (is_wanted()) begin_out();
        return;
      case Kind::lines:
        if (!is_wanted()) return;
        flush_lines(true);
        return end_one(lines_status_ == Status::ok);
      case Kind::commit:
      case Kind::commit_with_next:
        return commit_out();
      case Kind::abort:
        if (out_ != nullptr) give_up(*out_);
        return;
      case Kind::written_out:
        if (looking_ && small_.written.boot == seen_.boot && small_.written.last > seen_.written_until)
          seen_.written_until = small_.written.last;
        return;
      default:
        return;
    }
  }

 private:
  static constexpr std::uint32_t kUnknown = 0xffffffff;

  enum class OutState : std::uint8_t { none, open, refused };

  /// An object that is being handed on.
  struct Out {
    std::uint64_t step = 0;
    ObjectId id = kNoObject;
    std::uint32_t bytes = 0;
    std::uint16_t number = 0;
    OutState state = OutState::none;
    bool is_record = false;
  };

  /// Whether what begins now is of the steps that are handed on.
  bool is_wanted() const { return walk_step_ >= from_ && walk_step_ <= until_ && walk_step_ != 0; }

  char* file_memory() const {
    return reinterpret_cast<char*>(names_->facts) + sizeof(FactsHead) + root_bytes_;
  }

  /// What is too long is told by its length. Behind the end of what is handed on, names stay for `tell`.
  void copy(void* to, std::size_t room, std::size_t at, Bytes bytes) const {
    if (past_end_ && to != &small_) return;
    if (at + bytes.size() <= room) copy_bytes(static_cast<std::byte*>(to) + at, bytes);
  }

  ObjectName name_of(std::string_view directory, std::string_view file) {
    ObjectName name = {
        .root = {file_memory() - root_bytes_, root_bytes_}, .directory = directory, .file = file};
    directory_of_dump_ = 0;
    if constexpr (!build::kLean) {
      FactsHead head;
      std::memcpy(&head, names_->facts, sizeof head);
      name.facts = ObjectFacts{.kind = static_cast<ObjectKind>(head.kind),
                               .dump_bytes = head.dump_bytes,
                               .load = head.load,
                               .step = head.step,
                               .unix_us = head.unix_us};
      if (head.dump_bytes <= directory.size()) directory_of_dump_ = head.dump_bytes;
    }
    return name;
  }

  /// Whether the latest facts are those of one.
  bool names_record() const {
    if constexpr (build::kLean) return false;
    const ObjectKind kind = static_cast<ObjectKind>(names_->facts[offsetof(FactsHead, kind)]);
    return kind == ObjectKind::record || kind == ObjectKind::report || kind == ObjectKind::failure;
  }

  void begin_out() {
    Out* free = nullptr;
    for (Out& out : outs_) {
      if (out.state == OutState::none) free = &out;
    }
    if (free == nullptr || directory_bytes_ == kUnknown || got_ > kMaxNameBytes - root_bytes_) return;
    *free = {
        .step = walk_step_, .number = static_cast<std::uint16_t>(head_.number()), .state = OutState::open};
    if (looking_) return;
    const Result<ObjectId> id =
        sink_.begin(name_of({names_->directory, directory_bytes_}, {file_memory(), got_}));
    if (id.ok()) {
      free->id = id.value();
      free->is_record = names_record();
    } else {
      free->state = OutState::refused;
    }
  }

  void add_out(Bytes bytes) {
    out_->bytes += static_cast<std::uint32_t>(bytes.size());
    if (looking_ || out_->state != OutState::open || sink_.append(out_->id, {&bytes, 1}) == Status::ok)
      return;
    sink_.abort(out_->id);
    out_->state = OutState::refused;
  }

  void commit_out() {
    Out* const out = out_;
    if (out != nullptr && small_.bytes != out->bytes) {
      if (out->state == OutState::open && !looking_) sink_.abort(out->id);
      out->state = OutState::refused;
    }
    if (head_.kind() == Kind::commit_with_next) {
      held_ = out;
      is_pair_ = true;
      return;
    }
    Out* const pair[] = {held_, out};
    const bool is_pair = is_pair_;
    held_ = nullptr;
    is_pair_ = false;
    if (looking_) {
      for (Out* const one : pair) {
        if (one != nullptr) see(*one);
      }
      return;
    }
    bool good = out != nullptr && out->state == OutState::open;
    if (is_pair) {
      good = good && pair[0] != nullptr && pair[0]->state == OutState::open;
      if (good)
        good = sink_.commit(pair[0]->id, out->id) == Status::ok;
      else
        for (Out* const one : pair) {
          if (one != nullptr && one->state == OutState::open) sink_.abort(one->id);
        }
    } else if (good) {
      good = sink_.commit(out->id) == Status::ok;
    }
    for (Out* const one : pair) {
      if (one == nullptr) continue;
      one->state = OutState::none;
      if (good && one->is_record) ++records_;
      end_one(good);
    }
  }

  /// One of those that are to be handed on was, or was refused.
  void end_one(bool handed) {
    if (looking_) {
      ++seen_.latest_objects;
      return;
    }
    if (expected_ != 0) --expected_;
    ++(handed ? handed_on_ : lost_);
  }

  void add_lines(Bytes bytes) {
    if (!is_wanted() || looking_) return;
    if (got_ == bytes.size()) {
      lines_bytes_ = 0;
      lines_status_ = journal_bytes_ == kUnknown ? Status::damaged : Status::ok;
    }
    if (lines_bytes_ + bytes.size() > sizeof names_->lines) flush_lines(false);
    copy_bytes(reinterpret_cast<std::byte*>(names_->lines) + lines_bytes_, bytes);
    lines_bytes_ += static_cast<std::uint32_t>(bytes.size());
  }

  /// Hands on whole lines, or what there is if it is `all` or makes no whole one.
  void flush_lines(bool all) {
    if (looking_) return;
    std::uint32_t bytes = lines_bytes_;
    if (!all) {
      while (bytes != 0 && names_->lines[bytes - 1] != '\n') --bytes;
      if (bytes < sizeof names_->lines / 2) bytes = lines_bytes_;
    }
    std::uint32_t slash = journal_bytes_ == kUnknown ? 0 : journal_bytes_;
    while (slash != 0 && names_->journal[slash - 1] != '/') --slash;
    const Bytes part = std::as_bytes(std::span(names_->lines, bytes));
    if (lines_status_ == Status::ok && slash != 0) {
      const char* const file = names_->journal + slash;
      lines_status_ = sink_.append_lines(
          name_of({names_->journal, slash - 1}, {file, journal_bytes_ - slash}), {&part, 1});
    }
    lines_bytes_ -= bytes;
    std::memmove(names_->lines, names_->lines + bytes, lines_bytes_);
  }

  void give_up(Out& out) {
    if (out.state == OutState::open && !looking_) sink_.abort(out.id);
    out.state = OutState::none;
  }

  void forget_names() { directory_bytes_ = journal_bytes_ = kUnknown; }

  void see_step() {
    if (walk_step_ == seen_.last_step) return;
    if (seen_.first_step == 0) seen_.first_step = walk_step_;
    seen_.last_step = walk_step_;
    seen_.objects += seen_.latest_objects;
    seen_.latest_objects = 0;
  }

  /// A committed object that `looking_` has seen.
  void see(Out& out) {
    if (out.state == OutState::open) ++(out.step == walk_step_ ? seen_.latest_objects : seen_.objects);
    out.state = OutState::none;
  }

  Sink& sink_;
  Memory* names_ = nullptr;
  bool looking_ = false;  // nothing is handed on, it is only counted
  bool past_end_ = false;
  bool is_pair_ = false;
  Status lines_status_ = Status::ok;
  std::uint64_t from_ = 0;
  std::uint64_t until_ = 0;
  std::uint64_t walk_step_ = 0;
  std::uint32_t expected_ = 0;
  std::uint32_t handed_on_ = 0;
  std::uint32_t records_ = 0;
  std::uint32_t lost_ = 0;
  Out outs_[kMaxOpenObjects];
  Out* out_ = nullptr;   // that of the entry under way
  Out* held_ = nullptr;  // is committed with the next one
  EntryHead head_;
  std::uint32_t got_ = 0;  // bytes of its body
  std::uint32_t bytes_ = 0;
  std::uint32_t directory_bytes_ = kUnknown;
  std::uint32_t journal_bytes_ = kUnknown;
  std::uint32_t root_bytes_ = 0;
  std::uint32_t directory_of_dump_ = 0;
  std::uint32_t lines_bytes_ = 0;
  union Small {
    Small() : bytes() {}
    Little<std::uint32_t> bytes;
    StepMark step;
    WrittenOutMark written;
  } small_;
  Seen seen_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
