#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>

#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/counts.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

class RecordFormat;
struct Provenance;

/// The fields of a config's form that a lean build keeps and acts on.
struct LeanForm {
  constexpr LeanForm() = default;
  constexpr LeanForm(const DumpForm& form)
      : data(form.data), fixed_point(form.fixed_point), statistics(form.statistics) {}

  [[no_unique_address]] Absent<Layout> layout{};
  DumpData data = DumpData::tensor;
  [[no_unique_address]] Maybe<build::kStatistics, bool> fixed_point{};
  [[no_unique_address]] Maybe<build::kStatistics, StatBits> statistics{kStatsByDefault};
  [[no_unique_address]] Absent<bool, 1> trailing_comma{};
  [[no_unique_address]] Absent<bool, 2> statistics_on_device{};
  [[no_unique_address]] Absent<std::uint32_t, 1> world_size{};
  [[no_unique_address]] Absent<std::uint32_t, 2> rank{};
};

/// A config's form as records need it.
using TargetForm = std::conditional_t<build::kLean, LeanForm, DumpForm>;

/// Where the records of one config go, and in which form.
struct DumpTarget {
  std::string_view root{};
  std::uint64_t time = 0;  ///< YYYYMMDDHHMMSS of the moment the config was set
  /// The same moment in microseconds; it names the journal.
  [[no_unique_address]] Maybe<build::kJournal || !build::kLean, std::uint64_t> id{};
  std::uint32_t device_id = 0;
  std::uint32_t plans = 0;  ///< loaded models that dump there; owned by the control context
  /// `id`, or the next free one in the sink; 0: no line written yet. Owned by the drainer.
  [[no_unique_address]] mutable Maybe<!build::kLean, std::uint64_t, 1> journal_id{};
  [[no_unique_address]] Maybe<!build::kLean, RecordFormat*> format{};  ///< null: nano records
  /// Elements kept of each tensor, where records are split; 0: all.
  [[no_unique_address]] Maybe<!build::kLean, std::uint32_t> sample_number{};
  /// Columns of MindSpore's table, in order; empty: its own order.
  [[no_unique_address]] Maybe<!build::kLean, std::span<const StatBits>> columns{};
  /// Rules of the config's privacy.
  [[no_unique_address]] Maybe<!build::kLean, std::span<const PrivacyRule>> privacy{};
  /// For the journal, which has it behind its head and before its end; null: nothing is told.
  [[no_unique_address]] Maybe<build::kFullJournal, const Provenance*> provenance{};
  TargetForm form{};  ///< the config's, except `data` where an overflow or a failure decides it
  /// If not `none`, only operators that failed are dumped there.
  [[no_unique_address]] Maybe<build::kFaults, ExceptionDump> exception{ExceptionDump::none};
  [[no_unique_address]] Maybe<build::kFaults, std::int32_t> utc_offset_seconds{};  ///< for names of failures
  /// An OpDebug file follows each operator that overflowed.
  [[no_unique_address]] Maybe<build::kFaults, bool, 2> reports{};
  /// Bytes that `add_dump_directory` adds.
  [[no_unique_address]] Maybe<!build::kLean, std::uint8_t> directory_bytes{};
  [[no_unique_address]] Maybe<!build::kLean, bool, 3> split{};  ///< each tensor is a record of its own
  /// Tensors are restored to the framework's format; MindSpore's file names call it DefaultFormat.
  [[no_unique_address]] Maybe<!build::kLean, bool, 4> default_format{};
  /// Tensors that have 4 dims in the framework are restored to NCHW.
  [[no_unique_address]] Maybe<!build::kLean, bool, 5> nchw{};
  std::uint8_t number = 0;  ///< from 1; differs from that of the target that had the same index before
};

/// With OPDUMP_SMALL_CODE there is only one layout.
constexpr Layout layout_of(const DumpTarget& target) {
  return target.form.layout;
}

/// The rules of its config's privacy; with OPDUMP_SMALL_CODE there are none.
constexpr std::span<const PrivacyRule> privacy_of(const DumpTarget& target) {
  return target.privacy;
}

/// Whether only operators that failed are dumped to `target`, in CANN's way.
constexpr bool holds_failures(const DumpTarget& target) {
  return build::kFaults && target.exception != ExceptionDump::none;
}

/// A recorder's counts of one group of records, and the drainer's.
using RecorderCounts = CountBlock<DumpCount::wanted, DumpCount::last_recorder_cause>;
using DrainerCounts = CountBlock<DumpCount::first_sink_cause, DumpCount::written>;

/// A target in memory of the caller, with its counts.
struct MoreTarget {
  DumpTarget target;
  std::atomic<std::uint8_t> state{0};
  DrainerCounts drained;
  RecorderCounts recorded[OPDUMP_MAX_RECORDERS];
};

/// Bytes of `SessionParts::more_configs` for `configs` more configs.
constexpr std::size_t more_config_bytes(std::size_t configs) {
  return configs * sizeof(MoreTarget);
}

/// The targets of one session. A record in a ring names its target by index; a target is retired when no
/// model and no config dumps there any more, and free again when the drainer has seen its last record.
class Targets {
 public:
  static constexpr std::uint8_t kMax = OPDUMP_MAX_CONFIGS;  ///< without those in memory of the caller
  static constexpr std::uint8_t kNone = 0xff;

  /// Records are counted in groups: by target, as each journal ends with its own counts; without journals,
  /// all together.
  static constexpr std::size_t kCounted = build::kJournal ? kMax : 1;
  static constexpr std::size_t counted(std::uint8_t target) { return kCounted == 1 ? 0 : target; }

  /// Whether the caller may give memory for more: not where a ring is read without the session that wrote it.
  static constexpr bool kGrows = !build::kLean && build::kJournal && !build::kSurvivesReset && kMax != 1;

  /// Whether each index is 0.
  static constexpr bool kOnlyOne = kMax == 1 && !kGrows;

  enum class State : std::uint8_t { free, in_use, retired, closing };

  Targets() = default;
  Targets(const Targets&) = delete;
  Targets& operator=(const Targets&) = delete;

  /// Adds as many targets as `memory`, 8-byte aligned, holds; it must stay. Call it before any target is
  /// taken. Without `kGrows` it adds none.
  void grow(MutableBytes memory) {
    if constexpr (kGrows) {
      constexpr std::size_t kMost = kNone - std::size_t{kMax};
      std::size_t count = memory.size() / sizeof(MoreTarget);
      if (count > kMost) count = kMost;
      if (count == 0 || reinterpret_cast<std::uintptr_t>(memory.data()) % alignof(MoreTarget) != 0) return;
      auto* const first = reinterpret_cast<MoreTarget*>(memory.data());
      for (std::size_t i = 0; i < count; ++i) new (first + i) MoreTarget;
      more_ = std::span<MoreTarget>(first, count);
    }
  }

  std::uint8_t size() const { return static_cast<std::uint8_t>(kMax + more().size()); }

  /// The targets beyond `kMax`, in order.
  std::span<MoreTarget> more() const { return more_; }
  static constexpr bool is_more(std::size_t index) { return kGrows && index >= kMax; }
  MoreTarget& more_at(std::size_t index) const { return more()[index - kMax]; }

  DumpTarget& operator[](std::uint8_t index) {
    if (is_more(index)) return more_at(index).target;
    return targets_[kMax == 1 ? 0 : index];
  }
  const DumpTarget& operator[](std::uint8_t index) const {
    if (is_more(index)) return more_at(index).target;
    return targets_[kMax == 1 ? 0 : index];
  }

  /// Puts `target` in a free place and returns its index; `kNone`: all are in use.
  std::uint8_t take(const DumpTarget& target) {
    for (std::uint8_t index = 0; index < size(); ++index) {
      if (state(index) != State::free) continue;
      copy_object((*this)[index], target);
      if (++last_number_ == 0) ++last_number_;
      (*this)[index].number = last_number_;
      set_state(index, State::in_use);
      return index;
    }
    return kNone;
  }

  // acquire and release: whoever sees a target retired sees all records made for it, and whoever sees it free
  // may reuse it after the drainer's last look at it.
  State state(std::uint8_t index) const {
    return static_cast<State>(state_at(index).load(std::memory_order_acquire));
  }
  void set_state(std::uint8_t index, State state) {
    state_at(index).store(static_cast<std::uint8_t>(state), std::memory_order_release);
  }

 private:
  const std::atomic<std::uint8_t>& state_at(std::uint8_t index) const {
    return is_more(index) ? more_at(index).state : states_[kMax == 1 ? 0 : index];
  }
  std::atomic<std::uint8_t>& state_at(std::uint8_t index) {
    return is_more(index) ? more_at(index).state : states_[kMax == 1 ? 0 : index];
  }

  DumpTarget targets_[kMax];
  [[no_unique_address]] Maybe<kGrows, std::span<MoreTarget>> more_{};
  std::uint8_t last_number_ = 0;
  std::atomic<std::uint8_t> states_[kMax] = {};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
