#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/impl/record/ring_record.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/types/faulty_tensor.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/plan.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What is captured of one operator, as the recorder sees it.
struct RecordSource {
  // In an order that leaves no gaps on a 32-bit machine: it lies on the stack while a recorder waits.
  std::uint64_t step;
  std::uint64_t unix_us;
  const OpDesc* op;
  const ModelPlan* plan;  ///< the plan of `op`; null: `op` ran outside a model
  const DumpTarget* target;
  std::uint32_t sequence;
  CapturedTensors tensors;
  [[no_unique_address]] Maybe<!build::kLean, std::uint32_t> known_as;
  /// Index of each tensor, where some are left out; null: indexes are consecutive.
  [[no_unique_address]] Maybe<!build::kLean, const std::uint16_t*> indexes{};
  /// The operator of the plan, when `op` only names the record; null: `op` is it.
  [[no_unique_address]] Maybe<build::kOverflow, const OpDesc*> of{};
  /// Index of the first input and of the first output.
  [[no_unique_address]] Maybe<!build::kLean, std::uint16_t> first_index;
  [[no_unique_address]] Maybe<!Targets::kOnlyOne, std::uint8_t> target_index;

  /// The index of tensor `i`; the first `inputs` tensors are inputs.
  std::uint16_t index_of(std::size_t i, std::size_t inputs) const {
    const std::uint16_t* const given = indexes;
    if (given != nullptr) return given[i];
    return static_cast<std::uint16_t>(first_index + (i < inputs ? i : i - inputs));
  }

  std::string_view model_name() const { return plan != nullptr ? plan->directory_name : std::string_view(); }

  /// The operator that has run.
  const OpDesc& has_run() const {
    const OpDesc* const one = of;
    return one != nullptr ? *one : *op;
  }
  std::size_t op_index() const { return static_cast<std::size_t>(&has_run() - plan->model->ops.data()); }

  /// Whether the drainer must keep the record's head.
  bool is_kept() const { return !build::kLean && known_as != kNotKnown; }
};

inline constexpr std::size_t kMaxTextBytes = 0xffff;
inline constexpr std::size_t kMaxTensors = 0xffff;
/// Most bytes of a nano record's list of inputs or of outputs.
inline constexpr std::size_t kMaxListBytes = 0x3fffffff;

/// Lengths of a record in the ring, set by `Wire::measure`.
struct RecordBytes {
  std::uint32_t head;  ///< of the head, up to the tensors' bytes
  DataBytes data;      ///< of the tensors
};

/// Whether the lengths of the record's texts fit the fields of its head.
inline bool texts_fit(const RecordSource& source) {
  static_assert((kMaxTextBytes & (kMaxTextBytes + 1)) == 0 && kMaxTensors == kMaxTextBytes);
  return (source.model_name().size() | source.op->type.size() | source.op->name.size()) <= kMaxTextBytes;
}

/// Whether the record is of a failed operator: it has parts that are not tensors and have no dtype.
inline bool has_bare_bytes([[maybe_unused]] const RecordSource& source) {
  if constexpr (build::kFaults) return source.of != nullptr;
  return false;
}

/// The status of `status_of`, `name_too_long` or `too_many_tensors` when no record can hold `source`.
/// `data_bytes` becomes the sum of the tensors' bytes. Calls `add(tensor, is_output)` for each tensor; `add`
/// returns whether the tensor's list has room for it.
template <class Add>
[[gnu::always_inline]] inline Status check_record(const RecordSource& source, DataBytes& data_bytes,
                                                  Add add) {
  data_bytes = 0;
  if (!texts_fit(source)) return Status::name_too_long;
  const CapturedTensors& tensors = source.tensors;
  // In the file, outputs without an original name get the operator's name; the file's head counts in 32 bits.
  if ((tensors.inputs.size() | tensors.outputs.size()) > kMaxTensors ||
      (!build::kLean && tensors.outputs.size() * source.op->name.size() > kMaxListBytes))
    return Status::too_many_tensors;
  for (unsigned is_output = 0; is_output < 2; ++is_output) {
    for (const TensorView& tensor : tensors.list(is_output != 0)) {
      if (tensor.original_name.size() > kMaxTextBytes) return Status::name_too_long;
      std::uint64_t needed = 0;
      TensorFault fault = fault_of(tensor, needed, has_bare_bytes(source));
      if (fault == TensorFault::none && tensor.bytes > std::numeric_limits<DataBytes>::max() - data_bytes)
        fault = TensorFault::too_large;
      if (fault != TensorFault::none) return status_of(fault);
      data_bytes += static_cast<DataBytes>(tensor.bytes);
      if (!add(tensor, is_output)) return Status::too_many_tensors;
    }
  }
  return Status::ok;
}

/// The first tensor of `source` that makes `check_record` refuse it; no fault when its tensors are not known.
inline FaultyTensor first_faulty(const RecordSource& source) {
  FaultyTensor faulty = {.model = source.model_name(), .op = source.op->name, .step = source.step};
  const bool bare_bytes = has_bare_bytes(source);
  DataBytes all = 0;
  for (std::size_t i = 0; i < source.tensors.size(); ++i) {
    const TensorView& tensor = source.tensors[i];
    faulty.tensor = &tensor;
    faulty.is_output = i >= source.tensors.inputs.size();
    faulty.index = source.index_of(i, source.tensors.inputs.size());
    faulty.fault = fault_of(tensor, faulty.needed, bare_bytes);
    if (faulty.fault == TensorFault::none && tensor.bytes > std::numeric_limits<DataBytes>::max() - all)
      faulty.fault = TensorFault::too_large;
    if (faulty.fault != TensorFault::none) break;
    all += static_cast<DataBytes>(tensor.bytes);
  }
  return faulty;
}

/// Bytes of a record's head without those of its tensors.
inline std::size_t plain_head_bytes(const RecordSource& source) {
  return sizeof(RecordHead) + source.model_name().size() + source.op->type.size() + source.op->name.size();
}

/// Bytes that `encode_head` writes when it describes no tensor.
inline std::uint32_t bare_head_bytes(const RecordSource& source) {
  return static_cast<std::uint32_t>(padded_bytes(plain_head_bytes(source)));
}

/// Whether the runtime said anything about `tensor` as it was in the framework.
constexpr bool has_originals(const TensorView& tensor) {
  return (static_cast<std::uint32_t>(tensor.original_dtype) |
          static_cast<std::uint32_t>(tensor.original_index) |
          (static_cast<std::uint32_t>(tensor.original_format) ^
           static_cast<std::uint32_t>(Format::reserved)) |
          tensor.original_shape.size() | tensor.original_name.size()) != 0;
}

/// Writes the head to `to`, which is 8-byte aligned and has room for it: a RecordHead with the counts of
/// `tensors` and with `file_bytes` (bytes of the file at the head's end); the description of `tensors`; the
/// texts. `describe(at)` writes the description to `at` and returns its end.
template <class Describe>
[[gnu::always_inline]] inline void encode_head(const RecordSource& source, const CapturedTensors& tensors,
                                               std::uint32_t file_bytes, std::byte* to, Describe describe) {
  const ModelPlan* const plan = source.plan;
  const OpDesc& op = *source.op;
  // Field by field: with absent members, a braced list would first clear the whole object.
  RecordHead& head = *::new (to) RecordHead;
  head.unix_us = source.unix_us;
  head.step = source.step;
  head.dump_time = source.target->time;
  head.sequence = source.sequence;
  head.device_id = source.target->device_id;
  head.load = 0;
  head.model_id = 0;
  head.task_id = op.task_id;
  head.stream_id = source.has_run().stream_id;
  head.model_name_bytes = 0;
  head.type_bytes = static_cast<std::uint16_t>(op.type.size());
  head.name_bytes = static_cast<std::uint16_t>(op.name.size());
  head.in_model = 0;
  head.target = source.target_index;
  head.input_count = static_cast<std::uint16_t>(tensors.inputs.size());
  head.output_count = static_cast<std::uint16_t>(tensors.outputs.size());
  head.file_bytes = file_bytes;
  head.known_as = source.known_as;
  head.op = 0;
  std::string_view model_name;
  if (plan != nullptr) {
    model_name = plan->directory_name;
    head.load = plan->load;
    head.model_id = plan->model->id;
    head.model_name_bytes = static_cast<std::uint16_t>(model_name.size());
    head.in_model = 1;
    head.op = static_cast<std::uint32_t>(source.op_index());
  }
  to = describe(to + sizeof(RecordHead));
  to = put_short(to, model_name.data(), model_name.size());
  to = put_short(to, op.type.data(), op.type.size());
  copy_short(to, op.name.data(), op.name.size());
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
