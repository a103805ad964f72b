/// Dumps over its standard input, a socket, as a device does that has a compiled config:
///
///     sealed_wire_maker PLAN STEPS [small]
///
/// What is dumped is sealed by libsodium when the plan says "seal", and is the same in each run. All of it
/// fits in the window, but for "small". Exit status 3: the config is refused.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "opdump/boot.hpp"
#include "opdump/parts/sealed_sink.hpp"
#include "platform/baremetal/tick_clock.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/descriptor_port.hpp"
#include "platform/sodium/sodium_sealer.hpp"
#include "platform/wire/wire_sink.hpp"

using namespace opdump;

namespace {

using Line = wire::WireSink<posix::DescriptorPort, 64>;

constexpr std::size_t kValues = 200;

/// Each value of each step is another one.
void fill(std::span<std::uint32_t> values, std::uint32_t step) {
  std::uint32_t seed = step + 1;
  for (std::uint32_t& value : values) value = seed = seed * 1664525 + 1013904223;
}

/// At the same address in each run, as records tell it.
std::span<std::uint32_t> make_values() {
  void* const at = mmap(reinterpret_cast<void*>(0x20000000), 4 * kValues, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  return {static_cast<std::uint32_t*>(at), kValues};
}

Status run(Line& line, Bytes plan, std::uint32_t steps) {
  sodium::SodiumLibrary library;
  if (const Status status = library.load(); status != Status::ok) return status;
  sodium::SodiumSealer sealer(library);
  std::byte chunks[SealedSink<Line>::bytes_for(256)];
  SealedSink<Line> sink(line, sealer, chunks);
  baremetal::TickClock ticks(1000);
  HostMemory memory;
  std::byte scratch[drain_scratch_bytes(3, 6, 5)];
  BasicSession<HostMemory> session({.memory = memory, .sink = sink, .clock = ticks, .scratch = scratch});
  alignas(8) std::byte ring[4096];
  BasicRecorder<HostMemory>& recorder = *session.add_recorder(ring).value();
  alignas(8) std::byte lists[4096];
  Arena arena(lists);
  Status status = boot(session, sink, plan, arena);
  if (status != Status::ok) return status;
  static const OpDesc ops[] = {{.name = "conv1", .type = "Conv2D", .task_id = 0, .stream_id = 0}};
  static const ModelDesc model = {.name = "net", .id = 1, .ops = ops};
  ModelPlanFor<1> loaded;
  status = session.load_model(loaded, model);
  const std::span<std::uint32_t> values = make_values();
  const Dim dims[] = {kValues};
  const TensorView tensor = {address_of(values.data()), 4 * kValues, DType::uint32, Format::nd, dims};
  for (std::uint32_t step = 0; status == Status::ok && step < steps; ++step) {
    fill(values, step);
    ticks.tick();
    recorder.begin_step(loaded);
    recorder.capture(0, {&tensor, 1}, {&tensor, 1});
    recorder.end_step();
    session.drain_some(SIZE_MAX);
    line.serve();
  }
  const Status ended = session.finalize();
  return status == Status::ok ? ended : status;
}

template <std::size_t kWindowBytes>
int dump(Bytes plan, std::uint32_t steps) {
  posix::DescriptorPort port(STDIN_FILENO);
  static std::byte window[kWindowBytes];
  Line line(port, window, 1);
  const Status status = run(line, plan, steps);
  if (status != Status::ok) {
    std::printf("%s\n", std::string(to_string(status)).c_str());
    return 3;
  }
  line.end();
  // As long as the receiver may ask.
  while (!port.gone()) {
    static_cast<void>(port.wait(1000));
    line.serve();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  const std::string plan{std::istreambuf_iterator<char>(file), {}};
  const auto steps = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  return argc == 3 ? dump<1 << 18>(as_bytes(plan), steps) : dump<2048>(as_bytes(plan), steps);
}
