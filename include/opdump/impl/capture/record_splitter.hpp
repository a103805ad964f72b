#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "opdump/base/build.hpp"
#include "opdump/impl/capture/record_sender.hpp"
#include "opdump/impl/plan/remaining_tensors.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/record_encoder.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/types/plan.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Makes of an operator's tensors the records that its target wants: one of them all, or one of each tensor,
/// as the framework has it or no more than a sample, without what is left out; the tensors, what they are
/// reduced to, or both. What the config's privacy leaves out gets no further than here.
template <class Memory>
class RecordSplitter {
 public:
  RecordSender<Memory>& sender() { return sender_; }
  const RecordSender<Memory>& sender() const { return sender_; }

  /// Makes of `source`, which is used up, the records that its target wants, the first of which has begun;
  /// the first status of theirs that is not `ok`. `in_plan`: its head may come again.
  Status take(RecordSource& source, bool in_plan) { return take(source, in_plan, source.has_run()); }

  /// The same for tensors of operator `owner`, which need not be the one that has run. `positions`: of each
  /// among its inputs or outputs, or `PrivacyFilter::kNoPosition`; null: as in the record.
  Status take(RecordSource& source, bool in_plan, const OpDesc& owner,
              const std::uint16_t* positions = nullptr) {
    if constexpr (!build::kLean && kAlways<Memory>) {
      if (!privacy_of(*source.target).empty()) [[unlikely]] {
        const auto take_kept = [this](RecordSource& kept, bool may_come_again, const KeptRules& rules) {
          return take_parts(kept, may_come_again, rules);
        };
        return take_private(source, in_plan, owner, positions, false, take_kept);
      }
    }
    return take_parts(source, in_plan, {});
  }

  /// As `PrivacyFilter::take`, of the session's.
  template <class Take>
  Status take_private(RecordSource& source, bool in_plan, const OpDesc& owner, const std::uint16_t* positions,
                      bool always, const Take& take_kept) {
    return sender_.context().kept->take(sender_, source, in_plan, owner, positions, always, take_kept);
  }

  /// As `take`, of what may be in the dump once `rules` have cut it.
  Status take_parts(RecordSource& source, bool in_plan, const KeptRules& rules) {
    const DumpData data = rules.only_tensors ? DumpData::tensor : source.target->form.data;
    if (build::kLean || !source.target->split || !has_bytes(source.tensors))
      return take_whole(source, in_plan, data);
    const std::uint16_t* const indexes = source.indexes;
    source.indexes = nullptr;
    Status status = Status::ok;
    const CapturedTensors all = source.tensors;
    bool begun = true;
    std::size_t number = 0;
    const auto take_each = [&](std::span<const TensorView> tensors, std::span<const TensorView>& role,
                               const std::uint16_t* at) {
      source.tensors = {};
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        role = tensors.subspan(i, 1);
        source.first_index = at != nullptr ? at[i] : static_cast<std::uint16_t>(i);
        if (!begun) source.unix_us = sender_.begin_record(source.target_index);
        begun = false;
        const Status of_one = take_restored(source, role, rules, number++, data);
        if (status == Status::ok) status = of_one;
      }
    };
    take_each(all.inputs, source.tensors.inputs, indexes);
    take_each(all.outputs, source.tensors.outputs,
              indexes != nullptr ? indexes + all.inputs.size() : nullptr);
    return status;
  }

  /// Captures of `tensors` what the config does not leave out.
  OPDUMP_APART Status capture_remaining(const ModelPlan& plan, std::size_t op,
                                        const CapturedTensors& tensors) {
    sender_.count_for(plan, op);
    const OpDesc& desc = plan.model->ops[op];
    const RemainingTensors remaining(plan, desc, tensors);
    const std::uint64_t unix_us = sender_.begin_record(plan.target);
    sender_.feed().prepare(desc.stream_id, remaining.tensors());
    RecordSource source = sender_.describe(desc, &plan, plan.target, unix_us, remaining.tensors());
    source.indexes = remaining.indexes();
    return remaining.fit() ? take(source, false) : sender_.lose_unseen(source, Status::too_many_tensors);
  }

  /// Captures what the drainer does not know the head of.
  OPDUMP_APART Status take_new(const ModelPlan& plan, std::size_t op, std::uint64_t unix_us,
                               std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
    sender_.count_for(plan, op);
    RecordSource source =
        sender_.describe(plan.model->ops[op], &plan, plan.target, unix_us, {inputs, outputs});
    return take(source, true);
  }

 private:
  /// For `Restorer::restore`; `null`: the config wants `tensor` as it lies.
  static Format restored_format(const DumpTarget& target, const TensorView& tensor) {
    if (target.default_format) return Format::reserved;
    return target.nchw && tensor.original_shape.size() == 4 ? Format::nchw : Format::null;
  }

  /// As the framework has it, if the config wants that and it can be had. `role` is the list of `one` that
  /// has its only tensor.
  Status take_restored(RecordSource& one, std::span<const TensorView>& role, const KeptRules& rules,
                       std::size_t number, DumpData data) {
    Restorer* const restorer = sender_.context().restorer;
    const Format to = restorer != nullptr ? restored_format(*one.target, role[0]) : Format::null;
    if (to != Format::null) {
      TensorView tensor = role[0];
      if (restorer->restore(sender_.slot(), tensor, to)) role = {&tensor, 1};
      return take_cut(one, role, rules, number, data);
    }
    return take_cut(one, role, rules, number, data);
  }

  /// Nothing, if it cannot be cut.
  Status take_cut(RecordSource& one, std::span<const TensorView>& role, const KeptRules& rules,
                  std::size_t number, DumpData data) {
    if (rules.cut == nullptr) return take_sampled(one, role, data);
    TensorView cut = role[0];
    if (!(*rules.cut)(number, cut)) return sender_.skip_empty(one.target_index);
    role = {&cut, 1};
    return take_sampled(one, role, data);
  }

  Status take_sampled(RecordSource& one, std::span<const TensorView>& role, DumpData data) {
    const DumpTarget& target = *one.target;
    // Source: MindSpore writes nothing of an empty tensor.
    const bool keep_empty = target.form.layout == Layout::cann;
    const Result<std::uint64_t> elements = element_count(role[0].shape);
    if (target.sample_number == 0 || !elements.ok() || elements.value() <= target.sample_number)
      return take_whole(one, false, data, keep_empty);
    const Dim number = target.sample_number;
    TensorView first = role[0];
    first.shape = first.original_shape = {&number, 1};
    const std::uint64_t bytes = (number * codes_of(first.dtype).bits + 7) / 8;
    if (bytes <= first.bytes) first.bytes = bytes;
    role = {&first, 1};
    return take_whole(one, false, data, keep_empty);
  }

  /// As `take`, without splitting.
  Status take_whole(RecordSource& source, bool may_come_again, DumpData asked, bool keep_empty = false) {
    const DumpData data = build::kStatistics ? asked : DumpData::tensor;
    Status status = Status::ok;
    if (data != DumpData::statistics) {
      const bool only = data == DumpData::tensor;
      status = sender_.record(source, may_come_again && only, keep_empty);
      if (only) return status;
      sender_.count(source.target_index, DumpCount::wanted);
    }
    const Status of_reduced = sender_.record_reduced(source);
    return status == Status::ok ? of_reduced : status;
  }

  static bool has_bytes(const CapturedTensors& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].bytes != 0) return true;
    }
    return false;
  }

  [[no_unique_address]] RecordSender<Memory> sender_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
