#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/dump_config.hpp"
#include "opdump/status.hpp"
#include "opdump/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

class RecordFormat;

/// Whether a dump of `layout` lies in one folder per rank and network, whatever the time and the device.
constexpr bool has_rank_folder(Layout layout) {
  return layout == Layout::mindspore_kernel || layout == Layout::mindspore_cpu;
}

/// Where the records of one config go, and in which form.
struct DumpTarget {
  std::string_view root{};
  std::uint64_t time = 0;  ///< YYYYMMDDHHMMSS of the moment the config was set
#if OPDUMP_JOURNAL || OPDUMP_SMALL_CODE == 0
  std::uint64_t id = 0;  ///< the same moment in microseconds; names the journal
#endif
  std::uint32_t device_id = 0;
  std::uint32_t plans = 0;  ///< loaded models that dump there; the control context's
#if OPDUMP_SMALL_CODE == 0
  RecordFormat* format = nullptr;       ///< null: nano records
  std::uint32_t sample_number = 0;      ///< elements that are kept of a tensor, where it is split; 0: all
  std::span<const StatBits> columns{};  ///< of MindSpore's table, in order; empty: its own
#endif
  Layout layout = Layout::cann;
  DumpData data = DumpData::tensor;
  bool fixed_point = false;    ///< as in DumpConfig
  bool trailing_comma = true;  ///< as in DumpConfig
#if OPDUMP_FAULTS
  ExceptionDump exception = ExceptionDump::none;  ///< else only operators that failed are dumped there
  std::int32_t utc_offset_seconds = 0;            ///< for the names of those
  bool reports = false;                           ///< an OpDebug file follows each operator that overflowed
#endif
  std::uint8_t directory_bytes = 0;   ///< of what `add_dump_directory` adds
  bool split = false;                 ///< each tensor is a record of its own
  bool default_format = false;        ///< files are named as MindSpore's are where it leaves the format out
  std::uint8_t number = 0;            ///< from 1; tells it from the one that had its index before
  bool statistics_on_device = false;  ///< where the device memory can
  StatBits statistics = kStatsByDefault;
  std::uint32_t world_size = 0;
  std::uint32_t rank = 0;
};

/// With OPDUMP_SMALL_CODE there is but one.
constexpr Layout layout_of(const DumpTarget& target) {
  return OPDUMP_SMALL_CODE != 0 ? Layout::cann : target.layout;
}

/// Whether names have the runtime's ids; elsewhere they are 0.
constexpr bool has_task_id(Layout layout) {
  return !has_rank_folder(layout);
}
constexpr bool has_stream_id(Layout layout) {
  return layout != Layout::mindspore_cpu;
}

/// Whether statistics are rows of a table per directory, not a file per operator.
constexpr bool has_table(Layout layout) {
  return layout != Layout::cann;
}

/// Whether each tensor is a record of its own, where a file holds one tensor or, `one_tensor` false, a
/// record.
constexpr bool splits_records(DumpData data, Layout layout, bool one_tensor) {
  return data == DumpData::statistics ? has_table(layout) : one_tensor;
}

/// Whether only operators that failed are dumped there, in CANN's way.
constexpr bool holds_failures([[maybe_unused]] const DumpTarget& target) {
#if OPDUMP_FAULTS
  return target.exception != ExceptionDump::none;
#else
  return false;
#endif
}

/// The longest text of `put_dump_directory`, whatever the time is.
inline constexpr std::size_t kMaxDumpDirectoryBytes = 9 + 10 + 12 + 10 + 1 + kMaxDecimalBytes;

/// Puts the directory of the dump as a whole, in which its journal lies and below which its files do, where
/// there is room for kMaxDumpDirectoryBytes; returns the end.
inline char* put_dump_directory(char* to, const DumpTarget& target) {
  if (holds_failures(target)) return put_decimal(put_text(to, "extra-info/data-dump/"), target.device_id);
  switch (layout_of(target)) {
    case Layout::cann:
      if (OPDUMP_SMALL_CODE == 0 && target.world_size != 0) {
        to = put_decimal(put_text(to, "worldsize"), target.world_size);
        to = put_decimal(put_text(to, "_global_rank"), target.rank);
        *to++ = '/';
      }
      return put_decimal(to, target.time, 14);
    case Layout::mindspore_kernel:
    case Layout::mindspore_cpu:
      return put_decimal(put_text(to, "rank_"), target.rank);
    case Layout::mindspore_graph:
      break;
  }
  return to;
}

inline TextWriter& add_dump_directory(TextWriter& to, const DumpTarget& target) {
  char memory[kMaxDumpDirectoryBytes];
  return to.add({memory, static_cast<std::size_t>(put_dump_directory(memory, target) - memory)});
}

/// The targets of one session. A record in a ring names its target by index; a target is retired when no
/// model and no config dumps there any more, and free again when the drainer has seen its last record.
class Targets {
 public:
  static constexpr std::uint8_t kMax = OPDUMP_MAX_CONFIGS;
  static constexpr std::uint8_t kNone = 0xff;

  /// Records are counted in groups: by target, as each journal ends with its own counts; without journals,
  /// all together.
  static constexpr std::size_t kCounted = OPDUMP_JOURNAL != 0 ? kMax : 1;
  static constexpr std::size_t counted(std::uint8_t target) { return OPDUMP_JOURNAL != 0 ? target : 0; }

  enum class State : std::uint8_t { free, in_use, retired, closing };

  DumpTarget& operator[](std::uint8_t index) { return targets_[kMax == 1 ? 0 : index]; }
  const DumpTarget& operator[](std::uint8_t index) const { return targets_[kMax == 1 ? 0 : index]; }

  /// Index of a free target that is now in use, `kNone` if all are taken.
  std::uint8_t take(const DumpTarget& target) {
    for (std::uint8_t index = 0; index < kMax; ++index) {
      if (state(index) != State::free) continue;
      targets_[index] = target;
      if (++last_number_ == 0) ++last_number_;
      targets_[index].number = last_number_;
      set_state(index, State::in_use);
      return index;
    }
    return kNone;
  }

  // acquire and release: whoever sees a target retired sees all records made for it, and whoever sees it free
  // may reuse it after the drainer's last look at it.
  State state(std::uint8_t index) const {
    return static_cast<State>(states_[index].load(std::memory_order_acquire));
  }
  void set_state(std::uint8_t index, State state) {
    states_[index].store(static_cast<std::uint8_t>(state), std::memory_order_release);
  }

 private:
  DumpTarget targets_[kMax];
  std::uint8_t last_number_ = 0;
  std::atomic<std::uint8_t> states_[kMax] = {};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
