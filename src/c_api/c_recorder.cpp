#include "opdump/recorder.hpp"

#include <optional>

#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/types/faulty_tensor.hpp"
#include "opdump/types/overflow.hpp"
#include "src/c_api/handles.hpp"

using namespace opdump;
using c_api::to_c;

namespace {

constexpr std::uint32_t kDefaultTensors = 16;
/// Of the ring, for memory with rules.
constexpr std::size_t kRingAlignment = 64;

std::uint32_t max_tensors(const opdump_recorder_options& options) {
  return options.max_tensors == 0 ? kDefaultTensors : options.max_tensors;
}

/// A lean build keeps no heads.
std::size_t head_bytes_of(const opdump_recorder_options& options) {
  return build::kLean ? 0 : head_memory_bytes(options.known_heads);
}

std::optional<WhenFull> own_when_full(const opdump_recorder_options& options) {
  switch (options.when_full) {
    case OPDUMP_RECORDER_DROP:
      return WhenFull::drop;
    case OPDUMP_RECORDER_BLOCK:
      return WhenFull::block;
    case OPDUMP_RECORDER_DEGRADE:
      return WhenFull::degrade;
    default:
      return {};
  }
}

/// Of a list or report that is not there; small code has one cause for all that cannot be handed on.
constexpr Status kMissing = build::kLean ? Status::invalid_tensor : Status::missing_argument;

bool is_dtype(std::int32_t dtype) {
  return dtype >= 0 && dtype < kKnownDTypes;
}

/// Whether a TensorView can say the same.
Status check(const opdump_tensor& tensor) {
  const opdump_original* const original = tensor.original;
  if (!is_dtype(tensor.dtype) || (original != nullptr && !is_dtype(original->dtype)))
    return status_of(TensorFault::no_dtype);
  const bool has_shapes = (tensor.rank == 0 || tensor.shape != nullptr) &&
                          (original == nullptr || original->rank == 0 || original->shape != nullptr);
  if (has_shapes) return Status::ok;
  return kMissing;
}

/// Makes `view`, which says nothing yet, that of `tensor`.
void put_view(const opdump_tensor& tensor, TensorView& view) {
  view.address = tensor.address;
  view.bytes = tensor.bytes;
  view.dtype = static_cast<DType>(tensor.dtype);
  view.format = static_cast<Format>(tensor.format);
  view.shape = {tensor.shape, tensor.rank};
  view.address_kind = static_cast<AddressKind>(tensor.address_kind);
  if (const opdump_original* original = tensor.original) {
    view.original_shape = {original->shape, original->rank};
    view.original_name = c_api::text_of(original->name);
    view.original_index = original->index;
    view.original_dtype = static_cast<DType>(original->dtype);
    view.original_format = static_cast<Format>(original->format);
  }
}

/// Adds those of one list, behind the first `used` of the recorder's.
Status take_list(const opdump_recorder& recorder, std::size_t used, const opdump_tensor* tensors,
                 std::uint32_t count) {
  if (count != 0 && tensors == nullptr) return kMissing;
  if (count > recorder.tensors.size() - used) return Status::too_many_tensors;
  for (TensorView& view : recorder.tensors.subspan(used, count)) {
    if (const Status status = check(*tensors); status != Status::ok) return status;
    put_view(*tensors++, *::new (&view) TensorView);
  }
  return Status::ok;
}

#if OPDUMP_FAULTS == 2
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
    if (count != 0 && tensors == nullptr) return kMissing;
    if (count > left) return Status::too_many_tensors;
    left -= count;
    for (std::size_t i = 0; i < count; ++i) {
      if (const Status status = check(tensors[i]); status != Status::ok) return status;
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
#endif

}  // namespace

Status c_api::take_tensors(const opdump_recorder& recorder, const opdump_tensor* inputs,
                           std::uint32_t input_count, const opdump_tensor* outputs,
                           std::uint32_t output_count) {
  const Status status = take_list(recorder, 0, inputs, input_count);
  return status == Status::ok ? take_list(recorder, input_count, outputs, output_count) : status;
}

#if OPDUMP_FAULTS == 2
/// Only when it is needed, as its views share memory with others.
void c_api::announce_running(opdump_recorder& recorder) {
  opdump_running_op running;
  if (take_struct(recorder.running, running) != Status::ok) return;
  std::span<const TensorView> lists[std::size(kRunningLists)];
  std::size_t used = 0;
  for (std::size_t list = 0; list < std::size(lists); ++list) {
    const std::span<TensorView> views = recorder.tensors.subspan(used, running.*kRunningCounts[list]);
    for (std::size_t i = 0; i < views.size(); ++i) put_view((running.*kRunningLists[list])[i], *::new (&views[i]) TensorView);
    used += views.size();
    lists[list] = views;
  }
  recorder.memory = {.arguments = lists[1], .workspaces = lists[3]};
  recorder.recorder.begin_op(running.op, lists[0], lists[2], &recorder.memory);
}
#endif

extern "C" {

std::size_t opdump_recorder_size(const opdump_recorder_options* from) {
  opdump_recorder_options options;
  if (c_api::take_struct(from, options) != Status::ok) return 0;
  return c_api::room_for<opdump_recorder>() + c_api::room_for<TensorView>(max_tensors(options)) +
         kRingAlignment + options.ring_bytes + c_api::room_for<std::uint64_t>() +
         head_bytes_of(options);
}

opdump_status opdump_recorder_add(opdump_session* session, const opdump_recorder_options* from, void* memory,
                                  std::size_t bytes, opdump_recorder** recorder) {
  if (session == nullptr || recorder == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *recorder = nullptr;
  opdump_recorder_options options;
  if (const Status status = c_api::take_struct(from, options); status != Status::ok) return to_c(status);
  if (options.when_full > OPDUMP_RECORDER_DEGRADE) return OPDUMP_ERR_INVALID_ARGUMENT;
  Arena arena = c_api::arena_of(memory, bytes);
  const std::size_t head_bytes = head_bytes_of(options);
  std::byte* const place = arena.take(1, sizeof(opdump_recorder), alignof(opdump_recorder));
  TensorView* const tensors = c_api::room_in<TensorView>(arena, max_tensors(options));
  std::byte* const ring = arena.take(options.ring_bytes, 1, kRingAlignment);
  std::byte* const heads = arena.take(head_bytes, 1, alignof(std::uint64_t));
  if (place == nullptr || tensors == nullptr || ring == nullptr || heads == nullptr) return OPDUMP_ERR_NO_MEMORY;
  const Result<c_api::PortRecorder*> added =
      session->session.add_recorder({ring, options.ring_bytes}, {heads, head_bytes}, own_when_full(options));
  if (!added.ok()) return to_c(added.status());
  *recorder = ::new (place) opdump_recorder{
      session->session, *added.value(), std::span<TensorView>(tensors, max_tensors(options))};
  return OPDUMP_OK;
}

opdump_status opdump_recorder_remove(opdump_recorder* recorder) {
  if (c_api::is_gone(recorder)) return OPDUMP_ERR_INVALID_ARGUMENT;
  const Status status = recorder->session.remove_recorder(recorder->recorder);
  recorder->gone = status == Status::ok;
  return to_c(status);
}

opdump_status opdump_begin_step(opdump_recorder* recorder, opdump_model* model) {
  if (c_api::is_gone(recorder) || model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return to_c(recorder->recorder.begin_step(model->plan));
}

opdump_status opdump_begin_step_at(opdump_recorder* recorder, opdump_model* model, std::uint64_t step) {
  if (c_api::is_gone(recorder) || model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return to_c(recorder->recorder.begin_step(model->plan, step));
}

int opdump_wants(const opdump_recorder* recorder, std::uint32_t op) {
  if (c_api::is_gone(recorder)) return 0;
  const ModelPlan* const plan = recorder->recorder.open_plan();
  return plan != nullptr && op < plan->bits.size() && recorder->recorder.wants(op) ? 1 : 0;
}

opdump_status opdump_capture(opdump_recorder* recorder, std::uint32_t op, const opdump_tensor* inputs,
                             std::uint32_t input_count, const opdump_tensor* outputs,
                             std::uint32_t output_count) {
  if (c_api::is_gone(recorder)) return OPDUMP_ERR_INVALID_ARGUMENT;
  const Status status = c_api::take_tensors(*recorder, inputs, input_count, outputs, output_count);
  if (status != Status::ok) return to_c(recorder->recorder.refuse(op, status));
  return to_c(recorder->recorder.capture(op, recorder->tensors.first(input_count),
                                         recorder->tensors.subspan(input_count, output_count)));
}

opdump_status opdump_end_step(opdump_recorder* recorder) {
  if (c_api::is_gone(recorder)) return OPDUMP_ERR_INVALID_ARGUMENT;
#if OPDUMP_FAULTS == 2
  recorder->running = nullptr;
#endif
  return to_c(recorder->recorder.end_step());
}

#if OPDUMP_FAULTS == 2
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
    return to_c(lose_unusable(*recorder, op, overflow == nullptr ? kMissing : status, status));
  const Status status = c_api::take_tensors(*recorder, inputs, input_count, outputs, output_count);
  if (status != Status::ok) return to_c(recorder->recorder.refuse(op, status));
  OverflowReport report;
  report.status[0] = told.status;
  report.start = told.start;
  report.arguments = told.arguments;
  report.core_id = told.core_id;
  report.block_id = told.block_id;
  return to_c(recorder->recorder.capture_overflow(op, recorder->tensors.first(input_count),
                                                  recorder->tensors.subspan(input_count, output_count), report));
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
#else
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
#endif

}  // extern "C"
