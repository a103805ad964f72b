#include <utility>

#include "src/attach/model_object.hpp"

using namespace opdump;
using attaching::AttachMemory;
using attaching::RuntimeTensors;
using attaching::StridedSource;
using attaching::TensorRefusal;

Status opdump_attach_model::fail(std::uint32_t op, RuntimeTensors inputs, RuntimeTensors outputs) {
  if (!is_open()) {
    return dump_.on() ? dump_.fail(Status::step_not_open,
                                   [&] { return "a failure in model \"" + texts_.front() + '"'; })
                      : Status::ok;
  }
  std::unique_lock<std::mutex> lock;
  Slot& slot = dump_.lock_slot(lock);
  if (!captures_step()) return Status::ok;
  std::unique_lock<std::mutex> own(mutex_, std::defer_lock);
  if (has_lock_of_its_own()) own.lock();
  if (op != OPDUMP_NO_OP && op >= ops_.size())
    return dump_.fail(Status::no_such_op, [&] {
      return "the failure of operator " + std::to_string(op) + " of the " + std::to_string(ops_.size()) +
             " of model \"" + texts_.front() + '"';
    });
  const auto what = [&] {
    return op == OPDUMP_NO_OP ? "a failure in model \"" + texts_.front() + '"'
                              : "the failure of " + quoted(op);
  };
  Status status = slot.recorder->join_step(plan_, step_.load(std::memory_order_relaxed));
  if (status != Status::ok) return dump_.fail(status, what);
  status = take_failure(slot, op, inputs, outputs);
  static_cast<void>(slot.recorder->leave_step());
  return status == Status::ok ? status : dump_.fail(status, what);
}

/// Tensors that cannot be taken are left out.
Status opdump_attach_model::take_failure(Slot& slot, std::uint32_t op, RuntimeTensors inputs,
                                         RuntimeTensors outputs) {
  auto& recorder = *slot.recorder;
  if (op == OPDUMP_NO_OP) {
    recorder.end_op();
    const Status status = recorder.capture_failure();
    // Triggers need no operator, and a dump of failures has nothing to say of this one.
    return status == Status::no_such_op ? Status::ok : status;
  }
  const TensorRefusal refusal = slot.tensors.take(inputs, outputs);
  const bool taken = refusal.status == Status::ok;
  const AttachMemory::During during(taken ? slot.tensors.sources() : std::span<const StridedSource>());
  recorder.begin_op(op, taken ? slot.tensors.inputs() : std::span<const TensorView>(),
                    taken ? slot.tensors.outputs() : std::span<const TensorView>());
  const Status status = recorder.capture_failure();
  recorder.end_op();
  return status == Status::ok ? refusal.status : status;
}
