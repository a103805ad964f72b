#pragma once
#include <MNN/Interpreter.hpp>
#include <MNN/Tensor.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "opdump/attach.hpp"
#include "platform/runtimes/common/tensors.hpp"

/// Dumps what MNN computes, by the callbacks it has around each operator, without a change to it. C++17;
/// needs MNN's own headers.
///
///     opdump::attach::Dump dump;          // the config that OPDUMP_CONFIG names
///     opdump::mnn::Tap tap(dump, "net");
///     for (...) tap.run(*interpreter, session);   // in the place of runSession: one step
///
/// or, for modules of MNN's expressions, around what is computed in a step:
///
///     executor->setCallBack(tap.before(), tap.after());
///     const auto step = tap.step();
///
/// Read at revision 4d40bdb of alibaba/MNN, compiled, not run.
namespace opdump::mnn {

/// OPDUMP_UNDEFINED for texts. A boolean takes a byte.
inline std::int32_t dtype_of(halide_type_t type) {
  switch (type.code) {
    case halide_type_int:
      return opdump_dtype_of_kind('i', type.bits);
    case halide_type_uint:
      return type.bits == 1 ? std::int32_t{OPDUMP_BOOLEAN} : opdump_dtype_of_kind('u', type.bits);
    case halide_type_float:
      return opdump_dtype_of_kind('f', type.bits);
    case halide_type_bfloat:
      return type.bits == 16 ? OPDUMP_BFLOAT16 : OPDUMP_UNDEFINED;
    default:
      return OPDUMP_UNDEFINED;
  }
}

/// Captures the commands that MNN makes of a model's operators, which have the operators' names; of those
/// that share one, the second is NAME#2. All tensors are copied by MNN's own call, which takes them off a
/// device, unpacks channels and turns lower precision into the tensor's dtype: inputs before the operator
/// runs. Those that have no memory, as the operator only looks at their shape, are given as tensors without
/// elements.
///
/// Threads: the one that runs the session, one session at a time.
class Tap {
 public:
  Tap(attach::Dump& dump, attach::Text model_name, std::uint32_t id = 0)
      : dump_(dump), model_(dump, model_name, id) {}
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  /// Runs the session as one step, by runSession while the dump is off. The session is in mode Session_Debug,
  /// the default; another mode refuses callbacks.
  MNN::ErrorCode run(const MNN::Interpreter& interpreter, MNN::Session* session, bool sync = false) {
    if (!dump_.is_on()) return interpreter.runSession(session);
    const attach::Step open = step();
    return interpreter.runSessionWithCallBackInfo(session, before(), after(), sync);
  }

  [[nodiscard]] attach::Step step(std::uint64_t number = attach::kNextStep) { return model_.step(number); }

  attach::DynamicModel& model() { return model_; }

  /// The callbacks; the tap outlives what they are set in.
  MNN::TensorCallBackWithInfo before() {
    return [this](const std::vector<MNN::Tensor*>& inputs, const MNN::OperatorInfo* info) {
      op_ = model_.see(info->name(), info->type());
      if (op_ != attach::kNoOp) add(inputs, inputs_, held_inputs_);
      return true;  // runs the operator
    };
  }
  MNN::TensorCallBackWithInfo after() {
    return [this](const std::vector<MNN::Tensor*>& outputs, const MNN::OperatorInfo*) {
      if (op_ != attach::kNoOp) {
        add(outputs, outputs_, held_outputs_);
        model_.capture(op_, inputs_, outputs_);
        op_ = attach::kNoOp;
      }
      return true;  // goes on
    };
  }

 private:
  using Held = std::vector<std::unique_ptr<MNN::Tensor>>;

  static void add(const std::vector<MNN::Tensor*>& tensors, attach::Tensors& list, Held& held) {
    list.clear();
    held.clear();
    for (const MNN::Tensor* const tensor : tensors) {
      const bool has_memory = tensor->buffer().host != nullptr || tensor->buffer().device != 0;
      if (!has_memory || dtype_of(tensor->getType()) == OPDUMP_UNDEFINED) {
        runtimes::add_absent(list);
        continue;
      }
      auto copy = std::make_unique<MNN::Tensor>(tensor, tensor->getDimensionType());
      if (tensor->copyToHostTensor(copy.get())) {
        add(list, *copy);
        held.push_back(std::move(copy));
      } else {
        runtimes::add_absent(list);
      }
    }
  }

  static void add(attach::Tensors& list, const MNN::Tensor& tensor) {
    list.add(tensor.host<void>(), dtype_of(tensor.getType()), tensor.shape());
    if (tensor.dimensions() != 4) return;
    list.format(tensor.getDimensionType() == MNN::Tensor::TENSORFLOW ? OPDUMP_FORMAT_NHWC
                                                                     : OPDUMP_FORMAT_NCHW);
  }

  attach::Dump& dump_;
  attach::DynamicModel model_;
  std::uint32_t op_ = attach::kNoOp;  ///< of the operator that runs
  attach::Tensors inputs_;
  attach::Tensors outputs_;
  Held held_inputs_;
  Held held_outputs_;
};

}  // namespace opdump::mnn
