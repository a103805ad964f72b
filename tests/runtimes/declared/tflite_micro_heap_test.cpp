// Counts what the adapter for TensorFlow Lite Micro takes of the heap: nothing, from its load to its unload.
// Stands alone because it replaces the allocation functions.

#include <cstdio>

#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/runtimes/tflite_micro/tflm_tap.hpp"
#include "tests/bench/sinks.hpp"
#include "tests/runtimes/declared/tflite_micro/network.hpp"
#include "tests/support/counted_heap.hpp"
#include "tests/support/fakes.hpp"

using namespace opdump;

int main() {
  HostMemory memory;
  bench::NullSink sink;
  tests::FakeClock clock;
  static std::byte scratch[1024];
  alignas(8) static std::byte ring[8192];
  BasicSession<HostMemory> session({.memory = memory,
                                    .sink = sink,
                                    .clock = clock,
                                    .scratch = scratch,
                                    .when_full = WhenFull::inline_drain});
  auto& recorder = *session.add_recorder(ring).value();
  tests::Network network;
  tests::Resolver resolver;
  tflm::Tap<HostMemory, 8, 4, 16, 64> tap(resolver, network.model, recorder);
  const ModelRule any[] = {{.any_model = true}};
  bool ok = session.init() == Status::ok &&
            session.set_config(
                {.active = true, .dump_path = "/dump", .mode = DumpMode::all, .models = any}) == Status::ok;

  const std::size_t before_load = tests::heap.asked;
  ok = ok && tap.load(session, "net") == Status::ok;
  const std::size_t loading = tests::heap.asked - before_load;
  tflite::MicroInterpreter interpreter(&network.model, tap, network.plan);
  ok = ok && interpreter.AllocateTensors() == kTfLiteOk;
  const std::size_t before_steps = tests::heap.asked;
  for (int i = 0; i < 100; ++i) ok = tap.invoke(interpreter) == kTfLiteOk && ok;
  ok = tap.unload(session) == Status::ok && ok;
  const std::size_t running = tests::heap.asked - before_steps;
  ok = session.finalize() == Status::ok && ok;
  const DumpCounts counts = session.counts();
  std::printf("%zu bytes of the heap to load, %zu in 100 steps with %u records\n", loading, running,
              counts.written);
  return ok && loading + running == 0 && counts.written == 700 ? 0 : 1;
}
