#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/model_plan.hpp"
#include "opdump/record.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

#if OPDUMP_FAULTS
/// An operator that is running, as the runtime announced it.
struct RunningOp {
  const OpDesc* op = nullptr;  ///< null: none
  std::span<const TensorView> inputs{};
  std::span<const TensorView> outputs{};
};

/// What a recorder does with an operator that failed. A part of the recorder.
template <class Recorder>
class ExceptionCapture {
 public:
  ExceptionCapture(Recorder& recorder, const ModelPlan& plan, const RunningOp& failed)
      : recorder_(recorder), plan_(plan), failed_(failed) {
    recorder_.count_for(nullptr, 0);
  }

  /// Captures what the scene asks for. Memory that cannot be read is captured as zeros.
  Status take() {
    recorder_.feed_.zero_unreadable(true);
    const Status status = take_scene();
    recorder_.feed_.zero_unreadable(false);
    return status;
  }

 private:
  Status take_scene() {
    const DumpTarget& target = (*recorder_.context().targets)[plan_.target];
    switch (target.exception) {
      case ExceptionDump::none:
        // Source: MindSpore saves the inputs as it does those of any operator.
        return record(*failed_.op, {.inputs = failed_.inputs});
      case ExceptionDump::norm:
        return record(*failed_.op, {failed_.inputs, failed_.outputs});
      case ExceptionDump::brief:
      case ExceptionDump::detail:
        break;
    }
    return record_brief();
  }

  /// Bytes without a meaning, and no name. Source: CANN's server.
  Status record_brief() {
    TensorView views[kMostBrief];
    Dim bytes[kMostBrief];
    std::size_t count = 0;
    const auto add = [&](const TensorView& tensor) {
      if (count == kMostBrief) return;
      bytes[count] = tensor.bytes;
      views[count] = {.address = tensor.address, .bytes = tensor.bytes, .shape = {&bytes[count], 1}};
      ++count;
    };
    for (const TensorView& tensor : failed_.inputs) add(tensor);
    const std::size_t input_count = count;
    for (const TensorView& tensor : failed_.outputs) add(tensor);
    OpDesc nameless = *failed_.op;
    nameless.name = {};
    const std::span<const TensorView> all(views, count);
    return record(nameless, {all.first(input_count), all.subspan(input_count)});
  }

  Status record(const OpDesc& desc, const CapturedTensors& tensors) {
    RecordSource source =
        recorder_.describe(desc, &plan_, plan_.target, recorder_.begin_record(plan_.target), tensors);
    source.of = failed_.op;
    return recorder_.take(source, false);
  }

  static constexpr std::size_t kMostBrief = 16;

  Recorder& recorder_;
  const ModelPlan& plan_;
  const RunningOp failed_;
};
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
