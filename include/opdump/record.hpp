#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

#include "opdump/bytes.hpp"
#include "opdump/counts.hpp"
#include "opdump/model.hpp"
#include "opdump/model_plan.hpp"
#include "opdump/nano.hpp"
#include "opdump/targets.hpp"
#include "opdump/tensor.hpp"

/// How a record lies in a ring. It is a sequence of chunks: one `record` chunk with the head and as much of
/// the tensors' bytes as fitted, then `data` chunks with the rest; the last one says so. The bytes are those
/// of the inputs in order, then of the outputs in order, without gaps. An `again` chunk is a `record` one
/// whose head is that of an earlier record of the same ring but for what it says itself (see
/// known_heads.hpp). A `lost` chunk has the head of a record that was given up, without tensors, before or
/// after it began; a `reduced` one has the whole head and what a Reduction made of each tensor, in the
/// record's place. Either is left out when there is no room for it, so any chunk but `data` ends a record
/// that is unfinished. A `report` chunk is the last of an operator's record that overflowed, which is written
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
  std::uint64_t step;       ///< of the model; 0 without a model
  std::uint64_t dump_time;  ///< YYYYMMDDHHMMSS of the config
  std::uint32_t
      sequence;  ///< of the recorder; counts the records there should be, so what was lost leaves a gap
  std::uint32_t device_id;
  std::uint32_t model_id;
  std::uint32_t task_id;
  std::uint32_t stream_id;
  std::uint16_t model_name_bytes;
  std::uint16_t type_bytes;
  std::uint16_t name_bytes;
  std::uint16_t input_count;
  std::uint16_t output_count;
  std::uint8_t in_model;     ///< 0: an operator run on its own
  std::uint8_t target;       ///< index in the session's table of targets
  std::uint32_t file_bytes;  ///< how much at the end of this head begins the file; 0: nothing
#if OPDUMP_SMALL_CODE == 0
  std::uint32_t known_as;  ///< number under which `again` chunks refer to this head; `kNotKnown`: none do
  std::uint32_t load;      ///< which loading of a model the operator is of; 0: none
  std::uint32_t op;        ///< index in its model
#endif
};
static_assert(sizeof(RecordHead) == (OPDUMP_SMALL_CODE != 0 ? 64 : 72));

inline constexpr std::uint32_t kNotKnown = 0xffffffff;

/// What an `again` chunk says of its record; the tensors' addresses follow, 8 bytes each.
struct AgainHead {
  std::uint64_t unix_us;
  std::uint64_t step;
  std::uint32_t sequence;
  std::uint32_t known_as;
};
static_assert(sizeof(AgainHead) == 24);

/// One tensor of a record; `rank` + `original_rank` dims of 8 bytes follow each.
struct TensorHead {
  std::uint64_t address;
  std::uint64_t bytes;
  std::int32_t format;
  std::int32_t original_format;
  std::int32_t original_index;
  std::int32_t address_kind;
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
  NanoHeadSizes nano_head;  ///< set by `nano_record_bytes`
#if OPDUMP_SMALL_CODE == 0
  const std::uint16_t* indexes = nullptr;  ///< of each tensor, where some are left out; null: consecutive
#endif
#if OPDUMP_FAULTS
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

/// What a tensor was in the framework; where the runtime left it out, what it is on the device.
constexpr Shape original_shape_of(const TensorView& tensor) {
  return tensor.original_shape.empty() ? tensor.shape : tensor.original_shape;
}
constexpr DType original_dtype_of(const TensorView& tensor) {
  return tensor.original_dtype == DType::undefined ? tensor.dtype : tensor.original_dtype;
}
constexpr Format original_format_of(const TensorView& tensor) {
  return tensor.original_format == Format::reserved ? tensor.format : tensor.original_format;
}
constexpr std::string_view original_name_of(const TensorView& tensor, std::string_view op_name) {
  return tensor.original_name.empty() ? op_name : tensor.original_name;
}
constexpr std::int32_t original_index_of(const TensorView& tensor, std::uint32_t index) {
  return tensor.original_name.empty() ? static_cast<std::int32_t>(index) : tensor.original_index;
}

/// Fills them in.
constexpr void fill_in_originals(TensorView& tensor, std::string_view op_name, std::uint32_t index) {
  tensor.original_shape = original_shape_of(tensor);
  tensor.original_dtype = original_dtype_of(tensor);
  tensor.original_format = original_format_of(tensor);
  tensor.original_index = original_index_of(tensor, index);
  tensor.original_name = original_name_of(tensor, op_name);
}

/// Bytes of a tensor's head and its dims.
inline std::size_t encoded_tensor_bytes(const TensorView& tensor) {
  return sizeof(TensorHead) + tensor.shape.size_bytes() + tensor.original_shape.size_bytes();
}

/// Whether heads go through the ring with a TensorHead per tensor.
inline constexpr bool kTensorHeads = OPDUMP_SMALL_CODE == 0 || OPDUMP_DEGRADE != 0;

/// `invalid_tensor`, `name_too_long` or `too_many_tensors` when no record can hold `source`. `data_bytes`
/// becomes the sum of the tensors' bytes.
inline Status check_record(const RecordSource& source, std::uint64_t& data_bytes) {
  data_bytes = 0;
  if (source.model_name().size() > kMaxTextBytes || source.op->type.size() > kMaxTextBytes ||
      source.op->name.size() > kMaxTextBytes) {
    return Status::name_too_long;
  }
  const CapturedTensors& tensors = source.tensors;
  if (tensors.inputs.size() > kMaxTensors || tensors.outputs.size() > kMaxTensors)
    return Status::too_many_tensors;
  // Outputs without an original name get the operator's in the file, whose head counts in 32 bits.
  if (tensors.outputs.size() * source.op->name.size() > 0x3fffffff) return Status::too_many_tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorView& tensor = tensors[i];
    if (tensor.shape.size() > kMaxRank || tensor.original_shape.size() > kMaxRank)
      return Status::invalid_tensor;
    if (tensor.original_name.size() > kMaxTextBytes) return Status::name_too_long;
    const Result<std::uint64_t> needed = packed_bytes(tensor.dtype, tensor.shape);
    if (!needed.ok() || tensor.bytes < needed.value()) return Status::invalid_tensor;
    if (tensor.bytes > UINT64_MAX - data_bytes) return Status::invalid_tensor;
    data_bytes += tensor.bytes;
  }
  return Status::ok;
}

/// Bytes of a record's head without those of its tensors.
inline std::size_t plain_head_bytes(const RecordSource& source) {
  return sizeof(RecordHead) + source.model_name().size() + source.op->type.size() + source.op->name.size();
}

/// `bytes` rounded up so that the tensors' bytes start as aligned as the chunk's payload.
constexpr Result<std::uint32_t> aligned_head_bytes(std::uint64_t bytes) {
  if (bytes > 0x7fffffff - 7) return Status::too_large;
  return static_cast<std::uint32_t>((bytes + 7) / 8 * 8);
}

/// Bytes that `encode_record` will write; errors and `data_bytes` as `check_record`.
inline Result<std::uint32_t> record_head_bytes(const RecordSource& source, std::uint64_t& data_bytes) {
  if (const Status status = check_record(source, data_bytes); status != Status::ok) return status;
  std::uint64_t bytes = plain_head_bytes(source);
  if (kTensorHeads) {
    source.tensors.for_each_tensor([&bytes](const TensorView& tensor, bool, std::uint32_t) {
      bytes += encoded_tensor_bytes(tensor) + tensor.original_name.size();
    });
  }
  return aligned_head_bytes(bytes);
}

/// Where in the head that `encode_record` writes the tensors' original names begin.
inline std::size_t names_offset(const RecordSource& source) {
  std::size_t bytes = plain_head_bytes(source);
  for (std::size_t i = 0; i < source.tensors.size(); ++i) bytes += encoded_tensor_bytes(source.tensors[i]);
  return bytes;
}

/// Whether the dims at `at`, which is 8-byte aligned, are those of `shape`.
inline bool has_dims(const std::byte* at, Shape shape) {
  const Dim* dims = std::launder(reinterpret_cast<const Dim*>(at));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (dims[i] != shape[i]) return false;
  }
  return true;
}

/// Whether the tensor's head and dims at `at` and its original name at `name` are those of `tensor`, but for
/// the address.
inline bool describes_tensor(const std::byte* at, const std::byte* name, const TensorView& tensor) {
  const TensorHead& head = *std::launder(reinterpret_cast<const TensorHead*>(at));
  return head.bytes == tensor.bytes && head.dtype == tensor.dtype &&
         head.original_dtype == tensor.original_dtype && head.rank == tensor.shape.size() &&
         head.original_rank == tensor.original_shape.size() &&
         head.format == static_cast<std::int32_t>(tensor.format) &&
         head.original_format == static_cast<std::int32_t>(tensor.original_format) &&
         head.original_index == tensor.original_index &&
         head.address_kind == static_cast<std::int32_t>(tensor.address_kind) &&
         has_dims(at + sizeof head, tensor.shape) &&
         has_dims(at + sizeof head + tensor.shape.size_bytes(), tensor.original_shape) &&
         head.original_name_bytes == tensor.original_name.size() &&
         (tensor.original_name.empty() ||
          std::memcmp(name, tensor.original_name.data(), tensor.original_name.size()) == 0);
}

/// Writes the head, which says that `file_bytes` bytes of the file stand at its end, the heads of `tensors`
/// and the texts to `to`, which is 8-byte aligned and has room for them.
inline void encode_record(const RecordSource& source, const CapturedTensors& tensors,
                          std::uint32_t file_bytes, std::byte* to) {
  const ModelPlan* const plan = source.plan;
  const std::string_view model_name = source.model_name();
  const OpDesc& op = *source.op;
  ::new (to) RecordHead {
    .unix_us = source.unix_us, .step = source.step, .dump_time = source.target->time,
    .sequence = source.sequence, .device_id = source.target->device_id,
    .model_id = plan != nullptr ? plan->model->id : 0, .task_id = op.task_id, .stream_id = op.stream_id,
    .model_name_bytes = static_cast<std::uint16_t>(model_name.size()),
    .type_bytes = static_cast<std::uint16_t>(op.type.size()),
    .name_bytes = static_cast<std::uint16_t>(op.name.size()),
    .input_count = static_cast<std::uint16_t>(tensors.inputs.size()),
    .output_count = static_cast<std::uint16_t>(tensors.outputs.size()),
    .in_model = static_cast<std::uint8_t>(plan != nullptr), .target = source.target_index,
    .file_bytes = file_bytes,
#if OPDUMP_SMALL_CODE == 0
    .known_as = source.known_as, .load = plan != nullptr ? plan->load : 0,
    .op = plan != nullptr ? static_cast<std::uint32_t>(source.op_index()) : 0,
#endif
  };
  const auto put = [&to](const void* from, std::size_t bytes) {
    copy_short(to, from, bytes);
    to += bytes;
  };
  to += sizeof(RecordHead);
  for (std::size_t i = 0; kTensorHeads && i < tensors.size(); ++i) {
    const TensorView& tensor = tensors[i];
    ::new (to) TensorHead{
        .address = tensor.address,
        .bytes = tensor.bytes,
        .format = static_cast<std::int32_t>(tensor.format),
        .original_format = static_cast<std::int32_t>(tensor.original_format),
        .original_index = tensor.original_index,
        .address_kind = static_cast<std::int32_t>(tensor.address_kind),
        .dtype = tensor.dtype,
        .original_dtype = tensor.original_dtype,
        .rank = static_cast<std::uint8_t>(tensor.shape.size()),
        .original_rank = static_cast<std::uint8_t>(tensor.original_shape.size()),
        .original_name_bytes = static_cast<std::uint16_t>(tensor.original_name.size()),
        .index = source.index_of(i, tensors.inputs.size()),
    };
    to += sizeof(TensorHead);
    put(tensor.shape.data(), tensor.shape.size_bytes());
    put(tensor.original_shape.data(), tensor.original_shape.size_bytes());
  }
  for (const std::string_view text : {model_name, op.type, op.name}) {
    put(text.data(), text.size());
  }
  for (std::size_t i = 0; kTensorHeads && i < tensors.size(); ++i) {
    const std::string_view name = tensors[i].original_name;
    put(name.data(), name.size());
  }
}

class ReadyName;

/// An encoded record's head, read in place. The bytes are checked once, by `parse`; they must stay.
class RecordView {
 public:
  /// `malformed` when the lengths inside do not fit `bytes`, which are 8-byte aligned.
  static Result<RecordView> parse(Bytes bytes) {
    RecordView view;
    if (bytes.size() < sizeof(RecordHead)) return Status::malformed;
    view.head_ = std::launder(reinterpret_cast<const RecordHead*>(bytes.data()));
    view.tensors_ = bytes.data() + sizeof(RecordHead);
    std::size_t at = sizeof(RecordHead);
    std::uint64_t text_bytes =
        std::uint64_t{view.head_->model_name_bytes} + view.head_->type_bytes + view.head_->name_bytes;
    for (std::uint32_t i = 0; kTensorHeads && i < view.tensor_count(); ++i) {
      if (bytes.size() - at < sizeof(TensorHead)) return Status::malformed;
      const TensorHead& tensor = *std::launder(reinterpret_cast<const TensorHead*>(bytes.data() + at));
      const std::size_t with_dims = tensor_bytes(tensor);
      if (tensor.rank > kMaxRank || tensor.original_rank > kMaxRank ||
          static_cast<int>(tensor.dtype) >= kDTypeCount ||
          static_cast<int>(tensor.original_dtype) >= kDTypeCount || bytes.size() - at < with_dims) {
        return Status::malformed;
      }
      at += with_dims;
      text_bytes += tensor.original_name_bytes;
    }
    if (bytes.size() - at < text_bytes || bytes.size() - at - text_bytes < view.head_->file_bytes)
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
  ReadyName* ready_name() const {
    return ready_name_;
  }

  /// The head of the record's nano file; empty: still to be made.
  Bytes nano_head() const {
    return nano_head_;
  }

  /// What the drainer has made of this head before; must stay as long as this view.
  void set_ready(ReadyName& name, Bytes nano_head) {
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
    Place place = {tensors_, end_of(name())};
    for (std::uint32_t i = 0; i < tensor_count(); ++i) {
      std::uint32_t index = 0;
      const TensorView tensor = next_tensor(place, index);
      use(tensor, i >= head_->input_count, index);
    }
  }

 private:
  struct Place {
    const std::byte* tensor;
    const char* text;
  };

  TensorView next_tensor(Place& place, std::uint32_t& index) const {
    const TensorHead& head = *std::launder(reinterpret_cast<const TensorHead*>(place.tensor));
    const Dim* dims = reinterpret_cast<const Dim*>(place.tensor + sizeof head);
    // Every field once: clearing the whole first would cost as much.
    TensorView tensor = {
        .address = head.address,
        .bytes = head.bytes,
        .dtype = head.dtype,
        .format = static_cast<Format>(head.format),
        .shape = {dims, head.rank},
        .original_shape = {dims + head.rank, head.original_rank},
        .original_name = {place.text, head.original_name_bytes},
        .original_index = head.original_index,
        .original_dtype = head.original_dtype,
        .original_format = static_cast<Format>(head.original_format),
        .address_kind = static_cast<AddressKind>(head.address_kind),
    };
    fill_in_originals(tensor, name(), head.index);
    place.tensor += tensor_bytes(head);
    place.text += head.original_name_bytes;
    index = head.index;
    return tensor;
  }

  static const char* end_of(std::string_view text) {
    return text.data() + text.size();
  }

  static std::size_t tensor_bytes(const TensorHead& tensor) {
    return sizeof(TensorHead) + sizeof(Dim) * (std::size_t{tensor.rank} + tensor.original_rank);
  }

  const RecordHead* head_ = nullptr;
  const std::byte* tensors_ = nullptr;
  const char* texts_ = nullptr;
#if OPDUMP_SMALL_CODE == 0
  ReadyName* ready_name_ = nullptr;
  Bytes nano_head_{};
#endif
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
