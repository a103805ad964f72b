// Counts instructions on an emulated board, where QEMU's -icount makes them exact: prints a line
// `name,instructions` each.

#include <cstdint>

#include "opdump/base/crc32c.hpp"
#include "opdump/base/digest.hpp"
#include "opdump/base/xxh3.hpp"
#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
#include "tests/firmware/instruction_count.hpp"

using namespace opdump;
using namespace opdump::firmware;
using Recorder64 = BasicRecorder<HostMemory>;

namespace {

HostMemory memory;
NullSink sink;
CountingClock fixed_clock;
std::byte scratch[1024];
alignas(8) std::byte ring[8192];
alignas(8) std::byte heads[head_memory_bytes(2)];
BasicSession<HostMemory> session({.memory = memory,
                                  .sink = sink,
                                  .clock = fixed_clock,
                                  .scratch = scratch,
                                  .when_full = WhenFull::drop,
                                  .journal = JournalDetail::gaps});
ModelPlanFor<2> plan;
std::byte data[4096];

[[gnu::noinline]] void ask(Recorder64& recorder, std::size_t op, std::uint32_t& captured) {
  if (recorder.wants(op)) ++captured;
}

[[gnu::noinline]] void do_not_ask(Recorder64&, std::size_t, std::uint32_t&) {
  asm volatile("");
}

void drain() {
  static_cast<void>(session.drain_some(SIZE_MAX));
}

/// The first `bytes` bytes of `data`, as a runtime has them described.
struct Tensor {
  explicit Tensor(std::size_t bytes)
      : dims{bytes},
        view{.address = address_of(data), .bytes = bytes, .dtype = DType::uint8, .shape = dims} {}
  Dim dims[1];
  TensorView view;
};

[[gnu::noinline]] void capture(Recorder64& recorder, const Tensor& tensor) {
  std::size_t op = 0;
  asm("" : "+r"(op));  // as if the compiler knew nothing of it
  static_cast<void>(recorder.capture(op, {}, {&tensor.view, 1}));
}

/// Of the second capture: in the first the emulator translates.
double capture_cost(Recorder64& recorder) {
  const Tensor tensor(64);
  std::uint32_t taken = 0;
  for (int i = 0; i < 2; ++i) {
    taken = ticks([&] { capture(recorder, tensor); });
    drain();
  }
  return in_instructions(taken);
}

/// Of one call that drains `records` records.
double drain_cost(Recorder64& recorder, std::size_t bytes, int records) {
  const Tensor tensor(bytes);
  std::uint32_t taken = 0;
  for (int i = 0; i < 2; ++i) {
    for (int record = 0; record < records; ++record) capture(recorder, tensor);
    taken = ticks(drain);
  }
  return in_instructions(taken);
}

/// In pieces of the size in which a reduction reads a tensor.
template <class Digest>
[[gnu::noinline]] void digest(std::byte (&to)[Digest::kBytes]) {
  constexpr std::size_t kPiece = 256;
  Digest sum;
  for (std::size_t at = 0; at < sizeof data; at += kPiece) sum.add(Bytes(data).subspan(at, kPiece));
  sum.finish(to);
}

template <class Digest>
double digest_cost_per_byte() {
  std::byte result[Digest::kBytes];
  return instructions([&] { digest<Digest>(result); }) / sizeof data;
}

}  // namespace

int main() {
  begin_counting();

  Recorder64& recorder = *session.add_recorder(ring, heads).value();
  const OpDesc ops[] = {{.name = "wanted", .type = "T"}, {.name = "other", .type = "T"}};
  const ModelDesc model = {.name = "m", .ops = ops};
  const std::string_view layer = "wanted";
  const ModelRule rule = {.model_name = "m", .all_layers = false, .layers = {&layer, 1}};
  const DumpConfig config = {.active = true, .dump_path = "/", .models = {&rule, 1}};
  if (session.init() != Status::ok || session.set_config(config) != Status::ok ||
      session.load_model(plan, model) != Status::ok || recorder.begin_step(plan) != Status::ok) {
    return 2;
  }

  constexpr std::uint32_t kCalls = 1000;
  std::uint32_t captured = 0;
  const double asked = instructions([&] {
    for (std::uint32_t i = 0; i < kCalls; ++i) ask(recorder, 1, captured);
  });
  const double bare = instructions([&] {
    for (std::uint32_t i = 0; i < kCalls; ++i) do_not_ask(recorder, 1, captured);
  });
  print("op not wanted", (asked - bare) / kCalls);

  print("capture of 64 B", capture_cost(recorder));

  const double small = drain_cost(recorder, 64, 1);
  const double large = drain_cost(recorder, 3136, 1);
  const double per_byte = (large - small) / (3136 - 64);
  print("drain per byte", per_byte);
  constexpr int kRecords = 8;
  print("drain per record", drain_cost(recorder, 64, kRecords) / kRecords - per_byte * 64);
  print("crc32c per byte", digest_cost_per_byte<Crc32c>());
  print("xxh3 per byte", digest_cost_per_byte<Xxh3>());
  print("md5 per byte", digest_cost_per_byte<Md5>());
  return captured == 0 && session.counts().lost() == 0 ? 0 : 1;
}
