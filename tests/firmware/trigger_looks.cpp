// Counts instructions of looks of triggers on an emulated board, as instructions.cpp does of captures: prints a line
// `name,instructions` each.

#include <bit>
#include <cstdint>

#include "opdump/boot.hpp"
#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/parts/history_sink.hpp"
#include "opdump/parts/trigger_sink.hpp"
#include "opdump/parts/triggers.hpp"
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
#include "tests/firmware/instruction_count.hpp"

using namespace opdump;
using namespace opdump::firmware;

namespace {

HostMemory memory;
NullSink sink;
CountingClock fixed_clock;
alignas(8) std::byte history_memory[8192];
HistorySink history(sink, history_memory);
TriggerMemory<3, 3, 2> trigger_memory;
TriggerSink trigger_sink(history, sink, fixed_clock, trigger_memory.room());
Triggers<HostMemory, SmallLook, 1> looks(trigger_sink);
std::byte scratch[1024];
alignas(8) std::byte ring[8192];
alignas(8) std::byte heads[head_memory_bytes(4)];
BasicSession<HostMemory> session({.memory = memory,
                                  .sink = trigger_sink,
                                  .clock = fixed_clock,
                                  .scratch = scratch,
                                  .when_full = WhenFull::drop,
                                  .triggers = &looks});
ModelPlanFor<4> plan;
alignas(4) std::byte data[4096];

/// Of `capture` of operator `op`, whose output is `bytes` bytes of float32. Of the second call: in the first the
/// emulator translates.
double capture_cost(BasicRecorder<HostMemory>& recorder, std::size_t op, std::size_t bytes) {
  const Dim dims[] = {bytes / 4};
  const TensorView view = {
      .address = address_of(data), .bytes = bytes, .dtype = DType::float32, .shape = dims};
  std::uint32_t taken = 0;
  for (int i = 0; i < 2; ++i) {
    asm("" : "+r"(op));  // as if the compiler knew nothing of it
    taken = ticks([&] { static_cast<void>(recorder.capture(op, {}, {&view, 1})); });
    static_cast<void>(session.drain_some(SIZE_MAX));
  }
  return in_instructions(taken);
}

}  // namespace

int main() {
  begin_counting();
  BasicRecorder<HostMemory>& recorder = *session.add_recorder(ring, heads).value();
  // "d" is dumped; triggers look at the others, which are not: of each the look is all that is done.
  const OpDesc ops[] = {{.name = "d", .type = "T"},
                        {.name = "x", .type = "T"},
                        {.name = "m", .type = "T"},
                        {.name = "c", .type = "T"}};
  const ModelDesc model = {.name = "net", .ops = ops};
  const std::string_view layer = "d";
  const ModelRule rule = {.model_name = "net", .all_layers = false, .layers = {&layer, 1}};
  const NamePattern names[][2] = {{{}, {.text = "x"}}, {{}, {.text = "m"}}, {{}, {.text = "c"}}};
  const std::uint64_t one = std::bit_cast<std::uint64_t>(1.0);
  TriggerRule rules[3];
  const TriggerCause causes[] = {TriggerCause::max, TriggerCause::mean, TriggerCause::change};
  for (std::size_t i = 0; i < 3; ++i) {
    rules[i].names = names[i];
    rules[i].above = one;
    rules[i].numbers = TriggerRule::pack({.cause = causes[i], .has_above = has_limits(causes[i])});
  }
  DumpConfig config = {.active = true, .dump_path = "/", .models = {&rule, 1}};
  config.options.history_steps = 2;
  config.options.triggers = rules;
  if (boot(session, trigger_sink, config) != Status::ok || session.load_model(plan, model) != Status::ok ||
      recorder.begin_step(plan) != Status::ok)
    return 2;
  print("capture of 64 B beside a trigger", capture_cost(recorder, 0, 64));
  const char* const at_64[] = {"look at a maximum of 64 B", "look at a mean of 64 B",
                               "look at a change of 64 B"};
  const char* const per_byte[] = {"look at a maximum per byte", "look at a mean per byte",
                                  "look at a change per byte"};
  for (std::size_t i = 0; i < 3; ++i) {
    const double small = capture_cost(recorder, i + 1, 64);
    const double large = capture_cost(recorder, i + 1, 3136);
    print(at_64[i], small);
    print(per_byte[i], (large - small) / (3136 - 64));
  }
  const FiringCounts counts = trigger_sink.counts();
  return counts.looks == 12 && counts.unread == 0 && counts.fired == 0 && session.counts().lost() == 0 ? 0
                                                                                                       : 1;
}
