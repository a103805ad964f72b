// A build whose recorders never wait wakes no task: a DrainTask looks at its own times.
#undef OPDUMP_WAIT
#define OPDUMP_WAIT 0
#include <doctest/doctest.h>

#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/template/drain_task.hpp"
#include "tests/support/fakes.hpp"

using namespace opdump;

namespace {

struct Kernel {
  void notify() {}
  void wait(std::uint32_t ms) {
    now += ms;
    if (++waits == 3) stopped = task->stop(0);
  }
  void sleep(std::uint32_t ms) { now += ms; }
  std::uint32_t now_ms() const { return now; }

  std::uint32_t now = 0;
  int waits = 0;
  Status stopped = Status::ok;
  DrainTask<BasicSession<HostMemory>, Kernel>* task = nullptr;
};

}  // namespace

TEST_CASE("drain task: attaches and drains where nobody wakes it") {
  HostMemory memory;
  tests::FakeSink sink;
  tests::FakeClock clock;
  std::byte scratch[1024];
  BasicSession<HostMemory> session({.memory = memory, .sink = sink, .clock = clock, .scratch = scratch});
  alignas(8) std::byte ring[1024];
  BasicRecorder<HostMemory>& recorder = *session.add_recorder(ring).value();
  REQUIRE(session.init() == Status::ok);
  const ModelRule any[] = {{.any_model = true}};
  REQUIRE(session.set_config({.active = true, .dump_path = "/dump", .models = any}) == Status::ok);
  const OpDesc ops[] = {{.name = "a", .type = "T"}};
  const ModelDesc model = {.name = "m", .ops = ops};
  ModelPlanFor<1> plan;
  REQUIRE(session.load_model(plan, model) == Status::ok);

  Kernel kernel;
  DrainTask task(session, kernel);
  kernel.task = &task;
  REQUIRE(task.attach() == Status::ok);
  const float value = 1;
  const TensorView tensor = {.address = address_of(&value), .bytes = sizeof value, .dtype = DType::float32};
  REQUIRE(recorder.begin_step(plan) == Status::ok);
  CHECK(recorder.capture(0, {}, {&tensor, 1}) == Status::ok);
  REQUIRE(recorder.end_step() == Status::ok);
  task.run();
  CHECK(kernel.stopped == Status::timeout);
  CHECK(task.stop(0) == Status::ok);
  REQUIRE(session.finalize() == Status::ok);
  CHECK(session.counts().written == 1);
}
