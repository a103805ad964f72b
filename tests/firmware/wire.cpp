// The digits network on an emulated Cortex-M3 whose dump goes over its UART, between messages of its boot and
// its steps; on a host the same dump as a tree of files, below the directory `dump`.
//
// usage: wire [STEPS]
// On the board it serves the line for ever afterwards.

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "examples/digits/images.hpp"
#include "examples/digits/network.hpp"
#include "examples/firmware/network_memory.hpp"
#include "opdump/boot.hpp"
#if defined(__arm__)
#include "platform/wire/wire_sink.hpp"
#else
#include "platform/posix/tree_sink.hpp"
#endif

namespace {

using namespace opdump;
using NetworkSession = BasicSession<firmware::NetworkMemory>;

/// The time of the step, so that two runs give the same names.
class StepClock final : public Clock {
 public:
  void begin_step(std::uint32_t step) { us_ = 1'700'000'000'000'000 + step * 1000ull; }
  std::uint64_t unix_us() override { return us_; }
  std::int32_t utc_offset_seconds() override { return 0; }
  std::uint32_t monotonic_ms() override { return 0; }
  void pause() override {}

 private:
  std::uint64_t us_ = 0;
};

#if defined(__arm__)
/// UART 0 of a CMSDK system, as the MPS2 boards have it. The emulator would send at any speed, so the system's
/// timer keeps to that of WIRE_BAUD, in runs as from a FIFO, as each tick wakes the emulator. No interrupt is
/// taken: each becomes pending, which ends a wait, and is cleared.
class Uart {
 public:
  Uart() {
    asm volatile("cpsid i");
    at(kDivider) = 16;
    at(kControl) = 3 + 8;  // both directions, and an interrupt for each byte that comes
    system(kEnable) = kReceived;
    constexpr std::uint32_t kClock = 25'000'000;
    system(kReload) = kClock / (WIRE_BAUD / 10) * kFifoBytes - 1;
    system(kCurrent) = 0;
    system(kTimerControl) = 7;
  }
  void write(Bytes from) {
    for (const std::byte byte : from) {
      while (room_ == 0 || (at(kState) & 1) != 0) {
        if ((system(kTimerControl) & kHasCounted) != 0) {
          room_ = kFifoBytes;
        } else if (!hear()) {
          wait();
        }
      }
      at(kData) = std::to_integer<std::uint32_t>(byte);
      --room_;
    }
  }
  std::size_t read(MutableBytes to) {
    hear();
    std::size_t count = 0;
    while (count < to.size() && taken_ != heard_) to[count++] = memory_[taken_++ % sizeof memory_];
    return count;
  }
  /// Until a byte comes, for a tick at most.
  void wait() {
    asm volatile("wfi");
    at(kInterrupts) = 2;
    system(kClear) = kReceived;
    system(kExceptions) = kClearTick;
  }

 private:
  /// As an interrupt would: it has room for a single byte. Whether one has come.
  bool hear() {
    if ((at(kState) & 2) == 0 || heard_ - taken_ == sizeof memory_) return false;
    memory_[heard_++ % sizeof memory_] = static_cast<std::byte>(at(kData));
    return true;
  }

  static constexpr std::uint32_t kFifoBytes = 16;
  static constexpr std::uintptr_t kData = 0, kState = 4, kControl = 8, kInterrupts = 12, kDivider = 16;
  static constexpr std::uintptr_t kTimerControl = 0x010, kReload = 0x014, kCurrent = 0x018;
  static constexpr std::uintptr_t kEnable = 0x100, kClear = 0x280, kExceptions = 0xd04;
  static constexpr std::uint32_t kReceived = 1u << 0, kHasCounted = 1u << 16, kClearTick = 1u << 25;
  static volatile std::uint32_t& system(std::uintptr_t offset) {
    return *reinterpret_cast<volatile std::uint32_t*>(0xe000e000 + offset);
  }
  static volatile std::uint32_t& at(std::uintptr_t offset) {
    return *reinterpret_cast<volatile std::uint32_t*>(0x40004000 + offset);
  }

  std::byte memory_[256];
  std::uint32_t room_ = kFifoBytes;
  std::uint32_t heard_ = 0;
  std::uint32_t taken_ = 0;
};

Uart uart;
std::byte window[WIRE_WINDOW];
wire::WireSink<Uart, WIRE_FRAME> sink(uart, window, 7);
void tell(std::string_view text) {
  uart.write(as_bytes(text));
}
#else
posix::TreeSink sink;
void tell(std::string_view) {}
#endif

constexpr ModelRule kRules[] = {{.model_name = "digits"}};
constexpr DumpConfig kConfig = {
    .asked = true, .active = true, .dump_path = "dump", .mode = DumpMode::all, .models = kRules};

digits::Network network;
firmware::NetworkMemory memory(network);
StepClock step_clock;
ModelPlanFor<digits::Network::kOpCount> plan;
alignas(8) std::byte ring[16 * 1024];
std::byte scratch[1024];
NetworkSession session({.memory = memory, .sink = sink, .clock = step_clock, .scratch = scratch});

void run_step(NetworkSession::Recorder& recorder, std::size_t step) {
  network.load_image(step % digits::kImageCount);
  step_clock.begin_step(static_cast<std::uint32_t>(step));
  recorder.begin_step(plan);
  for (std::size_t op = 0; op < network.ops().size(); ++op) {
    network.run_op(op);
    if (recorder.wants(op)) {
      const TensorView inputs[] = {memory.view(op, 0),
                                   memory.view(op, network.ops()[op].inputs.size() > 1 ? 1 : 0)};
      const TensorView output = memory.view(op, firmware::NetworkMemory::kOutput);
      recorder.capture(op, std::span(inputs).first(network.ops()[op].inputs.size()), {&output, 1});
    }
    while (session.drain_some(SIZE_MAX) != 0) {
    }
  }
  recorder.end_step();
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t steps = argc > 1 ? static_cast<std::size_t>(std::strtoul(argv[1], nullptr, 10)) : 20;
  tell("\r\nboot: 1.0 (rev \x01\x02)\r\nclock 25 MHz\r\n");
  static OpDesc ops[digits::Network::kOpCount];
  for (std::uint32_t i = 0; i < network.ops().size(); ++i)
    ops[i] = {.name = network.ops()[i].name, .type = network.ops()[i].type, .task_id = i, .stream_id = 0};
  static const ModelDesc model = {.name = "digits", .id = 1, .ops = ops};
  step_clock.begin_step(0);
  NetworkSession::Recorder& recorder = *session.add_recorder(ring).value();
  Status status = boot(session, sink, kConfig);
  if (status == Status::ok) status = session.load_model(plan, model);
  for (std::size_t step = 0; status == Status::ok && step < steps; ++step) {
    run_step(recorder, step);
    tell("a step\r\n");
  }
  if (status == Status::ok) status = session.finalize();
  const bool good = status == Status::ok && session.counts().written == steps * digits::Network::kOpCount;
#if defined(__arm__)
  if (!good) return 1;
  sink.end();
  for (;;) {
    sink.serve();
    uart.wait();
  }
#endif
  return good ? 0 : 1;
}
