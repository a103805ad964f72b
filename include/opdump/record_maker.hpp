#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "opdump/model_plan.hpp"
#include "opdump/record_sender.hpp"
#include "opdump/record_source.hpp"
#include "opdump/targets.hpp"
#include "opdump/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Makes of an operator's tensors the records that its target wants: one of them all, or one of each tensor,
/// as the framework has it or no more than a sample, without what is left out; the tensors, what they are
/// reduced to, or both.
template <class Memory>
class RecordMaker : public RecordSender<Memory> {
 protected:
  using RecordSender<Memory>::begin_record;
  using RecordSender<Memory>::context;
  using RecordSender<Memory>::count;
  using RecordSender<Memory>::count_for;
  using RecordSender<Memory>::describe;
  using RecordSender<Memory>::feed_;
  using RecordSender<Memory>::lose_unseen;
  using RecordSender<Memory>::record;
  using RecordSender<Memory>::record_reduced;

  static CapturedTensors select(std::uint8_t bits, std::span<const TensorView> inputs,
                                std::span<const TensorView> outputs) {
    return {.inputs = inputs.first((bits & kCaptureInputs) != 0 ? inputs.size() : 0),
            .outputs = outputs.first((bits & kCaptureOutputs) != 0 ? outputs.size() : 0)};
  }

  /// Makes of `source`, which is used up, the records that its target wants, the first of which has begun;
  /// the first status of theirs that is not `ok`. `in_plan`: its head may come again.
  Status take(RecordSource& source, bool in_plan) {
#if OPDUMP_SMALL_CODE
    return take_whole(source, in_plan);
#else
    if (!source.target->split || !has_bytes(source.tensors)) return take_whole(source, in_plan);
    const std::uint16_t* const indexes = source.indexes;
    source.indexes = nullptr;
    Status status = Status::ok;
    const CapturedTensors all = source.tensors;
    bool begun = true;
    const auto take_each = [&](std::span<const TensorView> tensors, std::span<const TensorView>& role,
                               const std::uint16_t* at) {
      source.tensors = {};
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        role = tensors.subspan(i, 1);
        source.first_index = at != nullptr ? at[i] : static_cast<std::uint16_t>(i);
        if (!begun) source.unix_us = begin_record(source.target_index);
        begun = false;
        const Status of_one = take_restored(source, role);
        if (status == Status::ok) status = of_one;
      }
    };
    take_each(all.inputs, source.tensors.inputs, indexes);
    take_each(all.outputs, source.tensors.outputs,
              indexes != nullptr ? indexes + all.inputs.size() : nullptr);
    return status;
#endif
  }

#if OPDUMP_SMALL_CODE == 0
  /// Captures of `tensors` what the config does not leave out.
  [[gnu::noinline]] Status capture_remaining(const ModelPlan& plan, std::size_t op,
                                             const CapturedTensors& tensors) {
    count_for(plan, op);
    const OpDesc& desc = plan.model->ops[op];
    const RemainingTensors remaining(plan, desc, tensors);
    const std::uint64_t unix_us = begin_record(plan.target);
    feed_.prepare(desc.stream_id);
    RecordSource source = describe(desc, &plan, plan.target, unix_us, remaining.tensors());
    source.indexes = remaining.indexes();
    return remaining.fit() ? take(source, false) : lose_unseen(source, Status::too_many_tensors);
  }

  /// Captures what the drainer does not know the head of.
  [[gnu::noinline]] Status take_new(const ModelPlan& plan, std::size_t op, std::uint64_t unix_us,
                                    std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
    count_for(plan, op);
    RecordSource source = describe(plan.model->ops[op], &plan, plan.target, unix_us, {inputs, outputs});
    return take(source, true);
  }

  /// As the framework has it, if the config wants that and it can be had. `role` is the list of `one` that
  /// has its only tensor.
  Status take_restored(RecordSource& one, std::span<const TensorView>& role) {
    Restorer* const restorer = one.target->default_format ? context().restorer : nullptr;
    if (restorer != nullptr) {
      TensorView tensor = role[0];
      if (restorer->restore(this->slot(), tensor)) role = {&tensor, 1};
      return take_sampled(one, role);
    }
    return take_sampled(one, role);
  }

  Status take_sampled(RecordSource& one, std::span<const TensorView>& role) {
    const DumpTarget& target = *one.target;
    // Source: MindSpore writes nothing of an empty tensor.
    const bool keep_empty = target.layout == Layout::cann;
    const Result<std::uint64_t> count = element_count(role[0].shape);
    if (target.sample_number == 0 || !count.ok() || count.value() <= target.sample_number)
      return take_whole(one, false, keep_empty);
    const Dim number = target.sample_number;
    TensorView first = role[0];
    first.shape = first.original_shape = {&number, 1};
    const std::uint64_t bytes = (number * codes_of(first.dtype).bits + 7) / 8;
    if (bytes <= first.bytes) first.bytes = bytes;
    role = {&first, 1};
    return take_whole(one, false, keep_empty);
  }
#endif

  /// As `take`, without splitting.
  Status take_whole(RecordSource& source, bool may_come_again, bool keep_empty = false) {
    const DumpData data = OPDUMP_STATISTICS != 0 ? source.target->data : DumpData::tensor;
    Status status = Status::ok;
    if (data != DumpData::statistics) {
      const bool only = data == DumpData::tensor;
      status = record(source, may_come_again && only, keep_empty);
      if (only) return status;
      count(source.target_index, DumpCount::wanted);
    }
    const Status of_reduced = record_reduced(source);
    return status == Status::ok ? of_reduced : status;
  }

  static bool has_bytes(const CapturedTensors& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].bytes != 0) return true;
    }
    return false;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
