#pragma once
#include <cstdint>

#include "opdump/record.hpp"
#include "opdump/record_format.hpp"
#include "opdump/sink.hpp"
#include "opdump/targets.hpp"
#include "opdump/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

#if OPDUMP_SMALL_CODE == 0
/// The name of one operator's objects, of which only the time changes.
class ReadyName {
 public:
  static constexpr std::size_t kTimeBytes = 16;
  static constexpr std::uint64_t kTimeLimit = 10'000'000'000'000'000;

  ReadyName() = default;
  /// `text` ends with kTimeBytes bytes for the time, and stays as long as this.
  explicit ReadyName(std::span<char> text) : text_(text) {}

  /// The name at `unix_us`, less than kTimeLimit; good until the next call.
  std::string_view at(std::uint64_t unix_us) {
    if (unix_us - period_from_ >= kPeriod) {
      period_from_ = unix_us / kPeriod * kPeriod;
      TextWriter(text_.last(kTimeBytes)).add_decimal(unix_us / kPeriod, kPeriodDigits);
    }
    TextWriter(text_.last(kPeriodDigits))
        .add_decimal(static_cast<std::uint32_t>(unix_us - period_from_), kPeriodDigits);
    return {text_.data(), text_.size()};
  }

 private:
  // A hundred seconds, the first digits of which stay in the text.
  static constexpr std::uint64_t kPeriod = 100'000'000;
  static constexpr std::size_t kPeriodDigits = 8;
  static_assert(2 * kPeriodDigits == kTimeBytes);

  std::span<char> text_{};
  std::uint64_t period_from_ = UINT64_MAX - kPeriod;  // none
};
#endif

/// Makes the names of records' objects, in memory of its own. It keeps the directory, which seldom changes.
class DumpNamer {
 public:
  explicit DumpNamer(MutableBytes memory) : memory_(reinterpret_cast<char*>(memory.data()), memory.size()) {}

  std::size_t memory_bytes() const { return memory_.size(); }

  /// The target of that index is another one from now on.
  void forget(std::uint8_t target) {
    if (target_ == target) directory_bytes_ = 0;
  }

  /// Makes the record's directory the one that names are in. Apart from `make`, so that the stack of both is
  /// not taken at once.
  void enter(const RecordView& record, const DumpTarget& target) {
    if (!is_in_directory(record)) write_directory(record, target);
  }

  /// The name of a record's object, with `suffix` at its end: file `{type}.{name}.{task}.{stream}.{us}`,
  /// microseconds in 16 digits, in a directory by the target's layout:
  ///
  ///     cann              {time}/{device}/{model}/{model id}/{step}, without a model {time}/{device}; with a
  ///                       world size below worldsize{size}_global_rank{rank}
  ///     mindspore_kernel  rank_{rank}/{network}/{model id}/{step}; the task is 0
  ///     mindspore_cpu     the same; the stream is 0 as well
  ///     mindspore_graph   {step}/{time}/{device}/{model}/{model id}/{step}
  ///
  /// Of an operator that failed it is, with a local time in milliseconds, in extra-info/data-dump/{device}
  ///
  ///     brief, detail     exception_info.{stream}.{task}.{YYYYMMDDHHMMSSmmm}
  ///     norm              {type}.{name}.{task}.{YYYYMMDDHHMMSSmmm}
  ///
  /// `enter` for that record comes before. `name` becomes it, and `unused` the memory behind it; both are
  /// good until the next call. `name_too_long` when the memory is too small: they are as they were. Source:
  /// the directories and names of CANN's, torchair's and MindSpore's dumps.
  [[nodiscard]] Status make(const RecordView& record, const DumpTarget& target, std::uint64_t unix_us,
                            std::string_view suffix, ObjectName& name, MutableBytes& unused) {
    if (directory_bytes_ == 0) return Status::name_too_long;
#if OPDUMP_SMALL_CODE == 0
    if (ReadyName* const ready = record.ready_name();
        ready != nullptr && suffix.empty() && unix_us < ReadyName::kTimeLimit) {
      unused = std::as_writable_bytes(memory_.subspan(directory_bytes_));
      name = {target.root, {memory_.data(), directory_bytes_}, ready->at(unix_us)};
      return Status::ok;
    }
#endif
    TextWriter file(memory_.subspan(directory_bytes_));
    if (holds_failures(target)) {
      add_failure_name(file, record, target, unix_us);
    } else {
      add_stem(file, record, target);
      file.add_decimal(unix_us, 16);
      if (!suffix.empty()) file.add(suffix);
    }
    if (file.overflowed()) return Status::name_too_long;
    unused = std::as_writable_bytes(file.rest());
    name = {target.root, {memory_.data(), directory_bytes_}, file.text()};
    return Status::ok;
  }

  /// Adds what such a name begins with, unless it is that of an operator that failed: all but the time and
  /// the suffix.
  static void add_stem(TextWriter& file, const RecordView& record, const DumpTarget& target) {
    const RecordHead& head = record.head();
    file.add_sanitised(record.type()).add('.').add_sanitised(record.name());
    file.add('.')
        .add_decimal(has_task_id(layout_of(target)) ? head.task_id : 0)
        .add('.')
        .add_decimal(has_stream_id(layout_of(target)) ? head.stream_id : 0)
        .add('.');
  }

 private:
#if OPDUMP_FAULTS
  static void add_failure_name(TextWriter& file, const RecordView& record, const DumpTarget& target,
                               std::uint64_t unix_us) {
    const RecordHead& head = record.head();
    if (target.exception == ExceptionDump::norm) {
      file.add_sanitised(record.type()).add('.').add_sanitised(record.name());
    } else {
      file.add("exception_info.").add_decimal(head.stream_id);
    }
    const std::uint64_t time = local_time_number(unix_us / 1000000, target.utc_offset_seconds);
    file.add('.').add_decimal(head.task_id).add('.').add_decimal(time * 1000 + unix_us / 1000 % 1000, 17);
  }
#else
  static void add_failure_name(TextWriter&, const RecordView&, const DumpTarget&, std::uint64_t) {}
#endif

  /// Whether the directory kept is the record's. A loading belongs to one model and one config.
  bool is_in_directory(const RecordView& record) const {
    const RecordHead& head = record.head();
    return directory_bytes_ != 0 && head.step == step_ && head.load == load_ && head.target == target_;
  }

  void write_directory(const RecordView& record, const DumpTarget& target) {
    const RecordHead& head = record.head();
    TextWriter text(memory_);
    const bool failures = holds_failures(target);
    if (!failures && layout_of(target) == Layout::mindspore_graph)
      text.add_decimal(head.step).add('/').add_decimal(target.time, 14);
    add_dump_directory(text, target);
    if (!failures && (layout_of(target) == Layout::cann || layout_of(target) == Layout::mindspore_graph))
      text.add('/').add_decimal(target.device_id);
    if (!failures && head.in_model != 0) {
      text.add('/').add_sanitised(record.model_name());
      text.add('/').add_decimal(head.model_id).add('/').add_decimal(head.step);
    }
    step_ = head.step;
    load_ = head.load;
    target_ = head.target;
    directory_bytes_ = text.overflowed() ? 0 : text.text().size();
  }

  std::span<char> memory_;
  std::size_t directory_bytes_ = 0;  // at the start of the memory; 0: none yet
  std::uint32_t load_ = 0;
  std::uint64_t step_ = 0;
  std::uint8_t target_ = 0;
};

/// Bytes that a `DumpNamer` needs at most for these texts.
constexpr std::size_t dump_name_bytes(std::size_t model_name_bytes, std::size_t type_bytes,
                                      std::size_t name_bytes) {
  constexpr std::size_t kDirectoryDigits = kMaxDumpDirectoryBytes + 1 + 10 + 1 + 1 + 10 + 1 + 20;
  constexpr std::size_t kFileDigits = 1 + 1 + 10 + 1 + 10 + 1 + 20 + kMaxSuffixBytes;
  return kDirectoryDigits + kFileDigits + (model_name_bytes == 0 ? 1 : model_name_bytes) +
         (type_bytes == 0 ? 1 : type_bytes) + (name_bytes == 0 ? 1 : name_bytes);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
