// A network whose operators are dumped to flash. Exit status 0 if nothing was lost.

#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>

#include "clock.hpp"
#include "dump_plan.h"
#include "memory.hpp"
#include "opdump/boot.hpp"
#include "opdump/session.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "sink.hpp"

namespace {

using opdump::Status;

PortMemory memory;
PortClock port_clock;
std::byte page[opdump::flashlog::FlashLog::kPrefixBytes + 256];
opdump::flashlog::FlashLog flash_log(kFlash, page, {.policy = opdump::flashlog::Policy::overwrite_oldest});
std::byte scratch[opdump::drain_scratch_bytes(3, 5, 7)];  // "net", "Scale", "double1" are the longest names
opdump::BasicSession<PortMemory> session({.memory = memory,
                                          .sink = flash_log,
                                          .clock = port_clock,
                                          .scratch = scratch,
                                          .when_full = opdump::WhenFull::drop});
alignas(8) std::byte ring[4096];

// The network: one operator here, which doubles four numbers. Yours takes its place.
const opdump::OpDesc ops[] = {{.name = "double1", .type = "Scale", .task_id = 0, .stream_id = 0}};
const opdump::ModelDesc model = {.name = "net", .id = 1, .ops = ops};
opdump::ModelPlanFor<1> plan;
const opdump::Dim shape[] = {2, 2};
float input[4];
float output[4];

void run_op(int step) {
  for (int i = 0; i < 4; ++i) input[i] = static_cast<float>(step + i);
  for (int i = 0; i < 4; ++i) output[i] = 2 * input[i];
}

opdump::TensorView view(const float (&values)[4]) {
  return {opdump::address_of(values), sizeof values, opdump::DType::float32, opdump::Format::nd, shape};
}

Status start_dump() {
  alignas(8) static std::byte lists[DUMP_PLAN_MEMORY_BYTES];
  static opdump::Arena arena(lists);
  Status status = flash_log.mount();
  if (status == Status::ok)
    status = opdump::boot(session, flash_log, std::as_bytes(std::span(dump_plan)), arena);
  if (status == Status::ok) status = session.load_model(plan, model);
  return status;
}

}  // namespace

int main() {
  opdump::BasicRecorder<PortMemory>& recorder = *session.add_recorder(ring).value();
  Status status = start_dump();

  for (int step = 0; step < 5; ++step) {
    recorder.begin_step(plan);
    run_op(step);
    if (recorder.wants(0)) {
      const opdump::TensorView inputs[] = {view(input)};
      const opdump::TensorView outputs[] = {view(output)};
      recorder.capture(0, inputs, outputs);
    }
    recorder.end_step();
    session.drain_some(512);
    static_cast<void>(flash_log.prepare());
  }

  if (status == Status::ok) status = session.finalize();
  const std::string_view text = opdump::to_string(status);
  const opdump::DumpCounts counts = session.counts();
  std::printf("%.*s: %u records dumped, %u lost\n", static_cast<int>(text.size()), text.data(),
              static_cast<unsigned>(counts.written), static_cast<unsigned>(counts.lost()));
  return status == Status::ok && counts.lost() == 0 ? 0 : 1;
}
