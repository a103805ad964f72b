#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <string_view>

#include "opdump/bytes.hpp"
#include "opdump/counts.hpp"
#include "opdump/model.hpp"
#include "opdump/model_plan.hpp"
#include "opdump/nano_form.hpp"
#include "opdump/originals.hpp"
#include "opdump/targets.hpp"
#include "opdump/tensor.hpp"

/// How a record lies in a ring. It is a sequence of chunks: one `record` chunk with the head and as much of
/// the tensors' bytes as fitted, then `data` chunks with the rest; the last one says so. The bytes are those
/// of the inputs in order, then of the outputs in order, without gaps. An `again` chunk is a `record` one
/// whose head is that of an earlier record of the same ring but for what it says itself (see
/// known_heads.hpp). A `lost` chunk has the head of a record that was given up, without tensors, before or
/// after it began; a `reduced` one has the whole head and what a Reduction made of each tensor, in the
/// record's place; with OPDUMP_SMALL_CODE it has the head of a `lost` one, and the file that a Reduction
/// made. Either is left out when there is no room for it, so any chunk but `data` ends a record that is
/// unfinished. A `report` chunk is the last of an operator's record that overflowed, which is written
/// with it or not at all: it has the head of the record that the report becomes, and an OverflowReport.
/// Everything is in the byte order of the machine and refers to nothing outside the ring but the session's
/// table of targets, so a record outlives its model.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

enum class ChunkKind : std::uint8_t { record = 1, data = 2, lost = 3, reduced = 4, again = 5, report = 6 };

#if OPDUMP_JOURNAL
/// What a recorder lost without a trace in its ring.
struct LossGap {
  LossCauses causes = 0;    ///< 0: nothing
  std::uint8_t target = 0;  ///< number of the target that was lost from; 0: several

  static LossGap of(LossCauses causes, std::uint8_t target) { return {causes, target}; }

  void add(LossCause cause, std::uint8_t from) {
    target = causes == 0 || target == from ? from : std::uint8_t{0};
    causes = static_cast<LossCauses>(causes | bit(cause));
  }
};
#else
/// Compiled out with the journals that would tell of it.
struct LossGap {
  static constexpr LossCauses causes = 0;
  static constexpr std::uint8_t target = 0;

  static LossGap of(LossCauses, std::uint8_t) { return {}; }
  void add(LossCause, std::uint8_t) {}
};
#endif

struct ChunkHead {
  ChunkKind kind;
  std::uint8_t last_and_gap;  ///< bit 0: the record is complete with this chunk; above: causes of the gap
  Status cause;               ///< of a lost or reduced record
  std::uint8_t gap_target;
  std::uint32_t head_bytes;  ///< bytes from after this head to the tensors' bytes; padding in a data chunk

  bool last() const { return (last_and_gap & 1) != 0; }

  /// This head, which tells of no gap, telling of `gap`.
  ChunkHead with(const LossGap& gap) const {
    if (gap.causes == 0) return *this;
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
#if OPDUMP_SURVIVE_RESET
  std::uint64_t dump_time;  ///< of the target, which does not survive
#endif
  std::uint32_t
      sequence;  ///< of the recorder; counts the records there should be, so what was lost leaves a gap
#if OPDUMP_SURVIVE_RESET
  std::uint32_t device_id;  ///< of the target
#endif
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
  std::uint32_t file_bytes;  ///< how much at the end of this head begins the file; 0: nothing
#if OPDUMP_SMALL_CODE == 0
  std::uint32_t known_as;  ///< number under which `again` chunks refer to this head; `kNotKnown`: none do
  std::uint32_t op;        ///< index in its model
#endif
};
static_assert(sizeof(RecordHead) == (OPDUMP_SMALL_CODE != 0 ? 56 : 64) + (OPDUMP_SURVIVE_RESET != 0 ? 8 : 0));

inline constexpr std::uint32_t kNotKnown = 0xffffffff;

/// Whether what a ring holds is checked before it is believed. Its recorder has written it, but after a reset
/// its memory may hold anything.
inline constexpr bool kDoubtRings = OPDUMP_SMALL_CODE == 0 || OPDUMP_SURVIVE_RESET != 0;

/// What an `again` chunk says of its record; the tensors' addresses follow, 8 bytes each.
struct AgainHead {
  std::uint64_t unix_us;
  std::uint64_t step;
  std::uint32_t sequence;
  std::uint32_t known_as;
};
static_assert(sizeof(AgainHead) == 24);

/// One tensor of a record; `rank` + `original_rank` dims of 8 bytes follow each, and the original name,
/// padded to 8 bytes.
struct TensorHead {
  std::uint64_t address;
  std::uint64_t bytes;
  std::int32_t format;
  std::int32_t original_format;
  std::int32_t original_index;
  std::uint16_t address_kind;
  std::uint16_t has_originals;  ///< whether any `original_` field says something
  DType dtype;
  DType original_dtype;
  std::uint8_t rank;
  std::uint8_t original_rank;
  std::uint16_t original_name_bytes;
  std::uint16_t index;  ///< among the operator's inputs or outputs
};
static_assert(sizeof(TensorHead) == 40);

/// What is captured of one operator, as the recorder sees it.
struct RecordSource {
  const OpDesc* op;
  const ModelPlan* plan;  ///< that `op` is of; null: it was run on its own
  const DumpTarget* target;
  std::uint64_t step;
  std::uint64_t unix_us;
  std::uint32_t sequence;
#if OPDUMP_SMALL_CODE == 0
  std::uint32_t known_as;
#endif
  std::uint8_t target_index;
  std::uint16_t first_index;  ///< of the first input and the first output
  CapturedTensors tensors;
#if OPDUMP_SMALL_CODE
  NanoHeadSizes nano_head{};  ///< set by `check_record`
#else
  const std::uint16_t* indexes = nullptr;  ///< of each tensor, where some are left out; null: consecutive
#endif
#if OPDUMP_OVERFLOW
  const OpDesc* of = nullptr;  ///< the operator of the plan, when `op` only names the record; null: `op`
#endif

  /// Of tensor `i`, the first `inputs` of which are inputs.
  std::uint16_t index_of(std::size_t i, std::size_t inputs) const {
#if OPDUMP_SMALL_CODE == 0
    if (indexes != nullptr) return indexes[i];
#endif
    return static_cast<std::uint16_t>(first_index + (i < inputs ? i : i - inputs));
  }

  std::string_view model_name() const {
    return plan != nullptr ? plan->directory_name : std::string_view();
  }
#if OPDUMP_SMALL_CODE && OPDUMP_OVERFLOW
  std::uint32_t stream_id() const {
    return (of != nullptr ? of : op)->stream_id;
  }
#else
  std::uint32_t stream_id() const {
    return op->stream_id;
  }
#endif
#if OPDUMP_FAULTS
  std::size_t op_index() const {
    return static_cast<std::size_t>((of != nullptr ? of : op) - plan->model->ops.data());
  }
#else
  std::size_t op_index() const {
    return static_cast<std::size_t>(op - plan->model->ops.data());
  }
#endif
};

inline constexpr std::size_t kMaxTextBytes = 0xffff;
inline constexpr std::size_t kMaxTensors = 0xffff;
/// Bytes that a nano record says of its inputs or its outputs.
inline constexpr std::size_t kMaxListBytes = 0x3fffffff;

/// `bytes` rounded up, so that what follows is as aligned as what it follows.
constexpr std::size_t padded_bytes(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

/// Bytes of a tensor's head, its dims and its original name.
inline std::size_t encoded_tensor_bytes(const TensorView& tensor) {
  return sizeof(TensorHead) + tensor.shape.size_bytes() + tensor.original_shape.size_bytes() +
         padded_bytes(tensor.original_name.size());
}

/// Whether heads go through the ring with a TensorHead per tensor.
inline constexpr bool kTensorHeads = OPDUMP_SMALL_CODE == 0;

/// `invalid_tensor`, `name_too_long` or `too_many_tensors` when no record can hold `source`. `data_bytes`
/// becomes the sum of the tensors' bytes.
inline Status check_record(RecordSource& source, DataBytes& data_bytes) {
  data_bytes = 0;
#if OPDUMP_SMALL_CODE
  source.nano_head = {};
#endif
  const OpDesc& op = *source.op;
  static_assert((kMaxTextBytes & (kMaxTextBytes + 1)) == 0 && kMaxTensors == kMaxTextBytes);
  if ((source.model_name().size() | op.type.size() | op.name.size()) > kMaxTextBytes)
    return Status::name_too_long;
  const CapturedTensors& tensors = source.tensors;
  // Outputs without an original name get the operator's in the file, whose head counts in 32 bits.
  if ((tensors.inputs.size() | tensors.outputs.size()) > kMaxTensors ||
      (OPDUMP_SMALL_CODE == 0 && tensors.outputs.size() * op.name.size() > kMaxListBytes))
    return Status::too_many_tensors;
  for (unsigned is_output = 0; is_output < 2; ++is_output) {
    for (const TensorView& tensor : tensors.list(is_output != 0)) {
      if (tensor.shape.size() > kMaxRank || tensor.original_shape.size() > kMaxRank)
        return Status::invalid_tensor;
      if (tensor.original_name.size() > kMaxTextBytes) return Status::name_too_long;
      std::uint64_t needed = 0;
      if (!count_bytes(tensor.dtype, tensor.shape, needed) || tensor.bytes < needed ||
          tensor.bytes > std::numeric_limits<DataBytes>::max() - data_bytes)
        return Status::invalid_tensor;
      data_bytes += static_cast<DataBytes>(tensor.bytes);
#if OPDUMP_SMALL_CODE
      source.nano_head.add(tensor, is_output != 0, op.name);
      if (source.nano_head.bytes[is_output] > kMaxListBytes) return Status::too_many_tensors;
#endif
    }
  }
  return Status::ok;
}

/// Bytes of a record's head without those of its tensors.
inline std::size_t plain_head_bytes(const RecordSource& source) {
  return sizeof(RecordHead) + source.model_name().size() + source.op->type.size() + source.op->name.size();
}

/// Lengths of a record in the ring.
struct RecordBytes {
  std::uint32_t head = 0;  ///< of the head, up to the tensors' bytes
  DataBytes data = 0;      ///< of the tensors
};

/// Sets `bytes` to what `encode_record` will write, and what follows. Errors as `check_record`, and
/// `too_large`.
inline Status measure_record(RecordSource& source, RecordBytes& bytes) {
  if (const Status status = check_record(source, bytes.data); status != Status::ok) return status;
  std::uint64_t head = plain_head_bytes(source);
  if (kTensorHeads) {
    source.tensors.for_each_tensor(
        [&head](const TensorView& tensor, bool, std::uint32_t) { head += encoded_tensor_bytes(tensor); });
  }
  if (head > 0x7fffffff - 7) return Status::too_large;
  bytes.head = static_cast<std::uint32_t>(padded_bytes(static_cast<std::size_t>(head)));
  return Status::ok;
}

/// Whether the runtime said anything of what `tensor` was in the framework.
constexpr bool has_originals(const TensorView& tensor) {
  return (static_cast<std::uint32_t>(tensor.original_dtype) |
          static_cast<std::uint32_t>(tensor.original_index) |
          (static_cast<std::uint32_t>(tensor.original_format) ^
           static_cast<std::uint32_t>(Format::reserved)) |
          tensor.original_shape.size() | tensor.original_name.size()) != 0;
}

/// Where the dims at `at` end if they are those of `shape`; else null.
[[gnu::always_inline]] inline const std::byte* past_dims(const std::byte* at, Shape shape) {
  for (const Dim dim : shape) {
    if (*std::launder(reinterpret_cast<const Dim*>(at)) != dim) return nullptr;
    at += sizeof dim;
  }
  return at;
}

/// The same of the original dims and the original name, with whether the head says the other originals.
[[gnu::noinline]] inline const std::byte* past_originals(const std::byte* at, const TensorHead& head,
                                                         const TensorView& tensor) {
  const std::string_view name = tensor.original_name;
  if (head.original_dtype != tensor.original_dtype ||
      head.original_format != static_cast<std::int32_t>(tensor.original_format) ||
      head.original_index != tensor.original_index || head.original_rank != tensor.original_shape.size() ||
      head.original_name_bytes != name.size())
    return nullptr;
  at = past_dims(at, tensor.original_shape);
  if (at == nullptr || name.empty()) return at;
  return std::memcmp(at, name.data(), name.size()) == 0 ? at + padded_bytes(name.size()) : nullptr;
}

/// Where what a head says of a tensor at `at`, which is 8-byte aligned, ends if it is what `tensor` is in all
/// but its address; else null.
[[gnu::always_inline]] inline const std::byte* past_tensor(const std::byte* at, const TensorView& tensor) {
  const TensorHead& head = *std::launder(reinterpret_cast<const TensorHead*>(at));
  if (head.bytes != tensor.bytes || head.dtype != tensor.dtype || head.rank != tensor.shape.size() ||
      head.format != static_cast<std::int32_t>(tensor.format) ||
      head.address_kind != static_cast<std::uint32_t>(tensor.address_kind))
    return nullptr;
  at = past_dims(at + sizeof head, tensor.shape);
  if (at == nullptr) return nullptr;
  if (has_originals(tensor)) return past_originals(at, head, tensor);
  return head.has_originals == 0 ? at : nullptr;
}

/// Writes the head, which says that `file_bytes` bytes of the file stand at its end, the heads of `tensors`
/// and the texts to `to`, which is 8-byte aligned and has room for them.
inline void encode_record(const RecordSource& source, const CapturedTensors& tensors,
                          std::uint32_t file_bytes, std::byte* to) {
  const ModelPlan* const plan = source.plan;
  const OpDesc& op = *source.op;
  RecordHead& head = *::new (to) RecordHead {
    .unix_us = source.unix_us, .step = source.step,
#if OPDUMP_SURVIVE_RESET
    .dump_time = source.target->time,
#endif
    .sequence = source.sequence,
#if OPDUMP_SURVIVE_RESET
    .device_id = source.target->device_id,
#endif
    .load = 0, .model_id = 0, .task_id = op.task_id, .stream_id = source.stream_id(), .model_name_bytes = 0,
    .type_bytes = static_cast<std::uint16_t>(op.type.size()),
    .name_bytes = static_cast<std::uint16_t>(op.name.size()), .in_model = 0, .target = source.target_index,
    .input_count = static_cast<std::uint16_t>(tensors.inputs.size()),
    .output_count = static_cast<std::uint16_t>(tensors.outputs.size()), .file_bytes = file_bytes,
#if OPDUMP_SMALL_CODE == 0
    .known_as = source.known_as, .op = 0,
#endif
  };
  std::string_view model_name;
  if (plan != nullptr) {
    model_name = plan->directory_name;
    head.load = plan->load;
    head.model_id = plan->model->id;
    head.model_name_bytes = static_cast<std::uint16_t>(model_name.size());
    head.in_model = 1;
#if OPDUMP_SMALL_CODE == 0
    head.op = static_cast<std::uint32_t>(source.op_index());
#endif
  }
  to += sizeof(RecordHead);
  for (std::size_t i = 0; kTensorHeads && i < tensors.size(); ++i) {
    const TensorView& tensor = tensors[i];
    ::new (to) TensorHead{
        .address = tensor.address,
        .bytes = tensor.bytes,
        .format = static_cast<std::int32_t>(tensor.format),
        .original_format = static_cast<std::int32_t>(tensor.original_format),
        .original_index = tensor.original_index,
        .address_kind = static_cast<std::uint16_t>(tensor.address_kind),
        .has_originals = static_cast<std::uint16_t>(has_originals(tensor) ? 1 : 0),
        .dtype = tensor.dtype,
        .original_dtype = tensor.original_dtype,
        .rank = static_cast<std::uint8_t>(tensor.shape.size()),
        .original_rank = static_cast<std::uint8_t>(tensor.original_shape.size()),
        .original_name_bytes = static_cast<std::uint16_t>(tensor.original_name.size()),
        .index = source.index_of(i, tensors.inputs.size()),
    };
    to += sizeof(TensorHead);
    to = put_short(to, tensor.shape.data(), tensor.shape.size_bytes());
    to = put_short(to, tensor.original_shape.data(), tensor.original_shape.size_bytes());
    copy_short(to, tensor.original_name.data(), tensor.original_name.size());
    to += padded_bytes(tensor.original_name.size());
  }
  to = put_short(to, model_name.data(), model_name.size());
  to = put_short(to, op.type.data(), op.type.size());
  copy_short(to, op.name.data(), op.name.size());
}

class ReadyName;

/// An encoded record's head, read in place. The bytes are checked once, by `parse`; they must stay.
class RecordView {
 public:
  /// `malformed` when the lengths inside do not fit `bytes`, which are 8-byte aligned.
  static Result<RecordView> parse(Bytes bytes) {
    RecordView view;
    if (kDoubtRings && bytes.size() < sizeof(RecordHead)) return Status::malformed;
    view.head_ = std::launder(reinterpret_cast<const RecordHead*>(bytes.data()));
    view.tensors_ = bytes.data() + sizeof(RecordHead);
    std::size_t at = sizeof(RecordHead);
    const std::size_t text_bytes =
        std::size_t{view.head_->model_name_bytes} + view.head_->type_bytes + view.head_->name_bytes;
    for (std::uint32_t i = 0; kTensorHeads && i < view.tensor_count(); ++i) {
      if (kDoubtRings && bytes.size() - at < sizeof(TensorHead)) return Status::malformed;
      const TensorHead& tensor = *std::launder(reinterpret_cast<const TensorHead*>(bytes.data() + at));
      const std::size_t whole = tensor_bytes(tensor);
      if (kDoubtRings &&
          (tensor.rank > kMaxRank || tensor.original_rank > kMaxRank ||
           static_cast<int>(tensor.dtype) >= kDTypeCount ||
           static_cast<int>(tensor.original_dtype) >= kDTypeCount || bytes.size() - at < whole)) {
        return Status::malformed;
      }
      at += whole;
    }
    if (kDoubtRings &&
        (bytes.size() - at < text_bytes || bytes.size() - at - text_bytes < view.head_->file_bytes))
      return Status::malformed;
    view.texts_ = reinterpret_cast<const char*>(bytes.data() + at);
    return view;
  }

  /// This view of a copy of the bytes at `bytes`.
  RecordView moved_to(const std::byte* bytes) const {
    RecordView view;
    view.head_ = std::launder(reinterpret_cast<const RecordHead*>(bytes));
    view.tensors_ = bytes + sizeof(RecordHead);
    view.texts_ =
        reinterpret_cast<const char*>(view.tensors_) + (texts_ - reinterpret_cast<const char*>(tensors_));
    return view;
  }

  /// Makes the head at `bytes`, which this is the view of, that of the record that `again` and `addresses`
  /// tell of. Returns whether an address is another one than before.
  bool renew(const AgainHead& again, std::byte* bytes, const std::byte* addresses) const {
    RecordHead& head = *std::launder(reinterpret_cast<RecordHead*>(bytes));
    head.unix_us = again.unix_us;
    head.step = again.step;
    head.sequence = again.sequence;
    std::byte* at = bytes + sizeof head;
    bool moved = false;
    for (std::uint32_t i = tensor_count(); i != 0; --i, addresses += sizeof(Address)) {
      TensorHead& tensor = *std::launder(reinterpret_cast<TensorHead*>(at));
      Address address;
      std::memcpy(&address, addresses, sizeof address);
      moved |= address != tensor.address;
      tensor.address = address;
      at += tensor_bytes(tensor);
    }
    return moved;
  }

#if OPDUMP_SMALL_CODE == 0
  /// The record's name in the sink but for the time; null: still to be made.
  const ReadyName* ready_name() const {
    return ready_name_;
  }

  /// The head of the record's nano file; empty: still to be made.
  Bytes nano_head() const {
    return nano_head_;
  }

  /// What the drainer has made of this head before; must stay as long as this view.
  void set_ready(const ReadyName& name, Bytes nano_head) {
    ready_name_ = &name;
    nano_head_ = nano_head;
  }
#endif

  const RecordHead& head() const {
    return *head_;
  }
  std::string_view model_name() const {
    return {texts_, head_->model_name_bytes};
  }
  std::string_view type() const {
    return {end_of(model_name()), head_->type_bytes};
  }
  std::string_view name() const {
    return {end_of(type()), head_->name_bytes};
  }
  std::uint32_t tensor_count() const {
    return std::uint32_t{head_->input_count} + head_->output_count;
  }

  /// Calls `use(tensor, is_output, index)` for the inputs in order, then the outputs, originals filled in.
  template <class Use>
  void for_each_tensor(Use use) const {
    const std::byte* at = tensors_;
    for (std::uint32_t i = 0; i < tensor_count(); ++i) {
      std::uint32_t index = 0;
      const TensorView tensor = next_tensor(at, index);
      use(tensor, i >= head_->input_count, index);
    }
  }

 private:
  TensorView next_tensor(const std::byte*& at, std::uint32_t& index) const {
    const TensorHead& head = *std::launder(reinterpret_cast<const TensorHead*>(at));
    const Dim* dims = reinterpret_cast<const Dim*>(at + sizeof head);
    // Every field once: clearing the whole first would cost as much.
    TensorView tensor = {
        .address = head.address,
        .bytes = head.bytes,
        .dtype = head.dtype,
        .format = static_cast<Format>(head.format),
        .shape = {dims, head.rank},
        .original_shape = {dims + head.rank, head.original_rank},
        .original_name = {reinterpret_cast<const char*>(dims + head.rank + head.original_rank),
                          head.original_name_bytes},
        .original_index = head.original_index,
        .original_dtype = head.original_dtype,
        .original_format = static_cast<Format>(head.original_format),
        .address_kind = static_cast<AddressKind>(head.address_kind),
    };
    fill_in_originals(tensor, name(), head.index);
    at += tensor_bytes(head);
    index = head.index;
    return tensor;
  }

  static const char* end_of(std::string_view text) {
    return text.data() + text.size();
  }

  static std::size_t tensor_bytes(const TensorHead& tensor) {
    return sizeof(TensorHead) + sizeof(Dim) * (std::size_t{tensor.rank} + tensor.original_rank) +
           padded_bytes(tensor.original_name_bytes);
  }

  const RecordHead* head_ = nullptr;
  const std::byte* tensors_ = nullptr;
  const char* texts_ = nullptr;
#if OPDUMP_SMALL_CODE == 0
  const ReadyName* ready_name_ = nullptr;
  Bytes nano_head_{};
#endif
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
