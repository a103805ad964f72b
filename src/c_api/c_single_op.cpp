#include "opdump/types/model.hpp"

#include "src/c_api/handles.hpp"

using namespace opdump;
using c_api::to_c;

extern "C" {

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
