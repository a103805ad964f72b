#include "opdump/types/overflow.hpp"

#include "src/c_api/handles.hpp"
#include "src/c_api/tensors_in.hpp"

#if OPDUMP_FAULTS == 2

using namespace opdump;
using c_api::to_c;

namespace {

constexpr std::uint32_t opdump_running_op::*kRunningCounts[] = {
    &opdump_running_op::input_count, &opdump_running_op::argument_count, &opdump_running_op::output_count,
    &opdump_running_op::workspace_count};
constexpr const opdump_tensor* opdump_running_op::*kRunningLists[] = {
    &opdump_running_op::inputs, &opdump_running_op::arguments, &opdump_running_op::outputs,
    &opdump_running_op::workspaces};

Status check_running(const opdump_recorder& recorder, const opdump_running_op& running) {
  std::size_t left = recorder.tensors.size();
  for (std::size_t list = 0; list < std::size(kRunningLists); ++list) {
    const std::uint32_t count = running.*kRunningCounts[list];
    const opdump_tensor* const tensors = running.*kRunningLists[list];
    if (count != 0 && tensors == nullptr) return c_api::kMissing;
    if (count > left) return Status::too_many_tensors;
    left -= count;
    for (std::size_t i = 0; i < count; ++i) {
      TensorView view;
      if (const Status status = c_api::put_view(tensors[i], &view); status != Status::ok) return status;
    }
  }
  return Status::ok;
}

/// Loses a wanted operator's record because of `cause`, an argument that is unusable; then says `status`.
Status lose_unusable(opdump_recorder& recorder, std::uint32_t op, Status cause, Status status) {
  const Status told = build::kLean ? Status::invalid_tensor : cause;
  const Status lost = recorder.recorder.refuse(op, told);
  return lost == told ? status : lost;
}

/// Whatever comes next, the operator before is over: its lists may be gone.
void forget_running(opdump_recorder& recorder) {
  recorder.running = nullptr;
  recorder.recorder.end_op();
}

}  // namespace

/// Only when it is needed, as its views share memory with others.
void c_api::announce_running(opdump_recorder& recorder) {
  opdump_running_op running;
  if (take_struct(recorder.running, running) != Status::ok) return;
  std::span<const TensorView> lists[std::size(kRunningLists)];
  std::size_t used = 0;
  for (std::size_t list = 0; list < std::size(lists); ++list) {
    const std::span<TensorView> views = recorder.tensors.subspan(used, running.*kRunningCounts[list]);
    for (std::size_t i = 0; i < views.size(); ++i)
      static_cast<void>(put_view((running.*kRunningLists[list])[i], &views[i]));
    used += views.size();
    lists[list] = views;
  }
  recorder.memory = {.arguments = lists[1], .workspaces = lists[3]};
  recorder.recorder.begin_op(running.op, lists[0], lists[2], &recorder.memory);
}

extern "C" {

opdump_status opdump_begin_op(opdump_recorder* recorder, const opdump_running_op* from) {
  if (c_api::is_gone(recorder)) return OPDUMP_ERR_INVALID_ARGUMENT;
  forget_running(*recorder);
  opdump_running_op running;
  if (const Status status = c_api::take_struct(from, running); status != Status::ok) return to_c(status);
  const ModelPlan* const plan = recorder->recorder.open_plan();
  if (plan == nullptr) return OPDUMP_ERR_STEP_NOT_OPEN;
  if (running.op >= plan->model->ops.size()) return OPDUMP_ERR_NO_SUCH_OP;
  const Status status = check_running(*recorder, running);
  if (status == Status::ok) recorder->running = from;
  return to_c(status);
}

opdump_status opdump_capture_overflow(opdump_recorder* recorder, std::uint32_t op,
                                      const opdump_tensor* inputs, std::uint32_t input_count,
                                      const opdump_tensor* outputs, std::uint32_t output_count,
                                      const opdump_overflow* overflow) {
  opdump_overflow told;
  if (c_api::is_gone(recorder)) return OPDUMP_ERR_INVALID_ARGUMENT;
  if (const Status status = c_api::take_struct(overflow, told); status != Status::ok)
    return to_c(lose_unusable(*recorder, op, overflow == nullptr ? c_api::kMissing : status, status));
  const Status status = c_api::take_tensors(*recorder, inputs, input_count, outputs, output_count);
  if (status != Status::ok) return to_c(recorder->recorder.refuse(op, status));
  OverflowReport report;
  report.status[0] = told.status;
  report.start = told.start;
  report.arguments = told.arguments;
  report.core_id = told.core_id;
  report.block_id = told.block_id;
  return to_c(recorder->recorder.capture_overflow(op, recorder->tensors.first(input_count),
                                                  recorder->tensors.subspan(input_count, output_count),
                                                  report));
}

opdump_status opdump_capture_failure(opdump_recorder* recorder) {
  if (c_api::is_gone(recorder)) return OPDUMP_ERR_INVALID_ARGUMENT;
  c_api::announce_running(*recorder);
  return to_c(recorder->recorder.capture_failure());
}

opdump_status opdump_session_crash_flush(opdump_session* session, opdump_recorder* failed) {
  if (session == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  session->session.begin_crash();
  if (!c_api::is_gone(failed)) c_api::announce_running(*failed);
  session->session.crash_flush(!c_api::is_gone(failed) ? &failed->recorder : nullptr);
  return OPDUMP_OK;
}

}  // extern "C"

#else

extern "C" {

opdump_status opdump_begin_op(opdump_recorder*, const opdump_running_op*) {
  return OPDUMP_ERR_NOT_SUPPORTED;
}

opdump_status opdump_capture_overflow(opdump_recorder* recorder, std::uint32_t op,
                                      const opdump_tensor* inputs, std::uint32_t input_count,
                                      const opdump_tensor* outputs, std::uint32_t output_count,
                                      const opdump_overflow*) {
  return opdump_capture(recorder, op, inputs, input_count, outputs, output_count);
}

opdump_status opdump_capture_failure(opdump_recorder*) {
  return OPDUMP_ERR_NOT_SUPPORTED;
}

opdump_status opdump_session_crash_flush(opdump_session*, opdump_recorder*) {
  return OPDUMP_ERR_NOT_SUPPORTED;
}

}  // extern "C"

#endif
