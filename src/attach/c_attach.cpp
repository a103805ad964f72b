#include <new>

#include "opdump/attach.h"
#include "src/attach/dump_object.hpp"
#include "src/attach/guarded.hpp"
#include "src/attach/model_object.hpp"
#include "src/c_api/c_port.hpp"
#include "src/c_api/described_op.hpp"

using namespace opdump;
using attaching::guarded;
using attaching::RuntimeTensors;

namespace {

constexpr opdump_attach_gate kNoGate = {nullptr, 0};

}  // namespace

extern "C" {

opdump_status opdump_attach_create(const opdump_attach_options* options, opdump_attach** dump) {
  if (dump == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *dump = nullptr;
  opdump_attach_options taken = {};
  const Status status = options == nullptr ? Status::ok : c_api::take_struct(options, taken);
  if (status != Status::ok) return c_api::to_c(status);
  return guarded([&] {
    *dump = new opdump_attach(taken);
    return Status::ok;
  });
}

opdump_status opdump_attach_start(opdump_attach* dump, const char* config) {
  if (dump == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return guarded([&] { return dump->start(config); });
}

opdump_status opdump_attach_set_provenance(opdump_attach* dump, const opdump_provenance* provenance) {
  if (dump == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return guarded([&] { return dump->set_provenance(provenance); });
}

int opdump_attach_is_on(const opdump_attach* dump) {
  return dump != nullptr && dump->on() ? 1 : 0;
}

opdump_status opdump_attach_stop(opdump_attach* dump) {
  if (dump == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return guarded([&] { return dump->stop(); });
}

void opdump_attach_destroy(opdump_attach* dump) {
  if (dump != nullptr) static_cast<void>(opdump_attach_stop(dump));
  delete dump;
}

const char* opdump_attach_error(const opdump_attach* dump) {
  return dump == nullptr ? "" : dump->error();
}

opdump_status opdump_attach_get_counts(const opdump_attach* dump, opdump_attach_counts* counts,
                                       std::size_t bytes) {
  if (dump == nullptr || counts == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return c_api::to_c(c_api::give_struct(dump->counts(), counts, bytes));
}

opdump_status opdump_attach_get_records(const opdump_attach* dump, opdump_counts* counts, std::size_t bytes) {
  if (dump == nullptr || counts == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return c_api::to_c(c_api::give_struct(c_api::to_c(dump->records()), counts, bytes));
}

opdump_status opdump_attach_describe(opdump_attach* dump, const char* path) {
  if (dump == nullptr || path == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return guarded([&] { return dump->describe(path); });
}

opdump_status opdump_attach_fire(opdump_attach* dump, const char* name) {
  if (dump == nullptr || name == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return guarded([&] { return dump->fire(name); });
}

void opdump_attach_say(opdump_attach* dump, const char* line) {
  if (dump == nullptr || line == nullptr) return;
  static_cast<void>(guarded([&] {
    dump->say(line);
    return Status::ok;
  }));
}

opdump_status opdump_attach_model_create(opdump_attach* dump, const opdump_attach_model_options* options,
                                         opdump_attach_model** model) {
  if (model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *model = nullptr;
  opdump_attach_model_options taken;
  const Status status = c_api::take_struct(options, taken);
  if (status != Status::ok) return c_api::to_c(status);
  if (dump == nullptr || taken.name == nullptr || taken.dynamic > 1 || taken.reserved != 0)
    return OPDUMP_ERR_INVALID_ARGUMENT;
  return guarded([&] {
    auto made = std::make_unique<opdump_attach_model>(*dump, taken);
    dump->add(*made);
    *model = made.release();
    return Status::ok;
  });
}

void opdump_attach_model_destroy(opdump_attach_model* model) {
  if (model == nullptr) return;
  static_cast<void>(guarded([&] {
    if (model->is_open()) static_cast<void>(model->end_step());
    model->dump().remove(*model);
    return Status::ok;
  }));
  delete model;
}

opdump_status opdump_attach_add_op(opdump_attach_model* model, const opdump_attach_op* op,
                                   std::uint32_t* index) {
  if (index != nullptr) *index = OPDUMP_NO_OP;
  opdump_attach_op taken;
  const Status status = c_api::take_struct(op, taken);
  if (status != Status::ok) return c_api::to_c(status);
  if (model == nullptr || taken.reserved != 0 || !c_api::is_described(taken.op))
    return OPDUMP_ERR_INVALID_ARGUMENT;
  return guarded([&] { return model->add_op(taken, index); });
}

std::uint32_t opdump_attach_find_op(const opdump_attach_model* model, const char* name) {
  if (model == nullptr || name == nullptr) return OPDUMP_NO_OP;
  return guarded(OPDUMP_NO_OP, [&] { return model->find_op(name); });
}

std::uint32_t opdump_attach_wanted_ops(opdump_attach_model* model, std::uint32_t* ops, std::uint32_t room) {
  if (model == nullptr || (ops == nullptr && room != 0)) return 0;
  return guarded(std::uint32_t{0}, [&] { return model->wanted_ops(ops, room); });
}

std::uint32_t opdump_attach_wanted_parts(opdump_attach_model* model, std::uint32_t op) {
  if (model == nullptr) return 0;
  return guarded(std::uint32_t{0}, [&] { return model->wanted_parts(op); });
}

opdump_status opdump_attach_flag_op(opdump_attach_model* model, std::uint32_t op, std::uint32_t flags) {
  if (model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return guarded([&] { return model->flag_op(op, flags); });
}

opdump_status opdump_attach_begin_step(opdump_attach_model* model, std::uint64_t step) {
  if (model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return guarded([&] { return model->begin_step(step); });
}

opdump_status opdump_attach_end_step(opdump_attach_model* model) {
  if (model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return guarded([&] { return model->end_step(); });
}

const opdump_attach_gate* opdump_attach_gate_of(const opdump_attach_model* model) {
  return model == nullptr ? &kNoGate : &model->gate();
}

int opdump_attach_wants(const opdump_attach_model* model, std::uint32_t op) {
  const opdump_attach_gate* const gate = opdump_attach_gate_of(model);
  const unsigned char* const bits = __atomic_load_n(&gate->bits, __ATOMIC_ACQUIRE);
  return bits != nullptr && op < __atomic_load_n(&gate->op_count, __ATOMIC_RELAXED) && bits[op] != 0 ? 1 : 0;
}

std::uint32_t opdump_attach_see_op(opdump_attach_model* model, const char* name, const char* type) {
  if (model == nullptr || name == nullptr || type == nullptr) return OPDUMP_NO_OP;
  return guarded(OPDUMP_NO_OP, [&] { return model->see_op(name, type); });
}

opdump_status opdump_attach_capture(opdump_attach_model* model, std::uint32_t op,
                                    const opdump_attach_tensor* inputs, std::uint32_t input_count,
                                    const opdump_attach_tensor* outputs, std::uint32_t output_count) {
  if (model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return guarded([&] {
    return model->capture(op, RuntimeTensors{inputs, input_count}, RuntimeTensors{outputs, output_count});
  });
}

opdump_status opdump_attach_fail(opdump_attach_model* model, std::uint32_t op,
                                 const opdump_attach_tensor* inputs, std::uint32_t input_count,
                                 const opdump_attach_tensor* outputs, std::uint32_t output_count) {
  if (model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return guarded([&] {
    return model->fail(op, RuntimeTensors{inputs, input_count}, RuntimeTensors{outputs, output_count});
  });
}

}  // extern "C"
