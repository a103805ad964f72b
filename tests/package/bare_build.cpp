// A user's program that takes opdump as sources: dumps one record below the directory it is given.

#include <cstddef>
#include <cstdint>

#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/system_clock.hpp"
#include "platform/posix/tree_sink.hpp"

using namespace opdump;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  static HostMemory memory;
  static posix::SystemClock clock;
  static posix::TreeSink sink;
  static std::byte scratch[2048];
  alignas(8) static std::byte ring[4096];
  static BasicSession<HostMemory> session({.memory = memory,
                                           .sink = sink,
                                           .clock = clock,
                                           .scratch = scratch,
                                           .when_full = WhenFull::inline_drain});
  const Result<BasicRecorder<HostMemory>*> recorder = session.add_recorder(ring);
  const OpDesc ops[] = {{.name = "conv1", .type = "Conv2D"}};
  const ModelDesc model = {.name = "net", .id = 1, .ops = ops};
  const ModelRule rule = {.any_model = true};
  static ModelPlanFor<1> plan;
  bool good =
      recorder.ok() && session.init() == Status::ok &&
      session.set_config({.active = true, .dump_path = argv[1], .models = {&rule, 1}}) == Status::ok &&
      session.load_model(plan, model) == Status::ok;
  if (!good) return 1;
  const float output[4] = {1, 2, 3, 4};
  const Dim dims[] = {2, 2};
  const TensorView tensor = {
      .address = address_of(output), .bytes = sizeof output, .dtype = DType::float32, .shape = dims};
  good = recorder.value()->begin_step(plan) == Status::ok &&
         recorder.value()->capture(0, {}, {&tensor, 1}) == Status::ok &&
         recorder.value()->end_step() == Status::ok && session.finalize() == Status::ok;
  return good ? 0 : 1;
}
