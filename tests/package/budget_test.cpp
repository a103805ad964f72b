// Holds `ram_bytes` against what a session and a FileDump ask of the heap. Stands alone because it replaces
// the allocation functions.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/session.hpp"
#include "platform/posix/file_dump.hpp"
#include "platform/posix/system_clock.hpp"
#include "tests/bench/sinks.hpp"
#include "tests/support/counted_heap.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using tests::heap;

namespace {

bool failed = false;

void check(bool good, const char* what) {
  if (!good) std::printf("not so: %s\n", what);
  failed = failed || !good;
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__)

constexpr std::size_t kOps = 10'000;

std::vector<OpDesc> operators() {
  std::vector<OpDesc> ops(kOps, OpDesc{.name = "operator", .type = "T"});
  for (std::size_t i = 0; i < kOps; ++i) ops[i].task_id = static_cast<std::uint32_t>(i);
  return ops;
}

const float kValues[4] = {1, 2, 3, 4};
const Dim kDims[] = {4};
const TensorView kTensor = {address_of(kValues), sizeof kValues, DType::float32, Format::nd, kDims};

/// Two recorders, each for a model; of one the operators are counted. They work in what `ram_bytes` says, and
/// ask for no more.
void check_session() {
  using Session = BasicSession<HostMemory>;
  constexpr Workload kWork = {.recorders = 2,
                              .ring_bytes = 8192,
                              .known_heads = 4,
                              .scratch_bytes = drain_scratch_bytes(5, 1, 8),
                              .models = 2,
                              .ops = 2 * kOps,
                              .counted_ops = kOps};
  const std::vector<OpDesc> ops = operators();
  const ModelDesc models[] = {{.name = "first", .id = 1, .ops = ops}, {.name = "other", .id = 2, .ops = ops}};
  constexpr ModelRule kAny[] = {{.any_model = true}};
  HostMemory memory;
  bench::NullSink sink;
  posix::SystemClock clock;

  const std::size_t before = heap.asked;
  const auto scratch = std::make_unique<std::byte[]>(kWork.scratch_bytes);
  const auto session =
      std::make_unique<Session>(SessionParts<HostMemory>{.memory = memory,
                                                         .sink = sink,
                                                         .clock = clock,
                                                         .scratch = {scratch.get(), kWork.scratch_bytes},
                                                         .when_full = WhenFull::inline_drain});
  std::unique_ptr<std::uint64_t[]> rings[2], heads[2];
  std::unique_ptr<std::uint8_t[]> bits[2];
  std::unique_ptr<ModelPlan> plans[2];
  for (int i = 0; i < 2; ++i) {
    rings[i] = std::make_unique<std::uint64_t[]>(kWork.ring_bytes / 8);
    heads[i] = std::make_unique<std::uint64_t[]>(head_memory_bytes(kWork.known_heads) / 8);
    bits[i] = std::make_unique<std::uint8_t[]>(kOps);
    plans[i] = std::make_unique<ModelPlan>();
  }
  const auto counts = std::make_unique<OpCounts[]>(kOps);
  const std::size_t taken = heap.asked - before;
  std::printf("a session asked for %zu bytes, of which ram_bytes says %zu\n", taken,
              ram_bytes<HostMemory>(kWork));
  CHECK(taken == ram_bytes<HostMemory>(kWork));

  CHECK(session->init() == Status::ok);
  CHECK(session->set_config({.active = true, .mode = DumpMode::all, .models = kAny}) == Status::ok);
  CHECK(session->load_model(*plans[0], models[0], {bits[0].get(), kOps - 1}) == Status::no_memory);
  CHECK(session->unload_model(*plans[0]) == Status::ok);
  for (int i = 0; i < 2; ++i) {
    const auto recorder = session->add_recorder(
        std::as_writable_bytes(std::span(rings[i].get(), kWork.ring_bytes / 8)),
        std::as_writable_bytes(std::span(heads[i].get(), head_memory_bytes(kWork.known_heads) / 8)));
    CHECK(session->load_model(*plans[i], models[i], {bits[i].get(), kOps}) == Status::ok);
    if (i == 0) CHECK(session->count_ops(*plans[0], {counts.get(), kOps - 1}) == Status::no_memory);
    if (i == 0) CHECK(session->count_ops(*plans[0], {counts.get(), kOps}) == Status::ok);
    CHECK(recorder.value()->begin_step(*plans[i]) == Status::ok);
    for (std::size_t op = 0; op < kOps; ++op)
      if (recorder.value()->capture(op, {&kTensor, 1}, {&kTensor, 1}) != Status::ok) failed = true;
    CHECK(recorder.value()->end_step() == Status::ok);
  }
  CHECK(session->finalize() == Status::ok);
  CHECK(session->counts().written == 2 * kOps);
  std::size_t captured = 0;
  for (std::size_t op = 0; op < kOps; ++op) captured += counts[op].captured;
  CHECK(captured == kOps);
  CHECK(heap.asked - before == taken);
}

/// What a model takes of a FileDump's heap, beside the plan, which is the caller's.
void check_file_dump() {
  tests::TemporaryDirectory root;
  const std::string config = (root.path() / "acl.json").string();
  std::ofstream(config) << R"({"dump": {"dump_path": ")" << root.text() << R"(", "dump_list": [{}]}})";
  const std::vector<OpDesc> ops = operators();
  const ModelDesc model = {.name = "m", .ops = ops};
  const auto plan = std::make_unique<ModelPlanFor<kOps>>();
  HostMemory memory;
  const auto dump = std::make_unique<posix::FileDump>(memory);
  CHECK(dump->start(config.c_str()) == Status::ok);
  constexpr std::size_t kSaid = ram_bytes<HostMemory>({.counted_ops = kOps}) - ram_bytes<HostMemory>({});
  // The list of the models, which grows, and an index of the operators, which goes with the call.
  constexpr std::size_t kList = 64 + kOps * (sizeof(IndexedName) + sizeof(std::uint32_t));
  const std::size_t before = heap.asked;
  const std::size_t held_before = heap.held;
  CHECK(dump->load_model(*plan, model) == Status::ok);
  const std::size_t taken = heap.asked - before;
  std::printf("a model of %zu operators took %zu bytes of a FileDump's heap, %zu of them counts\n", kOps,
              taken, kSaid);
  CHECK(taken >= kSaid && taken <= kSaid + kList);
  const std::size_t loaded = heap.held;
  CHECK(loaded - held_before <= kSaid + 64);
  CHECK(dump->unload_model(*plan) == Status::ok);
  CHECK(loaded - heap.held >= kSaid);
  CHECK(dump->stop() == Status::ok);
}

}  // namespace

int main() {
  check_session();
  check_file_dump();
  return failed ? 1 : 0;
}
