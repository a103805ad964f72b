#pragma once
#include <cstdint>
#include <cstring>

#include "opdump/base/build.hpp"
#include "opdump/base/text.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/record_view.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/config.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The longest text of `put_dump_directory`, whatever the time is.
inline constexpr std::size_t kMaxDumpDirectoryBytes = 9 + 10 + 12 + 10 + 1 + kMaxDecimalBytes;

/// Puts the directory of the dump as a whole, in which its journal lies and below which its files do, where
/// there is room for kMaxDumpDirectoryBytes; returns the end.
inline char* put_dump_directory(char* to, const DumpTarget& target) {
  if (holds_failures(target)) return put_text(to, "extra-info/data-dump");
  switch (layout_of(target)) {
    case Layout::cann:
      if (OPDUMP_SMALL_CODE == 0 && target.form.world_size != 0) {
        to = put_decimal(put_text(to, "worldsize"), target.form.world_size);
        to = put_decimal(put_text(to, "_global_rank"), target.form.rank);
        *to++ = '/';
      }
      return put_decimal(to, target.time, 14);
    case Layout::mindspore_kernel:
    case Layout::mindspore_cpu:
    case Layout::mindspore_cpu_product:
    case Layout::mindspore_cpu_document:
      return put_decimal(put_text(to, "rank_"), target.form.rank);
    case Layout::mindspore_graph:
    case Layout::mindspore_lite:
      break;
  }
  return to;
}

/// Whether each dump of the target has a directory of its own, which its time names.
constexpr bool has_own_directory(const DumpTarget& target) {
  return !holds_failures(target) && layout_of(target) == Layout::cann;
}

/// Whether names of the target's files tell type, ids and time.
constexpr bool has_full_names(const DumpTarget& target) {
  return build::kLean || has_full_names(layout_of(target));
}

/// What is known of every object of the target.
constexpr ObjectFacts facts_of(const DumpTarget& target, ObjectKind kind) {
  const std::uint8_t bytes = target.directory_bytes;
  return {.kind = kind, .dump_bytes = has_own_directory(target) ? bytes : std::uint8_t{0}};
}

inline TextWriter& add_dump_directory(TextWriter& to, const DumpTarget& target) {
  char memory[kMaxDumpDirectoryBytes];
  return to.add({memory, static_cast<std::size_t>(put_dump_directory(memory, target) - memory)});
}

/// The microseconds in names, as 16 digits, the first of which seldom change and are kept by the caller.
class NameTime {
 public:
  static constexpr std::size_t kBytes = 16;
  static constexpr std::size_t kDigits = build::kLean ? 8 : 12;  ///< that are kept
  /// From here on, which is in the year 2286, there are more digits; OPDUMP_SMALL_CODE leaves the first out.
  static constexpr std::uint64_t kLimit = 10'000'000'000'000'000;

  /// Puts `unix_us`, up to kMaxDecimalBytes long; returns the end. `kept` is the same at each call.
  char* put(char* to, std::uint64_t unix_us, char* kept) {
    if (OPDUMP_SMALL_CODE == 0 && unix_us >= kLimit) return put_decimal(to, unix_us);
    return put_short(to, unix_us, kept);
  }

  /// The same of `unix_us` below kLimit.
  OPDUMP_INLINE_IF_LEAN char* put_short(char* to, std::uint64_t unix_us, char* kept) {
    if (unix_us - from_ >= kPeriod) keep(unix_us, kept);
    std::memcpy(to, kept, kDigits);
    const std::uint32_t passed = static_cast<std::uint32_t>(unix_us - from_);
    if constexpr (build::kLean) return put_eight_digits(to + kDigits, passed);
    return put_four_digits(to + kDigits, passed);
  }

 private:
  static constexpr std::uint32_t kLongPeriod = 100'000'000;  // a hundred seconds: the first eight digits
  static constexpr std::uint32_t kPeriod = build::kLean ? kLongPeriod : 10'000;

  OPDUMP_APART_IF_FAST OPDUMP_INLINE_IF_LEAN void keep(std::uint64_t unix_us, char* kept) {
    std::uint64_t from = from_ - passed_;
    if (build::kLean || unix_us - from >= kLongPeriod) {
      std::uint64_t periods = unix_us;
      divide(periods, 10000);
      divide(periods, kLongPeriod / 10000);
      const std::uint32_t period = static_cast<std::uint32_t>(periods);
      put_digits(kept, period, 8);
      from = std::uint64_t{period} * kLongPeriod;
    }
    if constexpr (!build::kLean) {
      const std::uint32_t periods = static_cast<std::uint32_t>(unix_us - from) / kPeriod;
      put_four_digits(kept + 8, periods);
      passed_ = periods * kPeriod;
    }
    from_ = from + passed_;
  }

  std::uint64_t from_ = UINT64_MAX << 32;  // none: no time is in the period from there on
  /// Since the long period began.
  [[no_unique_address]] Maybe<!build::kLean, std::uint32_t> passed_{};
};

/// The name of one operator's objects, of which only the time changes.
class ReadyName {
 public:
  ReadyName() = default;
  /// `text` ends with NameTime::kBytes bytes for the time, and stays as long as this.
  explicit ReadyName(std::span<char> text) : text_(text) {}

  /// The name at `unix_us`, less than NameTime::kLimit; good until the next call.
  std::string_view at(std::uint64_t unix_us, NameTime& time, char* kept) const {
    time.put_short(text_.last(NameTime::kBytes).data(), unix_us, kept);
    return {text_.data(), text_.size()};
  }

 private:
  std::span<char> text_{};
};

/// The longest directory of a record but for the model's name.
inline constexpr std::size_t kDirectoryDigits = kMaxDumpDirectoryBytes + 1 + 10 + 1 + 1 + 10 + 1 + 20;

/// Makes the names of records' objects, in memory of its own. It keeps the directory, which seldom changes.
class DumpNamer {
 public:
  explicit DumpNamer(MutableBytes memory)
      : memory_(reinterpret_cast<char*>(memory.data()),
                memory.size() < NameTime::kDigits ? 0 : memory.size() - NameTime::kDigits) {}

  std::size_t memory_bytes() const { return memory_.size() + NameTime::kDigits; }

  /// The target of that index is another one from now on.
  void forget(std::uint8_t target) {
    if (Targets::kOnlyOne || directory_.target == target) load_ = kNoLoad;
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
  ///     mindspore_lite    {network}/{step}; the file is {name}, with . for each /, and `suffix`
  ///
  /// Of an operator that failed it is, with a local time in milliseconds, in extra-info/data-dump/{device}
  ///
  ///     brief, detail     exception_info.{stream}.{task}.{YYYYMMDDHHMMSSmmm}
  ///     norm              {type}.{name}.{task}.{YYYYMMDDHHMMSSmmm}
  ///
  /// `enter` for that record comes before. `file` becomes the name without the directory, and `unused` the
  /// memory behind it; both are good until the next call. `name_too_long` when the memory is too small: they
  /// are as they were. Source: the directories and names of CANN's, torchair's and MindSpore's dumps.
  [[nodiscard]] Status make(const RecordView& record, const DumpTarget& target, std::uint64_t unix_us,
                            std::string_view suffix, std::string_view& file, MutableBytes& unused) {
    if (directory_.bytes == 0) return Status::name_too_long;
    if (const ReadyName* const ready = record.ready_name();
        ready != nullptr && suffix.empty() && unix_us < NameTime::kLimit) {
      unused = std::as_writable_bytes(memory_.subspan(directory_.bytes));
      file = ready->at(unix_us, time_, kept_digits());
      return Status::ok;
    }
    return make_text(record, target, unix_us, suffix, file, unused);
  }

  /// A file's name for a record that becomes rows of a table: begins with `{type}.{name}.` in every layout.
  /// Otherwise as `make`.
  [[nodiscard]] Status make_for_rows(const RecordView& record, const DumpTarget& target,
                                     std::uint64_t unix_us, std::string_view& file) {
    MutableBytes unused;
    if (has_full_names(target)) return make(record, target, unix_us, {}, file, unused);
    const std::span<char> room = memory_.subspan(directory_.bytes);
    if (directory_.bytes == 0 || room.size() < most_stem_bytes(record)) return Status::name_too_long;
    file = {room.data(), put_stem(room.data(), record, target)};
    return Status::ok;
  }

  /// The name of a record's object as `make` makes it, without the time and the dot before it; empty where the
  /// memory is too small.
  std::string_view make_untimed(const RecordView& record, const DumpTarget& target) {
    std::string_view file;
    MutableBytes unused;
    if (make(record, target, 0, {}, file, unused) != Status::ok) return {};
    if (!holds_failures(target) && !has_full_names(target)) return file;
    file.remove_suffix(1 + (holds_failures(target) ? kFailureTimeBytes : NameTime::kBytes));
    return file;
  }

  /// Whether the name, at that time, of a record of that step and loading that has a ready one differs from
  /// the name before in nothing but the file: `make_again` then stands for `enter` and `make`.
  [[gnu::always_inline]] bool is_made(std::uint64_t step, std::uint32_t load, std::uint64_t unix_us) const {
    // A record with a ready name is of a plan, whose loading has one target.
    return step == step_ && load == load_ && unix_us < NameTime::kLimit;
  }

  /// Good until the next call.
  template <class Ready>
  [[gnu::always_inline]] const ObjectName& make_again(const Ready& ready, std::uint64_t unix_us) {
    return renamed<Ready>(latest_, ready.at(unix_us, time_, kept_digits()), unix_us);
  }

  /// The name of the record's object in the directory that was entered; `unix_us` is the time in `file`.
  ObjectName in_directory(const RecordView& record, const DumpTarget& target, std::uint64_t unix_us,
                          std::string_view file) const {
    ObjectFacts facts = facts_of(target, holds_failures(target) ? ObjectKind::failure : ObjectKind::record);
    facts.load = record.head().load;
    facts.step = record.head().step;
    facts.unix_us = unix_us;
    return {
        .root = target.root, .directory = {memory_.data(), directory_.bytes}, .file = file, .facts = facts};
  }

  /// Puts what such a name begins with, unless it is that of an operator that failed: all but the time and
  /// the suffix. It takes `most_stem_bytes` at most; returns the end.
  static char* put_stem(char* to, const RecordView& record, const DumpTarget& target) {
    const RecordHead& head = record.head();
    to = put_part(to, record.type());
    to = put_part(to, record.name());
    to = put_short_decimal(to, has_task_id(layout_of(target)) ? head.task_id : 0);
    *to++ = '.';
    to = put_short_decimal(to, has_stream_id(layout_of(target)) ? head.stream_id : 0);
    *to++ = '.';
    return to;
  }
  static std::size_t most_stem_bytes(const RecordView& record) {
    return most_text_bytes(record) + 4 + 10 + 10;
  }

 private:
  template <class, class Name>
  [[gnu::always_inline]] static const Name& renamed(Name& name, std::string_view file,
                                                    std::uint64_t unix_us) {
    name.file = file;
    name.facts.unix_us = unix_us;
    return name;
  }

  /// `make`, when nothing is ready.
  OPDUMP_APART_IF_FAST Status make_text(const RecordView& record, const DumpTarget& target,
                                        std::uint64_t unix_us, std::string_view suffix,
                                        std::string_view& file, MutableBytes& unused) {
    const std::span<char> room = memory_.subspan(directory_.bytes);
    const bool failed = holds_failures(target);
    // The scratch has room for it; to ask for that always takes less stack.
    const std::size_t suffix_bytes =
        build::kLean && build::kStatistics ? FileReduction::kSuffix.size() : suffix.size();
    if (room.size() <
        (failed ? most_failure_bytes(record) : most_stem_bytes(record) + kMaxDecimalBytes) + suffix_bytes)
      return Status::name_too_long;
    char* end = nullptr;
    if (failed) {
      end = put_failure_name(room.data(), record, target, unix_us);
      if (!suffix.empty()) end = put_text(end, suffix);
    } else if (!has_full_names(target)) {
      end = put_lite_name(room.data(), record.name());
      if (!suffix.empty()) end = put_text(end, suffix);
    } else {
      end = put_time(put_stem(room.data(), record, target), unix_us);
      // In place, where a lean build knows the text: a call takes more stack.
      if (!suffix.empty()) std::memcpy(end, suffix.data(), suffix.size());
      end += suffix.size();
    }
    const std::size_t bytes = static_cast<std::size_t>(end - room.data());
    unused = std::as_writable_bytes(room.subspan(bytes));
    file = {room.data(), bytes};
    return Status::ok;
  }

  /// Source: MindSpore Lite replaces slashes only; here control characters become '_', and so does no name.
  static char* put_lite_name(char* to, std::string_view name) {
    if (name.empty()) *to++ = '_';
    for (const char c : name)
      *to++ = c == '/' ? '.' : static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '_' : c;
    return to;
  }

  OPDUMP_APART_IF_LEAN char* put_time(char* to, std::uint64_t unix_us) {
    return time_.put(to, unix_us, kept_digits());
  }

  /// Of the type and the name, each one character at least.
  static std::size_t most_text_bytes(const RecordView& record) {
    return std::size_t{record.head().type_bytes} + record.head().name_bytes + 2;
  }

  static char* put_part(char* to, std::string_view text) {
    to = put_sanitised(to, text);
    *to++ = '.';
    return to;
  }

  static std::size_t most_failure_bytes(const RecordView& record) {
    return most_text_bytes(record) + 15 + 10 + 1 + 10 + 1 + kMaxDecimalBytes;
  }

  static char* put_failure_name(char* to, const RecordView& record, const DumpTarget& target,
                                std::uint64_t unix_us) {
    const RecordHead& head = record.head();
    if (target.exception == ExceptionDump::norm) {
      to = put_sanitised(put_part(to, record.type()), record.name());
    } else {
      to = put_decimal(put_text(to, "exception_info."), head.stream_id);
    }
    const std::uint64_t time = local_time_number(unix_us / 1000000, target.utc_offset_seconds);
    *to++ = '.';
    to = put_decimal(to, head.task_id);
    *to++ = '.';
    return put_decimal(to, time * 1000 + unix_us / 1000 % 1000, kFailureTimeBytes);
  }

  /// Whether the directory kept is the record's. A loading belongs to one model and one config.
  bool is_in_directory(const RecordView& record) const {
    const RecordHead& head = record.head();
    return head.step == step_ && head.load == load_ &&
           (Targets::kOnlyOne || head.target == directory_.target);
  }

  void write_directory(const RecordView& record, const DumpTarget& target) {
    const RecordHead& head = record.head();
    step_ = head.step;
    load_ = head.load;
    directory_.target = head.target;
    directory_.bytes = 0;
    if (memory_.size() < kDirectoryDigits + 1 + head.model_name_bytes) {
      if (!build::kLean) load_ = kNoLoad;  // see `is_made`
      return;
    }
    char* to = memory_.data();
    const bool failures = holds_failures(target);
    if (!failures && layout_of(target) == Layout::mindspore_graph) {
      to = put_decimal(to, head.step);
      *to++ = '/';
      to = put_decimal(to, target.time, 14);
    }
    to = put_dump_directory(to, target);
    if (failures || layout_of(target) == Layout::cann || layout_of(target) == Layout::mindspore_graph)
      to = put_number_part(to, target.device_id);
    if (!failures && head.in_model != 0) {
      if (build::kLean || to != memory_.data()) *to++ = '/';
      to = put_sanitised(to, record.model_name());
      if (has_full_names(target)) to = put_number_part(to, head.model_id);
      *to++ = '/';
      to = put_decimal(to, head.step);
    }
    directory_.set(static_cast<std::uint32_t>(to - memory_.data()));
    if_here(latest_, [&](auto& latest) { latest = in_directory(record, target, 0, {}); });
  }

  static char* put_number_part(char* to, std::uint32_t number) {
    *to++ = '/';
    return put_short_decimal(to, number);
  }

  static constexpr std::uint32_t kNoLoad = UINT32_MAX;
  static constexpr std::size_t kFailureTimeBytes = 17;  // YYYYMMDDHHMMSSmmm

  /// The directory at the start of the memory; of 0 bytes: none fits.
  struct TargetDirectory {
    std::uint32_t bytes : 24 = 0;
    std::uint32_t target : 8 = 0;

    void set(std::uint32_t all) { bytes = all & 0xffffff; }
  };
  struct OnlyDirectory {
    std::uint32_t bytes = 0;
    [[no_unique_address]] Absent<std::uint8_t> target{};

    void set(std::uint32_t all) { bytes = all; }
  };

  /// Of the time, behind the names.
  char* kept_digits() const { return memory_.data() + memory_.size(); }

  std::span<char> memory_;
  NameTime time_;
  std::uint64_t step_ = 0;
  std::uint32_t load_ = kNoLoad;
  std::conditional_t<Targets::kOnlyOne, OnlyDirectory, TargetDirectory> directory_;
  /// The latest name of `make_again` in the directory.
  [[no_unique_address]] Maybe<!build::kLean, ObjectName> latest_{};
};

/// Bytes that a `DumpNamer` needs at most for these texts.
constexpr std::size_t dump_name_bytes(std::size_t model_name_bytes, std::size_t type_bytes,
                                      std::size_t name_bytes) {
  constexpr std::size_t kFileDigits = 1 + 1 + 10 + 1 + 10 + 1 + 20 + kMaxSuffixBytes;
  return NameTime::kDigits + kDirectoryDigits + kFileDigits + (model_name_bytes == 0 ? 1 : model_name_bytes) +
         (type_bytes == 0 ? 1 : type_bytes) + (name_bytes == 0 ? 1 : name_bytes);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
