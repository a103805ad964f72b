#pragma once
// What the programs of this folder have in common: a network of three operators whose outputs the CPU reads, a timer's
// clock, and the calls that a firmware makes of opdump. Each program adds its sink, its config and its boot.

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "opdump/boot.hpp"
#include "platform/baremetal/tick_clock.hpp"
#include "platform/host/host_memory.hpp"

namespace firmware {

using namespace opdump;
using Session = BasicSession<HostMemory>;

inline constexpr OpDesc kOps[] = {{.name = "conv1", .type = "Conv2D", .task_id = 0, .stream_id = 0},
                                  {.name = "relu1", .type = "Relu", .task_id = 1, .stream_id = 0},
                                  {.name = "dense1", .type = "MatMul", .task_id = 2, .stream_id = 0}};
inline constexpr ModelDesc kModel = {.name = "net", .id = 1, .ops = kOps};
inline constexpr Dim kDims[] = {1, 4, 4, 4};
inline std::int8_t output[64];

// A config that is built in: all operators of the network, at each step.
inline constexpr ModelRule kRules[] = {{.model_name = "net"}};
inline constexpr DumpConfig kConfig = {.asked = true, .active = true, .dump_path = "/dump", .models = kRules};

baremetal::TickClock ticks(1000);
HostMemory memory;
ModelPlanFor<std::size(kOps)> plan;
std::byte scratch[drain_scratch_bytes(3, 6, 6)];  // "net", "Conv2D", "dense1"
alignas(8) std::byte ring[2048];
extern Session session;
Session::Recorder* recorder;

}  // namespace firmware

extern "C" {
opdump::Status firmware_boot();
opdump::Status firmware_idle();

void SysTick_Handler();
void SysTick_Handler() {
  firmware::ticks.tick();
}

opdump::Status firmware_load();
opdump::Status firmware_load() {
  return firmware::session.load_model(firmware::plan, firmware::kModel);
}

opdump::Status firmware_capture(std::size_t op);
opdump::Status firmware_capture(std::size_t op) {
  using namespace firmware;
  if (!recorder->wants(op)) return Status::ok;
  const TensorView tensor = {address_of(output), sizeof output, DType::int8, Format::nchw, kDims};
  return recorder->capture(op, {}, {&tensor, 1});
}

std::size_t firmware_drain();
std::size_t firmware_drain() {
  return firmware::session.drain_some(512);
}

opdump::Status firmware_end();
opdump::Status firmware_end() {
  return firmware::session.finalize();
}

/// Exit status 0 if each record was written.
int main();
int main() {
  using namespace firmware;
  constexpr std::uint32_t kSteps = 4;
  if (firmware_boot() != Status::ok || firmware_load() != Status::ok) return 1;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    recorder->begin_step(plan);
    for (std::size_t op = 0; op < std::size(kOps); ++op) {
      output[step] = static_cast<std::int8_t>(op + 1);
      if (firmware_capture(op) != Status::ok) return 1;
    }
    recorder->end_step();
    while (firmware_drain() != 0) {
    }
    if (firmware_idle() != Status::ok) return 1;
  }
  if (firmware_end() != Status::ok) return 1;
  return session.counts().written == kSteps * std::size(kOps) ? 0 : 1;
}
}
