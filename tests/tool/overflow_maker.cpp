/// Dumps an overflow of every unit in every layout, one operator each.
///
/// usage: overflow_maker nano|protobuf DIRECTORY
#include <cstdio>
#include <limits>
#include <string_view>

#include "opdump/parts/overflow_scan.hpp"
#include "opdump/parts/protobuf.hpp"
#include "opdump/session.hpp"
#include "opdump/types/overflow.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/system_clock.hpp"
#include "platform/posix/tree_sink.hpp"

using namespace opdump;

namespace {

OverflowReport report_of(std::size_t number) {
  constexpr OverflowUnit kUnits[] = {OverflowUnit::aic,          OverflowUnit::aiv,
                                     OverflowUnit::aicpu,        OverflowUnit::sdma,
                                     OverflowUnit::ai_core,      OverflowUnit::dha_atomic_add,
                                     OverflowUnit::l2_atomic_add};
  constexpr std::size_t kKinds = sizeof kUnits / sizeof kUnits[0];
  OverflowReport report;
  report.unit = kUnits[number % kKinds];
  report.wide = number >= kKinds;
  report.status[0] = kOverflowToFloat16 | kOverflowInteger;
  report.status[3] = std::numeric_limits<std::uint64_t>::max();
  report.start = 0x1008005b0000;
  report.arguments = 0x100800297000;
  report.kernel_code = 0x1008005ae000;
  report.core_id = 7;
  report.block_id = 1;
  report.debug_task_id = 100;
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  constexpr std::size_t kOps = 9;
  HostMemory memory;
  OverflowScan<HostMemory> overflow(memory);
  posix::TreeSink sink;
  posix::SystemClock clock;
  ProtobufFormat protobuf;
  static std::byte scratch[4096];
  alignas(8) static std::byte ring[65536];
  BasicSession<HostMemory> session({.memory = memory,
                                    .sink = sink,
                                    .clock = clock,
                                    .scratch = scratch,
                                    .when_full = WhenFull::inline_drain,
                                    .formats = {.protobuf = &protobuf},
                                    .overflow = &overflow});
  DumpConfig config;
  config.active = config.overflow = true;
  config.dump_path = argv[2];
  config.form.file_format = std::string_view(argv[1]) == "nano" ? FileFormat::nano : FileFormat::protobuf;
  OpDesc ops[kOps];
  char names[kOps][8];
  for (std::uint32_t i = 0; i < kOps; ++i) {
    std::snprintf(names[i], sizeof names[i], "op%u", i);
    ops[i] = {.name = names[i], .type = "Cast", .task_id = i, .stream_id = 3};
  }
  const ModelDesc model = {.name = "net", .id = 5, .ops = ops};
  ModelPlanFor<kOps> plan;
  BasicRecorder<HostMemory>& recorder = *session.add_recorder(ring).value();
  bool good = session.init() == Status::ok && session.set_config(config) == Status::ok &&
              session.load_model(plan, model) == Status::ok && recorder.begin_step(plan) == Status::ok;
  const float numbers[] = {1, 2, 3, 4, 5, 6, 7, std::numeric_limits<float>::infinity()};
  const Dim dims[] = {4};
  const TensorView in = {address_of(numbers), 16, DType::float32, Format::nd, dims};
  const TensorView out = {address_of(numbers + 4), 16, DType::float32, Format::nd, dims};
  for (std::size_t i = 0; good && i < kOps; ++i)
    good = recorder.capture_overflow(i, {&in, 1}, {&out, 1}, report_of(i)) == Status::ok;
  good = good && recorder.end_step() == Status::ok && session.finalize() == Status::ok;
  return good && session.counts().lost() == 0 ? 0 : 1;
}
