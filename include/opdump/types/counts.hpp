#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/base/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Why a record was lost: first the causes that a recorder finds, then those of the sink.
enum class LossCause : std::uint8_t {
  invalid,
  ring_full,
  timed_out,
  too_large,
  device_failed,
  sink_failed,
  quota,
};
inline constexpr std::size_t kLossCauses = 7;
inline constexpr std::size_t kRecorderCauses = 5;  ///< the first ones

/// Several causes, a bit for each.
using LossCauses = std::uint8_t;
constexpr LossCauses bit(LossCause cause) {
  return static_cast<LossCauses>(1u << static_cast<unsigned>(cause));
}

/// Records that were lost, by cause.
struct LossCounts {
  std::uint32_t cut_short = 0;      ///< records that a recorder gave up after they had begun
  std::uint32_t invalid = 0;        ///< a tensor shorter than its shape, or names or ranks beyond the limits
  std::uint32_t ring_full = 0;      ///< no room, and the policy was not to wait
  std::uint32_t timed_out = 0;      ///< no room within the limit
  std::uint32_t too_large = 0;      ///< the head does not fit the ring
  std::uint32_t device_failed = 0;  ///< a copy from device memory failed
  std::uint32_t sink_failed = 0;    ///< the sink failed
  std::uint32_t quota = 0;          ///< the sink refused: the dump has all the room it may take

  std::uint32_t& operator[](LossCause cause);
  std::uint32_t operator[](LossCause cause) const;
  std::uint32_t lost() const;
  /// Lost before any of it was in a ring.
  std::uint32_t dropped() const { return lost() - aborted(); }
  /// Lost later: what was already written of the record was taken back.
  std::uint32_t aborted() const { return cut_short + sink_failed + quota; }
};

/// The words for one cause.
struct LossKind {
  std::uint32_t LossCounts::*count;
  std::string_view word;  ///< in journals and JSON
  std::string_view text;  ///< for people
  Status status;          ///< that stands for it; `ok`: there are several
};

/// In the order of `LossCause`.
inline constexpr LossKind kLossKinds[kLossCauses] = {
    {&LossCounts::invalid, "invalid", "a tensor or name that no record can hold", Status::ok},
    {&LossCounts::ring_full, "ring_full", "the ring was full", Status::ring_full},
    {&LossCounts::timed_out, "timed_out", "no room in the ring within the limit", Status::timeout},
    {&LossCounts::too_large, "too_large", "head too large for the ring", Status::too_large},
    {&LossCounts::device_failed, "device_failed", "copying from device memory failed",
     Status::device_copy_failed},
    {&LossCounts::sink_failed, "sink_failed", "the sink failed", Status::ok},
    {&LossCounts::quota, "quota", "the quota was used up", Status::quota_exceeded},
};

constexpr const LossKind& kind_of(LossCause cause) {
  return kLossKinds[static_cast<std::size_t>(cause)];
}

/// The counts of `kLossKinds` without the texts, for programs that need none of them.
inline constexpr auto kLossFields = [] {
  std::array<std::uint32_t LossCounts::*, kLossCauses> fields{};
  for (std::size_t i = 0; i < kLossCauses; ++i) fields[i] = kLossKinds[i].count;
  return fields;
}();

inline std::uint32_t& LossCounts::operator[](LossCause cause) {
  return this->*kLossFields[static_cast<std::size_t>(cause)];
}
inline std::uint32_t LossCounts::operator[](LossCause cause) const {
  return this->*kLossFields[static_cast<std::size_t>(cause)];
}
inline std::uint32_t LossCounts::lost() const {
  static_assert(kLossCauses == 7);
  return invalid + ring_full + timed_out + too_large + device_failed + sink_failed + quota;
}

/// What a recorder's `status` counts as.
constexpr LossCause recorder_cause(Status status) {
  switch (status) {
    case Status::ring_full:
      return LossCause::ring_full;
    case Status::timeout:
      return LossCause::timed_out;
    case Status::too_large:
      return LossCause::too_large;
    case Status::invalid_tensor:
    case Status::name_too_long:
    case Status::too_many_tensors:
      return LossCause::invalid;
    case Status::invalid_argument:
    case Status::unknown_dtype:
    case Status::uncountable_shape:
    case Status::too_many_dims:
    case Status::missing_argument:
    case Status::unrecordable:
      if (!build::kLean) return LossCause::invalid;
      [[fallthrough]];
    default:
      return LossCause::device_failed;
  }
}

/// What a sink's `status` counts as.
constexpr LossCause sink_cause(Status status) {
  return status == Status::quota_exceeded ? LossCause::quota : LossCause::sink_failed;
}

/// What became of records in recorders, but for losses.
struct CaptureCounts {
  std::uint32_t wanted = 0;
  std::uint32_t captured = 0;  ///< whole in a ring
  std::uint32_t degraded = 0;  ///< reduced in a ring
  std::uint32_t empty = 0;     ///< no tensor had a byte: CANN writes no file for such an operator
};

/// What became of the records that a config, or all configs of a session, wanted. All counts wrap at 32 bits.
/// Once the rings are drained: wanted = empty + written + dropped() + aborted(), and captured + degraded =
/// written + sink_failed + quota.
struct DumpCounts : CaptureCounts, LossCounts {
  std::uint32_t written = 0;  ///< committed to the sink, whole or reduced
};

/// The counts in the order in which they are written: first a recorder's, then the drainer's.
enum class DumpCount : std::uint8_t {
  wanted,
  captured,
  degraded,
  empty,
  cut_short,
  first_cause,
  last_recorder_cause = first_cause + kRecorderCauses - 1,
  first_sink_cause,
  written = first_cause + kLossCauses,
};

constexpr DumpCount count_of(LossCause cause) {
  return static_cast<DumpCount>(static_cast<std::size_t>(DumpCount::first_cause) +
                                static_cast<std::size_t>(cause));
}

/// In the order of `DumpCount`.
inline constexpr std::uint32_t DumpCounts::*kDumpCountFields[] = {
    &DumpCounts::wanted,    &DumpCounts::captured,      &DumpCounts::degraded,    &DumpCounts::empty,
    &DumpCounts::cut_short, &DumpCounts::invalid,       &DumpCounts::ring_full,   &DumpCounts::timed_out,
    &DumpCounts::too_large, &DumpCounts::device_failed, &DumpCounts::sink_failed, &DumpCounts::quota,
    &DumpCounts::written,
};
inline constexpr std::size_t kDumpCounts = std::size(kDumpCountFields);
static_assert(kDumpCounts == static_cast<std::size_t>(DumpCount::written) + 1);

/// In memory the counts lie in the same order, so that a device needs no table of them.
static_assert([] {
  for (std::size_t i = 0; i < kDumpCounts; ++i) {
    DumpCounts counts;
    counts.*kDumpCountFields[i] = 1;
    if (std::bit_cast<std::array<std::uint32_t, kDumpCounts>>(counts)[i] != 1) return false;
  }
  return true;
}());

/// The count of that index.
inline std::uint32_t count_at(const DumpCounts& counts, std::size_t index) {
  std::uint32_t count;
  std::memcpy(&count, reinterpret_cast<const std::byte*>(&counts) + index * sizeof count, sizeof count);
  return count;
}

/// A count that one context adds to and any context may read. It needs no read-modify-write, so it works on a
/// Cortex-M0.
class Count {
 public:
  [[gnu::always_inline]] void add(std::uint32_t more) {
    value_.store(value() + more, std::memory_order_relaxed);
  }
  [[gnu::always_inline]] void add_one() { add(1); }
  void clear() { value_.store(0, std::memory_order_relaxed); }
  [[gnu::always_inline]] std::uint32_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> value_{0};
};

/// Adds the `size` counts from `from` on to as many that lie at `to`.
OPDUMP_APART_IF_LEAN inline void add_counts(const Count* from, std::size_t size, std::byte* to) {
  for (; size != 0; --size) {
    std::uint32_t count;
    std::memcpy(&count, to, sizeof count);
    count += (from++)->value();
    std::memcpy(to, &count, sizeof count);
    to += sizeof count;
  }
}

/// The counts from `kFirst` to `kLast`, which one context adds to and any context may read.
template <DumpCount kFirst, DumpCount kLast>
class CountBlock {
 public:
  [[gnu::always_inline]] void add_one(DumpCount count) { counts_[index(count)].add_one(); }
  void add(DumpCount count, std::uint32_t more) { counts_[index(count)].add(more); }

  /// Adds those of `counts` that are here.
  void add(const DumpCounts& counts) {
    for (std::size_t i = 0; i < kSize; ++i) counts_[i].add(count_at(counts, i + index0()));
  }

  /// Adds these to `counts`.
  void add_to(DumpCounts& counts) const {
    add_counts(counts_, kSize, reinterpret_cast<std::byte*>(&counts) + index0() * sizeof(std::uint32_t));
  }

  void clear() {
    for (Count& count : counts_) count.clear();
  }

 private:
  static constexpr std::size_t kSize = static_cast<std::size_t>(kLast) - static_cast<std::size_t>(kFirst) + 1;
  static constexpr std::size_t index0() { return static_cast<std::size_t>(kFirst); }
  static constexpr std::size_t index(DumpCount count) { return static_cast<std::size_t>(count) - index0(); }

  Count counts_[kSize];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
