// Counts every allocation of the process while records are captured, drained and written to a real tree of
// files. Stands alone because it replaces malloc.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "opdump/session.hpp"
#include "platform/ascend/nano/data_dump.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/drain_thread.hpp"
#include "platform/posix/system_clock.hpp"
#include "platform/posix/tree_sink.hpp"
#include "tests/support/nano/simulated_nano.hpp"

namespace {
std::atomic<bool> counting{false};
std::atomic<long> allocations{0};

void count() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

// operator new of libstdc++ ends here too.
void* malloc(std::size_t bytes) {
  count();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t number, std::size_t bytes) {
  count();
  return __libc_calloc(number, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  count();
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
}

using namespace opdump;

namespace {

/// The device part of a nano product: loads a model, captures its operators at 50 steps, unloads it.
bool capture_nano(const std::string& directory) {
  tests::NanoMemory device(2 * tests::NanoModel::kAreaBytes);
  tests::Random random(1);
  tests::NanoModel model(device, 1, "net", tests::sound_ops(10, random), directory + "/20260123040506/0/");
  const auto load = model.message(true, nano::kModeAll, nano::kDataTensors);
  const auto unload = model.message(false, nano::kModeAll, nano::kDataTensors);
  posix::TreeSink sink;
  posix::SystemClock clock;
  static nano::DataDumpMemory<1, 10, 8, 4096> memory;
  nano::DataDump<tests::NanoMemory> dump(memory.parts(device, sink, clock));
  DumpConfig config;
  config.options.when_full = WhenFull::inline_drain;
  counting = true;
  bool ok = dump.start(config, sink) == Status::ok;
  dump.take({.at = load.data(), .bytes = model.message_bytes()});
  for (; model.step < 50; ++model.step) {
    for (const tests::MadeOp& op : model.ops) {
      std::byte mailbox[nano::kMailboxBytes];
      nano::write_mailbox(mailbox, model.mailbox(op));
      dump.take({.type = 1, .at = mailbox, .bytes = sizeof mailbox});
    }
  }
  dump.take({.at = unload.data(), .bytes = model.message_bytes()});
  ok = dump.stop() == Status::ok && ok;
  counting = false;
  return ok && dump.counts().captured == 500 && dump.session().counts().written == 500;
}

}  // namespace

int main() {
  char directory[] = "/tmp/opdump-no-allocation-XXXXXX";
  if (mkdtemp(directory) == nullptr) return 2;

  static HostMemory memory;
  static posix::TreeSink sink;
  static posix::SystemClock clock;
  alignas(8) static std::byte ring[16 * 1024], scratch[1024];
  // However slow the machine is: no record may be lost for want of time.
  static BasicSession<HostMemory> session(
      {.memory = memory, .sink = sink, .clock = clock, .scratch = scratch, .block_limit_ms = UINT32_MAX});
  static BasicRecorder<HostMemory>& recorder = *session.add_recorder(ring).value();
  static posix::DrainThread<BasicSession<HostMemory>> drain;

  const OpDesc ops[] = {{.name = "small", .type = "T"}, {.name = "large", .type = "T"}};
  const ModelDesc model = {.name = "m", .ops = ops};
  const ModelRule rule = {.any_model = true};
  const DumpConfig config = {
      .active = true, .dump_path = directory, .mode = DumpMode::all, .models = {&rule, 1}};
  ModelPlanFor<2> plan;
  std::vector<float> data(100'000);
  const Dim few[] = {16}, many[] = {100'000};
  const TensorView small = {
      .address = address_of(data.data()), .bytes = 64, .dtype = DType::float32, .shape = few};
  const TensorView large = {
      .address = address_of(data.data()), .bytes = 400'000, .dtype = DType::float32, .shape = many};

  if (session.init() != Status::ok || session.set_config(config) != Status::ok ||
      session.load_model(plan, model) != Status::ok || drain.start(session) != Status::ok) {
    return 2;
  }
  counting = true;
  constexpr std::uint32_t kSteps = 50;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    recorder.begin_step(plan);
    if (recorder.wants(0)) recorder.capture(0, {&small, 1}, {&small, 1});
    if (recorder.wants(1)) recorder.capture(1, {&large, 1}, {&large, 1});
    recorder.end_step();
  }
  drain.stop();
  const Status status = session.finalize();
  counting = false;

  const bool nano_good = capture_nano(directory);

  // The counter itself must count, or the test could not fail.
  counting = true;
  void* volatile proof = ::operator new(1);
  ::operator delete(proof);
  counting = false;
  const long during = allocations.load() - 1;
  const DumpCounts counts = session.counts();
  std::printf("%u records written, %ld allocations\n", counts.written, during);
  for (const LossKind& kind : kLossKinds) {
    const std::uint32_t lost = counts.*kind.count;
    if (lost != 0) std::printf("%u lost: %.*s\n", lost, static_cast<int>(kind.text.size()), kind.text.data());
  }
  const bool good = nano_good && status == Status::ok && counts.written == 2 * kSteps && during == 0;
  const std::string remove = "rm -r " + std::string(directory);
  return std::system(remove.c_str()) == 0 && good ? 0 : 1;
}
