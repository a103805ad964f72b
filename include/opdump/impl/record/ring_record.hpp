#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/build.hpp"
#include "opdump/types/counts.hpp"
#include "opdump/types/dtype.hpp"

/// How a record lies in a ring: as a sequence of chunks. One `record` chunk holds the head and as much of the
/// tensors' bytes as fitted; `data` chunks hold the rest, and the last chunk says that it is the last. The bytes are
/// those of the inputs in order, then of the outputs in order, without gaps. An `again` chunk is a `record` chunk
/// that holds only how its head differs from that of an earlier record of the same ring (see known_heads.hpp). A
/// `lost` chunk holds the head, without tensors, of a record that was given up before or after it began. A `reduced`
/// chunk takes the record's place: it holds the whole head and what a Reduction made of each tensor; with
/// OPDUMP_SMALL_CODE, the head as in a `lost` chunk and the file that a Reduction made. Both kinds are left out when
/// the ring has no room for them, so any chunk but `data` ends a record that is unfinished. A `report` chunk is the
/// last chunk of an overflowed operator's record, which is written with its report or not at all: it holds the head
/// of the record that the report becomes, and an OverflowReport. A `kept` chunk is a whole record: its head, and what
/// a KeptTable made of each tensor. Everything is in the byte order of the machine and refers to nothing outside the
/// ring but the session's table of targets, so a record outlives its model.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

enum class ChunkKind : std::uint8_t {
  record = 1,
  data = 2,
  lost = 3,
  reduced = 4,
  again = 5,
  report = 6,
  kept = 7
};

/// What a recorder lost without a trace in its ring. Empty in a build without a journal to report it.
struct LossGap {
  [[no_unique_address]] Maybe<build::kJournal, LossCauses> causes{};  ///< 0: nothing
  /// Number of the target that lost records; 0: several, or not known.
  [[no_unique_address]] Maybe<build::kFullJournal, std::uint8_t, 1> target{};

  static LossGap of(LossCauses causes, std::uint8_t target) { return {causes, target}; }

  void add(LossCause cause, std::uint8_t from) {
    target = causes == 0 || target == from ? from : std::uint8_t{0};
    causes = static_cast<LossCauses>(causes | bit(cause));
  }
};

struct ChunkHead {
  ChunkKind kind;
  std::uint8_t last_and_gap;  ///< bit 0: the record is complete with this chunk; above: causes of the gap
  Status cause;               ///< of a lost or reduced record
  std::uint8_t gap_target;
  std::uint32_t head_bytes;  ///< bytes from after this head to the tensors' bytes; padding in a data chunk

  bool last() const { return (last_and_gap & 1) != 0; }

  /// This head, which has no gap, with `gap` added.
  ChunkHead with(const LossGap& gap) const {
    if (!build::kJournal || gap.causes == 0) return *this;
    return {kind, static_cast<std::uint8_t>(last_and_gap | gap.causes << 1), cause, gap.target, head_bytes};
  }

  /// What was lost before a chunk that is not `data`.
  LossGap gap() const { return LossGap::of(static_cast<LossCauses>(last_and_gap >> 1), gap_target); }
};
static_assert(sizeof(ChunkHead) == 8 && kLossCauses <= 7);

constexpr ChunkHead chunk_head(ChunkKind kind, bool last, Status cause, const LossGap& gap,
                               std::uint32_t head_bytes) {
  return {kind, static_cast<std::uint8_t>(gap.causes << 1 | (last ? 1 : 0)), cause, gap.target, head_bytes};
}

/// Where a record belongs and when it was made.
struct RecordHead {
  std::uint64_t unix_us;
  std::uint64_t step;  ///< of the model; 0 without a model
  /// The target's time; the table of targets does not survive a reset.
  [[no_unique_address]] Maybe<build::kSurvivesReset, std::uint64_t> dump_time;
  std::uint32_t sequence;  ///< of the recorder; counts lost records too, so that a loss leaves a gap
  [[no_unique_address]] Maybe<build::kSurvivesReset, std::uint32_t> device_id;  ///< of the target
  std::uint32_t load;  ///< which loading of a model the operator is of; 0: none
  std::uint32_t model_id;
  std::uint32_t task_id;
  std::uint32_t stream_id;
  std::uint16_t model_name_bytes;
  std::uint16_t type_bytes;
  std::uint16_t name_bytes;
  std::uint8_t in_model;  ///< 0: an operator run on its own
  std::uint8_t target;    ///< index in the session's table of targets
  std::uint16_t input_count;
  std::uint16_t output_count;
  std::uint32_t file_bytes;  ///< bytes at the end of this head that begin the file; 0: none
  /// Number under which `again` chunks refer to this head; `kNotKnown`: none do.
  [[no_unique_address]] Maybe<!build::kLean, std::uint32_t, 1> known_as;
  [[no_unique_address]] Maybe<!build::kLean, std::uint32_t, 2> op;  ///< index in its model
};
static_assert(sizeof(RecordHead) == (build::kLean ? 56 : 64) + (build::kSurvivesReset ? 8 : 0));

inline constexpr std::uint32_t kNotKnown = 0xffffffff;

/// Whether the content of a ring is checked before it is believed. A recorder wrote it, but after a reset the
/// ring's memory may hold anything.
inline constexpr bool kDoubtRings = !build::kLean || build::kSurvivesReset;

/// What an `again` chunk says about its record; the tensors' addresses follow, 8 bytes each.
struct AgainHead {
  std::uint64_t unix_us;
  std::uint64_t step;
  std::uint32_t sequence;
  std::uint32_t known_as;
};
static_assert(sizeof(AgainHead) == 24);

/// One tensor of a record. `rank` + `original_rank` dims of 8 bytes follow it, then the original name, padded
/// to 8 bytes.
struct TensorHead {
  std::uint64_t address;
  std::uint64_t bytes;
  std::int32_t format;
  std::int32_t original_index;
  std::int32_t original_format;
  std::uint16_t address_kind;
  std::uint16_t has_originals;  ///< whether any `original_` field is set
  DType dtype;
  DType original_dtype;
  std::uint8_t rank;
  std::uint8_t original_rank;
  std::uint16_t original_name_bytes;
  std::uint16_t index;  ///< among the operator's inputs or outputs
};
static_assert(sizeof(TensorHead) == 40);

/// Heads larger than this are sent whole each time. Enough for three tensors of rank 4 with all their originals.
inline constexpr std::size_t kMaxKnownHeadBytes = 512;

/// `bytes` rounded up to a multiple of 8, so that the next field stays aligned.
constexpr std::size_t padded_bytes(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
