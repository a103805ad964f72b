#include "opdump/recorder.hpp"

#include <optional>

#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/types/model.hpp"
#include "src/c_api/handles.hpp"
#include "src/c_api/tensors_in.hpp"

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

/// By the numbers of `opdump_recorder_options::when_full`.
constexpr WhenFull kOwnWhenFull[] = {WhenFull{}, WhenFull::drop, WhenFull::block, WhenFull::degrade};
static_assert(OPDUMP_RECORDER_AS_SESSION == 0 && OPDUMP_RECORDER_DROP == 1 && OPDUMP_RECORDER_BLOCK == 2 &&
              OPDUMP_RECORDER_DEGRADE == 3);

std::optional<WhenFull> own_when_full(const opdump_recorder_options& options) {
  if (options.when_full == OPDUMP_RECORDER_AS_SESSION) return {};
  return kOwnWhenFull[options.when_full];
}

/// Adds those of one list, behind the first `used` of the recorder's.
Status take_list(const opdump_recorder& recorder, std::size_t used, const opdump_tensor* tensors,
                 std::uint32_t count) {
  if (count != 0 && tensors == nullptr) return c_api::kMissing;
  if (count > recorder.tensors.size() - used) return Status::too_many_tensors;
  TensorView* view = recorder.tensors.data() + used;
  for (; count != 0; --count) {
    const Status status = c_api::put_view(*tensors++, view++);
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

/// `take_tensors` for this file, where a call of it takes more code.
OPDUMP_INLINE_IF_LEAN inline Status take_lists(const opdump_recorder& recorder, const opdump_tensor* inputs,
                                               std::uint32_t input_count, const opdump_tensor* outputs,
                                               std::uint32_t output_count) {
  const Status status = take_list(recorder, 0, inputs, input_count);
  return status == Status::ok ? take_list(recorder, input_count, outputs, output_count) : status;
}

}  // namespace

Status c_api::take_tensors(const opdump_recorder& recorder, const opdump_tensor* inputs,
                           std::uint32_t input_count, const opdump_tensor* outputs,
                           std::uint32_t output_count) {
  return take_lists(recorder, inputs, input_count, outputs, output_count);
}

extern "C" {

std::size_t opdump_recorder_size(const opdump_recorder_options* from) {
  static_assert(!c_api::kBounded || c_api::room_for<opdump_recorder>() + c_api::room_for<TensorView>(9) +
                                            kRingAlignment + c_api::room_for<std::uint64_t>() <=
                                        OPDUMP_RECORDER_BYTES(0, 9));
  opdump_recorder_options options;
  if (c_api::take_struct(from, options) != Status::ok) return 0;
  return c_api::room_for<opdump_recorder>() + c_api::room_for<TensorView>(max_tensors(options)) +
         kRingAlignment + options.ring_bytes + c_api::room_for<std::uint64_t>() + head_bytes_of(options);
}

opdump_status opdump_recorder_add(opdump_session* session, const opdump_recorder_options* from, void* memory,
                                  std::size_t bytes, opdump_recorder** recorder) {
  if (session == nullptr || recorder == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *recorder = nullptr;
  opdump_recorder_options options;
  if (const Status status = c_api::take_struct(from, options); status != Status::ok) return to_c(status);
  if (options.when_full > OPDUMP_RECORDER_DEGRADE) return OPDUMP_ERR_INVALID_ARGUMENT;
  c_api::HandleMemory room(memory, bytes);
  const std::size_t head_bytes = head_bytes_of(options);
  opdump_recorder* const place = room.take<opdump_recorder>();
  TensorView* const tensors = room.take<TensorView>(max_tensors(options));
  std::byte* const ring = room.bytes(options.ring_bytes, kRingAlignment);
  std::byte* const heads = build::kLean ? ring : room.bytes(head_bytes, alignof(std::uint64_t));
  if (room.full()) return OPDUMP_ERR_NO_MEMORY;
  c_api::PortRecorder* added = nullptr;
  const Status status = session->session.add_recorder({ring, options.ring_bytes}, {heads, head_bytes},
                                                      own_when_full(options), added);
  if (status != Status::ok) return to_c(status);
  *recorder = ::new (place)
      opdump_recorder(session->session, *added, std::span<TensorView>(tensors, max_tensors(options)));
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
  return recorder->recorder.wants_any(op) ? 1 : 0;
}

opdump_status opdump_capture(opdump_recorder* recorder, std::uint32_t op, const opdump_tensor* inputs,
                             std::uint32_t input_count, const opdump_tensor* outputs,
                             std::uint32_t output_count) {
  if (c_api::is_gone(recorder)) return OPDUMP_ERR_INVALID_ARGUMENT;
  const Status status = take_lists(*recorder, inputs, input_count, outputs, output_count);
  if (status != Status::ok) input_count = output_count = 0;
  const TensorView* const views = recorder->tensors.data();
  return to_c(recorder->recorder.capture_unless(status, op, {views, input_count},
                                                {views + input_count, output_count}));
}

opdump_status opdump_end_step(opdump_recorder* recorder) {
  if (c_api::is_gone(recorder)) return OPDUMP_ERR_INVALID_ARGUMENT;
  recorder->running = nullptr;
  return to_c(recorder->recorder.end_step());
}

int opdump_wants_single_ops(const opdump_recorder* recorder) {
  return !c_api::is_gone(recorder) && recorder->recorder.wants_single_ops() ? 1 : 0;
}

opdump_status opdump_capture_single_op(opdump_recorder* recorder, const opdump_op* op,
                                       const opdump_tensor* inputs, std::uint32_t input_count,
                                       const opdump_tensor* outputs, std::uint32_t output_count) {
  if (c_api::is_gone(recorder) || op == nullptr || op->name == nullptr || op->type == nullptr)
    return OPDUMP_ERR_INVALID_ARGUMENT;
  const OpDesc desc = {
      .name = op->name, .type = op->type, .task_id = op->task_id, .stream_id = op->stream_id};
  const Status status = c_api::take_tensors(*recorder, inputs, input_count, outputs, output_count);
  if (status != Status::ok) return to_c(recorder->recorder.refuse_single_op(desc, status));
  return to_c(recorder->recorder.capture_single_op(desc, recorder->tensors.first(input_count),
                                                   recorder->tensors.subspan(input_count, output_count)));
}

}  // extern "C"
