#include "opdump/types/model.hpp"

#include <string_view>

#include "src/c_api/described_op.hpp"
#include "src/c_api/handles.hpp"

using namespace opdump;

namespace {

using c_api::kKeepsAttributes;

/// Elements of the arrays that all operators have together.
struct Totals {
  std::size_t original_names = 0;
  std::size_t attributes = 0;
};

Totals totals_of(const opdump_model_desc& desc) {
  Totals totals;
  for (std::uint32_t i = 0; i < desc.op_count; ++i) {
    totals.original_names += desc.ops[i].original_name_count;
    if (kKeepsAttributes) totals.attributes += desc.ops[i].attribute_count;
  }
  return totals;
}

Status take_desc(const opdump_model_desc* from, opdump_model_desc& desc) {
  const Status status = c_api::take_struct(from, desc);
  if (status != Status::ok) return status;
  if (desc.name == nullptr || (desc.op_count != 0 && desc.ops == nullptr)) return Status::invalid_argument;
  for (std::uint32_t i = 0; i < desc.op_count; ++i) {
    if (!c_api::is_described(desc.ops[i])) return Status::invalid_argument;
  }
  return Status::ok;
}

/// C's lists in C++, in memory that there is enough of.
struct OpLists {
  OpDesc* ops;
  std::string_view* names;
  OpAttribute* attributes;

  void add(const opdump_op& op) {
    std::string_view* const names_of_op = names;
    for (std::uint32_t i = 0; i < op.original_name_count; ++i)
      ::new (names++) std::string_view(op.original_names[i]);
    OpAttribute* const attributes_of_op = attributes;
    for (std::uint32_t i = 0; kKeepsAttributes && i < op.attribute_count; ++i)
      ::new (attributes++) OpAttribute{op.attributes[i].name, op.attributes[i].value};
    ::new (ops++) OpDesc{.name = op.name,
                         .type = op.type,
                         .task_id = op.task_id,
                         .stream_id = op.stream_id,
                         .original_names = {names_of_op, names},
                         .level = static_cast<OpLevel>(op.level),
                         .attributes = {attributes_of_op, attributes},
                         .marked = op.marked != 0};
  }
};

static_assert(OPDUMP_LEVEL_BOTH == static_cast<int>(OpLevel::both));
static_assert(OPDUMP_LEVEL_OP == static_cast<int>(OpLevel::op));
static_assert(OPDUMP_LEVEL_KERNEL == static_cast<int>(OpLevel::kernel));

}  // namespace

extern "C" {

std::size_t opdump_model_size(const opdump_model_desc* from) {
  opdump_model_desc desc;
  if (take_desc(from, desc) != Status::ok) return 0;
  const Totals totals = totals_of(desc);
  return c_api::room_for<opdump_model>() + c_api::room_for<OpDesc>(desc.op_count) +
         c_api::room_for<std::string_view>(totals.original_names) +
         c_api::room_for<OpAttribute>(totals.attributes) + c_api::room_for<std::uint8_t>(desc.op_count);
}

opdump_status opdump_model_load(opdump_session* session, const opdump_model_desc* from, void* memory,
                                std::size_t bytes, opdump_model** model) {
  if (session == nullptr || model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *model = nullptr;
  opdump_model_desc desc;
  if (const Status status = take_desc(from, desc); status != Status::ok) return c_api::to_c(status);
  const Totals totals = totals_of(desc);
  Arena arena = c_api::arena_of(memory, bytes);
  opdump_model* const made = c_api::room_in<opdump_model>(arena, 1);
  OpLists lists = {c_api::room_in<OpDesc>(arena, desc.op_count),
                   c_api::room_in<std::string_view>(arena, totals.original_names),
                   c_api::room_in<OpAttribute>(arena, totals.attributes)};
  std::uint8_t* const bits = c_api::room_in<std::uint8_t>(arena, desc.op_count);
  if (made == nullptr || lists.ops == nullptr || lists.names == nullptr || lists.attributes == nullptr ||
      bits == nullptr)
    return OPDUMP_ERR_NO_MEMORY;
  const std::span<const OpDesc> ops = {lists.ops, desc.op_count};
  for (std::uint32_t i = 0; i < desc.op_count; ++i) lists.add(desc.ops[i]);
  ::new (made) opdump_model{
      .session = session->session,
      .desc = {.name = desc.name, .graph_name = c_api::text_of(desc.graph_name), .id = desc.id, .ops = ops},
      .plan = {}};
  const Status status = session->session.load_model(made->plan, made->desc, {bits, desc.op_count});
  *model = made;
  return c_api::to_c(status);
}

opdump_status opdump_model_unload(opdump_model* model) {
  if (model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return c_api::to_c(model->session.unload_model(model->plan));
}

std::uint32_t opdump_model_matched_ops(const opdump_model* model) {
  return model == nullptr ? 0 : model->plan.matched_ops;
}

}  // extern "C"
