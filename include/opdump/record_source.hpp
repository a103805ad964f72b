#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <string_view>

#include "opdump/bytes.hpp"
#include "opdump/model.hpp"
#include "opdump/model_plan.hpp"
#include "opdump/nano_form.hpp"
#include "opdump/record_layout.hpp"
#include "opdump/targets.hpp"
#include "opdump/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

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

/// Bytes of a tensor's head, its dims and its original name.
inline std::size_t encoded_tensor_bytes(const TensorView& tensor) {
  return sizeof(TensorHead) + tensor.shape.size_bytes() + tensor.original_shape.size_bytes() +
         padded_bytes(tensor.original_name.size());
}

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

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
