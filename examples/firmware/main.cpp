// The digits network in firmware without a system: reads handwritten digits, and dumps what the config in the last
// block of the flash asks for into the rest of it. A timer's interrupt captures too; the main loop drains.
//
// usage: digits [STEPS]
// Prints `synced N` whenever N records would survive a loss of power. Exit status 0 if nothing was lost.

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "../digits/images.hpp"
#include "../digits/network.hpp"
#include "board.hpp"
#include "config_page.hpp"
#include "network_memory.hpp"
#include "opdump/boot.hpp"
#include "opdump/session.hpp"
#include "platform/flashlog/flash_log.hpp"

namespace {

using Session = opdump::BasicSession<firmware::NetworkMemory>;
using Recorder = Session::Recorder;

/// The time of the step, so that two runs give the same names. The timer's interrupt reads it too, so what is
/// stored is a word that cannot be seen half written.
class StepClock final : public opdump::Clock {
 public:
  void begin_step(std::uint32_t step) { step_.store(step, std::memory_order_relaxed); }
  std::uint64_t unix_us() override { return kStart + step_.load(std::memory_order_relaxed) * kStepUs; }
  std::int32_t utc_offset_seconds() override { return 0; }
  std::uint32_t monotonic_ms() override { return 0; }
  void pause() override {}

 private:
  static constexpr std::uint64_t kStart = 1'700'000'000'000'000;
  static constexpr std::uint64_t kStepUs = 1000;
  std::atomic<std::uint32_t> step_{0};
};

digits::Network network;
firmware::NetworkMemory memory(network);
StepClock step_clock;
firmware::ConfigPage config_page;
opdump::ModelPlanFor<digits::Network::kOpCount> plan;
alignas(8) std::byte network_ring[16 * 1024];
alignas(8) std::byte timer_ring[4096];
std::byte scratch[1024];
std::byte page[opdump::flashlog::FlashLog::kPrefixBytes + 256];

Recorder* timer_recorder = nullptr;

/// Captures a counter from the timer's interrupt, as a driver would its readings.
void on_tick() {
  static std::uint32_t readings[4] = {};
  static constexpr opdump::Dim kDims[] = {4};
  for (std::uint32_t& reading : readings) ++reading;
  const opdump::TensorView tensor = {.address = opdump::address_of(readings),
                                     .bytes = sizeof readings,
                                     .dtype = opdump::DType::uint32,
                                     .shape = kDims};
  static_cast<void>(
      timer_recorder->capture_single_op({.name = "timer", .type = "Reading"}, {}, {&tensor, 1}));
}

void run_step(Session& session, Recorder& recorder, opdump::flashlog::FlashLog& log, std::size_t step) {
  network.load_image(step % digits::kImageCount);
  recorder.begin_step(plan);
  for (std::size_t op = 0; op < network.ops().size(); ++op) {
    network.run_op(op);
    if (recorder.wants(op)) {
      const opdump::TensorView inputs[] = {memory.view(op, 0),
                                           memory.view(op, network.ops()[op].inputs.size() > 1 ? 1 : 0)};
      const opdump::TensorView output = memory.view(op, firmware::NetworkMemory::kOutput);
      recorder.capture(op, std::span(inputs).first(network.ops()[op].inputs.size()), {&output, 1});
    }
    while (session.drain_some(SIZE_MAX) != 0) {
    }
  }
  recorder.end_step();
  static_cast<void>(log.prepare());
}

int run(std::size_t steps) {
  const opdump::flashlog::Device flash = board::flash();
  opdump::flashlog::Device dump_part = flash;
  dump_part.geometry.block_count -= 1;
  static opdump::flashlog::FlashLog log(dump_part, page,
                                        {.policy = opdump::flashlog::Policy::stop_when_full});
  static Session session({.memory = memory,
                          .sink = log,
                          .clock = step_clock,
                          .scratch = scratch,
                          .when_full = opdump::WhenFull::drop});
  const opdump::DumpConfig& config = config_page.read(flash);
  const opdump::Result<opdump::MutableBytes> ring = opdump::ring_for(network_ring, config.options);
  Recorder& recorder = *session.add_recorder(ring.ok() ? ring.value() : network_ring).value();
  timer_recorder = session.add_recorder(timer_ring).value();

  static opdump::OpDesc ops[digits::Network::kOpCount];
  for (std::uint32_t i = 0; i < network.ops().size(); ++i)
    ops[i] = {.name = network.ops()[i].name, .type = network.ops()[i].type, .task_id = i, .stream_id = 0};
  static const opdump::ModelDesc model = {.name = "digits", .id = 1, .ops = ops};

  opdump::Status status = ring.status();
  if (status == opdump::Status::ok) status = log.mount();
  if (status == opdump::Status::ok) status = opdump::boot(session, log, config);
  if (status == opdump::Status::ok) status = session.load_model(plan, model);
  if (status != opdump::Status::ok) {
    const std::string_view reason = opdump::to_string(status);
    std::printf("nothing is dumped: %.*s\n", static_cast<int>(reason.size()), reason.data());
  }

  board::start_ticks(on_tick);
  std::size_t right = 0;
  constexpr std::size_t kStepsPerSync = 4;
  for (std::size_t step = 0; step < steps; ++step) {
    step_clock.begin_step(static_cast<std::uint32_t>(step));
    run_step(session, recorder, log, step);
    right += network.predicted() == digits::kLabels[step % digits::kImageCount] ? 1u : 0u;
    if (step % kStepsPerSync == kStepsPerSync - 1 && session.sync() == opdump::Status::ok) {
      std::printf("synced %lu\n", static_cast<unsigned long>(session.counts().written));
      std::fflush(stdout);
    }
  }
  board::stop_ticks();

  if (status == opdump::Status::ok) status = session.finalize();
  const opdump::DumpCounts counts = session.counts();
  std::printf("%lu of %lu images right, %lu records dumped, %lu lost\n", static_cast<unsigned long>(right),
              static_cast<unsigned long>(steps), static_cast<unsigned long>(counts.written),
              static_cast<unsigned long>(counts.lost()));
  return status == opdump::Status::ok && counts.lost() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc > 1 ? static_cast<std::size_t>(std::strtoul(argv[1], nullptr, 10)) : 20);
}
