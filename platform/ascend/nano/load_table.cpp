#include "platform/ascend/nano/load_table.hpp"

#include <cstring>

#include "platform/ascend/nano/dbg_walk.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

std::uint64_t LoadedModel::step() const {
  std::uint64_t number = 0;
  if (message.step != nullptr) std::memcpy(&number, message.step, sizeof number);
  return number;
}

Result<LoadedModel*> LoadTable::add(const LoadMessage& message) {
  if (find(message.model_id) != nullptr) return Status::model_already_loaded;
  const Result<DbgWalk> opened = DbgWalk::open(message.description);
  if (!opened.ok()) return opened.status();
  DbgWalk walk = opened.value();
  LoadedModel* free = nullptr;
  for (LoadedModel& model : memory_.models) {
    if (!model.loaded && free == nullptr) free = &model;
  }
  const std::size_t count = walk.count();
  const std::size_t first = find_room(count);
  if (free == nullptr || first == kNoOp) return Status::no_memory;
  bool ascending = true;
  OpDescription op;
  for (std::size_t at = first; walk.next(op); ++at) {
    ascending = ascending && (at == first || memory_.ops[at - 1].task_id < op.task_id);
    memory_.ops[at] = {.name = op.name, .type = op.type, .task_id = op.task_id, .stream_id = op.stream_id};
    memory_.places[at] = {op.inputs, op.outputs};
  }
  if (walk.status() != Status::ok) return walk.status();
  *free = {};
  free->loaded = true;
  free->message = message;
  free->model = {.name = walk.model(), .id = message.model_id, .ops = memory_.ops.subspan(first, count)};
  free->first_op = first;
  free->ascending = ascending;
  return free;
}

LoadedModel* LoadTable::find(std::uint32_t model_id) {
  for (LoadedModel& model : memory_.models) {
    if (model.loaded && ((model.model.id ^ model_id) & 0xff) == 0) return &model;
  }
  return nullptr;
}

std::size_t LoadTable::find_op(const LoadedModel& model, std::uint32_t task_id) const {
  const std::span<const OpDesc> ops = model.model.ops;
  if (!model.ascending) {
    for (std::size_t op = 0; op < ops.size(); ++op) {
      if (ops[op].task_id == task_id) return op;
    }
    return kNoOp;
  }
  std::size_t from = 0;
  for (std::size_t end = ops.size(); from != end;) {
    const std::size_t middle = from + (end - from) / 2;
    if (ops[middle].task_id < task_id) {
      from = middle + 1;
    } else {
      end = middle;
    }
  }
  return from != ops.size() && ops[from].task_id == task_id ? from : kNoOp;
}

std::size_t LoadTable::find_room(std::size_t count) const {
  std::size_t first = 0;
  // Each turn moves behind a model that is in the way.
  for (std::size_t turns = 0; turns <= memory_.models.size(); ++turns) {
    if (first > memory_.ops.size() || count > memory_.ops.size() - first) return kNoOp;
    const LoadedModel* in_the_way = nullptr;
    for (const LoadedModel& model : memory_.models) {
      const std::size_t end = model.first_op + model.model.ops.size();
      if (model.loaded && model.first_op < first + count && end > first) in_the_way = &model;
    }
    if (in_the_way == nullptr) return first;
    first = in_the_way->first_op + in_the_way->model.ops.size();
  }
  return kNoOp;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
