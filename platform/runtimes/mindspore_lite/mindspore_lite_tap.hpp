#pragma once
#include <include/api/model.h>
#include <include/api/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "opdump/attach.hpp"
#include "platform/runtimes/common/tensors.hpp"

/// Dumps what MindSpore Lite computes, by the callbacks it has around each kernel, without a change to it.
/// C++17; needs MindSpore Lite's own headers.
///
///     opdump::attach::Dump dump;                     // the config that OPDUMP_CONFIG names
///     opdump::mindspore_lite::Tap tap(dump, "net");
///     for (...) tap.predict(model, inputs, &outputs);  // in the place of Predict: one step
///
/// Read at revision 828a1f1 of mindspore-ai/mindspore-lite, and at 2b28870 its runtime; compiled against
/// declarations alone, not run.
namespace opdump::mindspore_lite {

/// OPDUMP_UNDEFINED for texts and lists.
inline std::int32_t dtype_of(mindspore::DataType type) {
  using Type = mindspore::DataType;
  switch (type) {
    case Type::kNumberTypeBool:
      return OPDUMP_BOOLEAN;
    case Type::kNumberTypeInt8:
      return OPDUMP_INT8;
    case Type::kNumberTypeInt16:
      return OPDUMP_INT16;
    case Type::kNumberTypeInt32:
      return OPDUMP_INT32;
    case Type::kNumberTypeInt64:
      return OPDUMP_INT64;
    case Type::kNumberTypeUInt8:
      return OPDUMP_UINT8;
    case Type::kNumberTypeUInt16:
      return OPDUMP_UINT16;
    case Type::kNumberTypeUInt32:
      return OPDUMP_UINT32;
    case Type::kNumberTypeUInt64:
      return OPDUMP_UINT64;
    case Type::kNumberTypeFloat16:
      return OPDUMP_FLOAT16;
    case Type::kNumberTypeFloat32:
      return OPDUMP_FLOAT32;
    case Type::kNumberTypeFloat64:
      return OPDUMP_FLOAT64;
    case Type::kNumberTypeBFloat16:
      return OPDUMP_BFLOAT16;
    default:
      return OPDUMP_UNDEFINED;
  }
}

/// Whether the memory has channels in fours, with gaps, which the shape does not tell.
inline bool is_packed(mindspore::Format format) {
  return format == mindspore::NHWC4 || format == mindspore::HW4 || format == mindspore::NC4 ||
         format == mindspore::NC4HW4;
}

inline std::int32_t format_of(mindspore::Format format, std::size_t rank) {
  if (rank == 4 && format == mindspore::NCHW) return OPDUMP_FORMAT_NCHW;
  if (rank == 4 && format == mindspore::NHWC) return OPDUMP_FORMAT_NHWC;
  return OPDUMP_FORMAT_ND;
}

/// Captures the kernels of a model by the names of their nodes. Inputs are copied before the kernel runs, as
/// some kernels write over them. Tensors with packed channels are dumped as the bytes they have; those on a
/// device, and texts, are given as tensors without elements.
///
/// Threads: those that the runtime runs kernels on, one call of `predict` at a time.
class Tap {
 public:
  Tap(attach::Dump& dump, attach::Text model_name, std::uint32_t id = 0)
      : dump_(dump), model_(dump, model_name, id) {}
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  /// Runs the model as one step, without callbacks while the dump is off. What Predict returned.
  mindspore::Status predict(mindspore::Model& model, const std::vector<mindspore::MSTensor>& inputs,
                            std::vector<mindspore::MSTensor>* outputs) {
    if (!dump_.is_on()) return model.Predict(inputs, outputs, nullptr, nullptr);
    const attach::Step open = step();
    return model.Predict(inputs, outputs, before(), after());
  }

  /// For the other calls that take callbacks, as RunStep: around one of them.
  [[nodiscard]] attach::Step step(std::uint64_t number = attach::kNextStep) {
    const std::lock_guard lock(mutex_);
    running_.clear();  // kernels that failed have left theirs
    return model_.step(number);
  }

  attach::DynamicModel& model() { return model_; }

  /// The callbacks; the tap outlives the call that they are given to.
  mindspore::MSKernelCallBack before() {
    return [this](const std::vector<mindspore::MSTensor>& inputs, const std::vector<mindspore::MSTensor>&,
                  const mindspore::MSCallBackParam& kernel) {
      runtimes::RunningOp& running = running_here().begin(model_.see(kernel.node_name, kernel.node_type));
      if (running.number == attach::kNoOp) return true;
      for (const mindspore::MSTensor& input : inputs) add(running.inputs, input, running.copies);
      return true;  // runs the kernel
    };
  }
  mindspore::MSKernelCallBack after() {
    return [this](const std::vector<mindspore::MSTensor>&, const std::vector<mindspore::MSTensor>& outputs,
                  const mindspore::MSCallBackParam&) {
      runtimes::RunningOps& here = running_here();
      if (here.empty()) return true;
      runtimes::RunningOp& running = here.top();
      if (running.number != attach::kNoOp) {
        for (const mindspore::MSTensor& output : outputs) add(running.outputs, output, running.copies);
        model_.capture(running.number, running.inputs, running.outputs);
      }
      here.pop();
      return true;  // goes on
    };
  }

 private:
  /// A kernel's callbacks come on one thread, those of others between them only where it runs them.
  runtimes::RunningOps& running_here() {
    const std::lock_guard lock(mutex_);
    return running_[std::this_thread::get_id()];
  }

  static void add(attach::Tensors& tensors, const mindspore::MSTensor& tensor, runtimes::Copies& copies) {
    const std::int32_t dtype =
        tensor == nullptr ? std::int32_t{OPDUMP_UNDEFINED} : dtype_of(tensor.DataType());
    if (dtype == OPDUMP_UNDEFINED || tensor.IsDevice()) return runtimes::add_absent(tensors);
    const std::shared_ptr<const void> data = tensor.Data();
    if (data == nullptr) return runtimes::add_absent(tensors);
    const std::size_t bytes = tensor.DataSize();
    const void* const copy = copies.add(data.get(), bytes);
    if (is_packed(tensor.format())) {
      tensors.add(copy, OPDUMP_UINT8, {static_cast<std::int64_t>(bytes)}).original_dims(tensor.Shape());
    } else {
      tensors.add(copy, dtype, tensor.Shape(), bytes)
          .format(format_of(tensor.format(), tensor.Shape().size()));
    }
  }

  attach::Dump& dump_;
  attach::DynamicModel model_;
  std::mutex mutex_;
  std::map<std::thread::id, runtimes::RunningOps> running_;  ///< by thread
};

}  // namespace opdump::mindspore_lite
