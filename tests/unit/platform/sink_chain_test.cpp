#include <doctest/doctest.h>

#include <iterator>
#include <span>

#include "opdump/port/sink.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/dump_kit.hpp"

using namespace opdump;

namespace {

/// Counts how records come: whole, or piece by piece.
class CountingStore final : public Sink {
 public:
  Result<ObjectId> begin(const ObjectName&) override {
    ++begun;
    return ObjectId{0};
  }
  Status append(ObjectId, std::span<const Bytes>) override { return Status::ok; }
  Status commit(ObjectId, ObjectId) override { return Status::ok; }
  void abort(ObjectId) override {}
  Status put_object(const ObjectName&, std::span<const Bytes>) override {
    ++whole;
    return Status::ok;
  }
  Status append_lines(const ObjectName&, std::span<const Bytes>) override { return Status::ok; }
  Status sync() override { return Status::ok; }
  Status follow(const DumpOptions&, JournalDetail) { return Status::ok; }

  unsigned begun = 0;
  unsigned whole = 0;
};

constexpr unsigned kSteps = 10;
constexpr unsigned kRecords = 4 * kSteps;
/// The first step makes the heads, and the first record of a step the directory's name.
constexpr unsigned kWhole = 3 * (kSteps - 1);
constexpr OpDesc kChainOps[] = {{.name = "conv1", .type = "Conv2D", .task_id = 1},
                                {.name = "conv2", .type = "Conv2D", .task_id = 2},
                                {.name = "conv3", .type = "Conv2D", .task_id = 3},
                                {.name = "conv4", .type = "Conv2D", .task_id = 4}};
constexpr ModelDesc kChainModel = {.name = "net", .id = 1, .ops = kChainOps};
constexpr ModelRule kChainRules[] = {{.any_model = true}};

DumpConfig chain_config() {
  DumpConfig config;
  config.active = true;
  config.dump_path = "/dump";
  config.models = kChainRules;
  return config;
}

/// A kit whose steps capture a small tensor of each operator.
struct ChainBench {
  void run(const DumpConfig& config) {
    REQUIRE(kit.apply(config) == Status::ok);
    REQUIRE(kit.load_model(plan, kChainModel, plan.op_bits) == Status::ok);
    const float values[16] = {};
    const Dim dims[] = {16};
    const TensorView output = {
        .address = address_of(values), .bytes = sizeof values, .dtype = DType::float32, .shape = dims};
    for (unsigned step = 0; step < kSteps; ++step) {
      REQUIRE(recorder.begin_step(plan) == Status::ok);
      for (std::size_t op = 0; op < std::size(kChainOps); ++op)
        REQUIRE(recorder.capture(op, {}, {&output, 1}) == Status::ok);
      REQUIRE(recorder.end_step() == Status::ok);
      while (kit.session().drain_some(4096) != 0) continue;
    }
  }

  void end() {
    Status extras = Status::ok;
    REQUIRE(kit.unload_model(plan, extras) == Status::ok);
    REQUIRE(kit.end() == Status::ok);
    CHECK(kit.session().counts().lost() == 0);
  }

  HostMemory memory;
  std::byte scratch[4096];
  alignas(8) std::byte ring[16384];
  alignas(8) std::byte heads[head_memory_bytes(4)];
  posix::DumpKit<HostMemory, CountingStore> kit{memory,
                                                {.scratch = scratch, .when_full = WhenFull::inline_drain}};
  BasicRecorder<HostMemory>& recorder = *kit.session().add_recorder(ring, heads).value();
  ModelPlanFor<std::size(kChainOps)> plan;
};

}  // namespace

TEST_CASE("sink chain: with nothing asked for, records reach the store whole, in one call each") {
  ChainBench bench;
  bench.run(chain_config());
  bench.end();
  CHECK(bench.kit.store().whole == kWhole);
  CHECK(bench.kit.store().begun == kRecords - kWhole);
}

TEST_CASE("sink chain: a sink that survives crashes passes whole records on") {
  ChainBench bench;
  bench.kit.survive_crashes(true);
  bench.run(chain_config());
  bench.end();
  CHECK(bench.kit.store().whole == kWhole);
  CHECK(bench.kit.store().begun == kRecords - kWhole);
}

TEST_CASE("sink chain: a history that the config asks for keeps the records, and the next run has none") {
  ChainBench bench;
  const CountingStore& store = bench.kit.store();
  DumpConfig config = chain_config();
  config.options.history_steps = 3;
  bench.run(config);
  CHECK(store.whole + store.begun == 0);
  bench.kit.history().trigger();
  bench.end();
  CHECK(store.whole == 0);
  CHECK(store.begun == 3 * std::size(kChainOps));
  bench.run(chain_config());
  bench.end();
  CHECK(store.whole == kWhole);
}
