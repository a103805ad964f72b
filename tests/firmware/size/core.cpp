// The capture core: the test of the plan, recorder, ring, drainer and nano writer, as a firmware calls them.

#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"

using namespace opdump;
using HostRecorder = BasicRecorder<HostMemory>;

extern "C" {
Status size_begin_step(HostRecorder& recorder, ModelPlan& plan) {
  return recorder.begin_step(plan);
}
bool size_wants(const HostRecorder& recorder, std::size_t op) {
  return recorder.wants(op);
}
Status size_capture(HostRecorder& recorder, std::size_t op, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs) {
  return recorder.capture(op, inputs, outputs);
}
Status size_end_step(HostRecorder& recorder) {
  return recorder.end_step();
}
std::size_t size_drain(Drainer& drainer, std::size_t slot, Ring& ring, std::size_t budget) {
  return drainer.drain(slot, ring, budget);
}
#if OPDUMP_JOURNAL
void size_tell_untold(Drainer& drainer, std::size_t slot, Ring& ring, const UntoldLosses& untold) {
  drainer.tell_untold(slot, ring, untold);
}
#endif
void size_finish(Drainer& drainer, std::size_t slot, std::uint32_t next, const LossGap& gap) {
  drainer.finish(slot, next, gap);
}
extern const char bytes_of_session[sizeof(BasicSession<HostMemory>)];
const char bytes_of_session[sizeof(BasicSession<HostMemory>)] = {};
}
