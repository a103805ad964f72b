#include "src/c_api/handles.hpp"

using namespace opdump;
using c_api::to_c;

extern "C" {

std::size_t opdump_model_count_size(const opdump_model* model) {
  if (model == nullptr || model->plan.model == nullptr) return 0;
  return c_api::room_for<OpCounts>(model->desc.ops.size());
}

opdump_status opdump_model_count_ops(opdump_model* model, void* memory, std::size_t bytes) {
  if (model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  if (model->plan.model == nullptr) return OPDUMP_ERR_MODEL_NOT_LOADED;
  // Before its memory is written, which may be what is counted in already.
  if (!model->plan.op_counts.empty()) return OPDUMP_ERR_INVALID_ARGUMENT;
  c_api::HandleMemory room(memory, bytes);
  const auto counts = room.arena().array<OpCounts>(model->desc.ops.size());
  if (!counts.ok()) return OPDUMP_ERR_NO_MEMORY;
  return to_c(model->session->count_ops(model->plan, counts.value()));
}

opdump_status opdump_model_op_counts(const opdump_model* model, std::uint32_t op, opdump_op_counts* counts,
                                     std::size_t bytes) {
  if (model == nullptr || counts == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  const ModelPlan& plan = model->plan;
  if (plan.model == nullptr) return OPDUMP_ERR_MODEL_NOT_LOADED;
  if (op >= plan.model->ops.size()) return OPDUMP_ERR_NO_SUCH_OP;
  if (plan.op_counts.empty()) return OPDUMP_ERR_INVALID_ARGUMENT;
  const OpCounts& from = plan.op_counts[op];
  const LostSteps lost = lost_steps(from);
  const opdump_op_counts all = {.seen = plan.steps_seen,
                                .first_lost_step = lost.first,
                                .last_lost_step = lost.last,
                                .wanted = from.wanted,
                                .captured = from.captured,
                                .degraded = from.degraded,
                                .dropped = from.dropped(),
                                .aborted = from.aborted(),
                                .lost = from.lost(),
                                .invalid = from.invalid,
                                .ring_full = from.ring_full,
                                .timed_out = from.timed_out,
                                .too_large = from.too_large,
                                .device_failed = from.device_failed,
                                .sink_failed = from.sink_failed,
                                .quota = from.quota};
  return to_c(c_api::give_struct(all, counts, bytes));
}

opdump_status opdump_model_restart_counts(opdump_model* model) {
  return model == nullptr ? c_api::kInvalidArgument : to_c(model->session->restart_counts(model->plan));
}

}  // extern "C"
