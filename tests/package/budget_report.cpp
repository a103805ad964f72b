// Prints the rows of the table of RAM in tests/bench/README.md.

#include <cstdio>

#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/tree_sink.hpp"

using namespace opdump;

int main() {
  using Session = BasicSession<HostMemory>;
  constexpr Workload kSmall = {
      .recorders = 1, .ring_bytes = 64 * 1024, .scratch_bytes = 1024, .models = 1, .ops = 100};
  constexpr Workload kLarge = {
      .recorders = 8, .ring_bytes = 1024 * 1024, .scratch_bytes = 4096, .models = 4, .ops = 4 * 10'000};
  static_assert(ram_bytes<HostMemory>(kSmall) ==
                sizeof(Session) + 64 * 1024 + 1024 + sizeof(ModelPlan) + 100);
  Workload counted = kLarge;
  counted.counted_ops = counted.ops;
  std::printf("| | bytes |\n|---|---|\n");
  std::printf("| session, with %d recorders | %zu |\n", OPDUMP_MAX_RECORDERS, sizeof(Session));
  std::printf("| of that, each recorder | %zu |\n", sizeof(Session::Recorder));
  std::printf("| each loaded model | %zu + 1 per operator |\n", sizeof(ModelPlan));
  std::printf("| each operator that is counted (`count_ops`; `FileDump` counts all) | %zu |\n",
              sizeof(OpCounts));
  std::printf("| each operator's head that a recorder keeps | %zu |\n", head_memory_bytes(1));
  std::printf("| tree sink | %zu |\n", sizeof(posix::TreeSink));
  std::printf("| session, 1 ring of 64 KiB, scratch of 1 KiB, 1 model of 100 operators | %zu |\n",
              ram_bytes<HostMemory>(kSmall));
  std::printf("| session, 8 rings of 1 MiB, scratch of 4 KiB, 4 models of 10 000 operators each | %zu |\n",
              ram_bytes<HostMemory>(kLarge));
  std::printf("| the same, all operators counted | %zu |\n", ram_bytes<HostMemory>(counted));
}
