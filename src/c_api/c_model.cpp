#include "opdump/types/model.hpp"

#include <string_view>

#include "src/c_api/described_op.hpp"
#include "src/c_api/handles.hpp"

using namespace opdump;

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

}  // extern "C"
