#include "opdump/types/model.hpp"

#include <string_view>

#include "src/c_api/described_op.hpp"
#include "src/c_api/handles.hpp"

using namespace opdump;
using c_api::to_c;

namespace {

using c_api::CountedRoom;
using c_api::take_op;

Status take_desc(const opdump_model_desc* from, opdump_model_desc& desc) {
  const Status status = c_api::take_struct(from, desc);
  if (status != Status::ok) return status;
  return desc.name == nullptr || (desc.op_count != 0 && desc.ops == nullptr) ? Status::invalid_argument
                                                                             : Status::ok;
}

static_assert(OPDUMP_LEVEL_BOTH == static_cast<int>(OpLevel::both));
static_assert(OPDUMP_LEVEL_OP == static_cast<int>(OpLevel::op));
static_assert(OPDUMP_LEVEL_KERNEL == static_cast<int>(OpLevel::kernel));

}  // namespace

bool c_api::take_text(const char* text, std::string_view& to) {
  if (text == nullptr) return false;
  if constexpr (build::kLean) {
    std::size_t bytes = 0;
    // Or it becomes a call of strlen, which is six times as long.
    for (; text[bytes] != '\0'; ++bytes) asm("" : "+r"(bytes));
    to = {text, bytes};
  } else {
    to = text;
  }
  return true;
}

extern "C" {

std::size_t opdump_model_size(const opdump_model_desc* from) {
  static_assert(!c_api::kBounded || c_api::room_for<opdump_model>() + c_api::room_for<OpDesc>(9) +
                                            c_api::room_for<std::uint8_t>(9) <=
                                        OPDUMP_MODEL_BYTES(9));
  opdump_model_desc desc;
  if (take_desc(from, desc) != Status::ok) return 0;
  CountedRoom lists;
  for (std::uint32_t i = 0; i < desc.op_count; ++i) {
    if (!take_op(desc.ops[i], lists, nullptr)) return 0;
  }
  static_assert(alignof(OpDesc) >= alignof(std::string_view) && alignof(OpDesc) >= alignof(OpAttribute));
  return c_api::room_for<opdump_model>() + c_api::room_for<OpDesc>(desc.op_count) + lists.bytes +
         c_api::room_for<std::uint8_t>(desc.op_count);
}

opdump_status opdump_model_load(opdump_session* session, const opdump_model_desc* from, void* memory,
                                std::size_t bytes, opdump_model** model) {
  if (session == nullptr || model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *model = nullptr;
  opdump_model_desc desc;
  if (const Status status = take_desc(from, desc); status != Status::ok) return c_api::to_c(status);
  c_api::HandleMemory room(memory, bytes);
  opdump_model* const made = room.take<opdump_model>();
  OpDesc* const ops = room.take<OpDesc>(desc.op_count);
  for (std::uint32_t i = 0; i < desc.op_count; ++i) {
    if (!take_op(desc.ops[i], room, ops == nullptr ? nullptr : &ops[i])) return OPDUMP_ERR_INVALID_ARGUMENT;
  }
  std::uint8_t* const bits = room.take<std::uint8_t>(desc.op_count);
  if (room.full()) return OPDUMP_ERR_NO_MEMORY;
  // Of implicit lifetime; an assignment takes less code than to construct it.
  *made = opdump_model{};
  made->session = &session->session;
  made->desc.id = desc.id;
  made->desc.ops = {ops, desc.op_count};
  c_api::take_text(desc.name, made->desc.name);
  c_api::take_text(desc.graph_name, made->desc.graph_name);
  const Status status = session->session.load_model(made->plan, made->desc, {bits, desc.op_count});
  *model = made;
  return c_api::to_c(status);
}

opdump_status opdump_model_unload(opdump_model* model) {
  if (model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return c_api::to_c(model->session->unload_model(model->plan));
}

std::uint32_t opdump_model_matched_ops(const opdump_model* model) {
  return model == nullptr ? 0 : model->plan.matched_ops;
}

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
