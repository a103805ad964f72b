#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "opdump/base/cpu.hpp"
#include "opdump/impl/capture/copy_way.hpp"
#include "opdump/parts/overflow_scan.hpp"
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/template/cached_memory.hpp"
#include "tests/support/fakes.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

/// What the CPU reads through the cache is `seen`; a device writes to `ram`.
struct SimulatedCache {
  static constexpr std::uint32_t kLineBytes = 32;
  static constexpr std::size_t kBytes = 4096;

  void invalidate(std::uintptr_t from, std::size_t bytes) {
    const std::uintptr_t begin = address_of(seen);
    REQUIRE(from % kLineBytes == 0);
    REQUIRE(bytes % kLineBytes == 0);
    REQUIRE(bytes != 0);
    REQUIRE(from >= begin);
    REQUIRE(from + bytes <= begin + kBytes);
    std::memcpy(seen + (from - begin), ram + (from - begin), bytes);
    invalidated += bytes;
  }

  void device_writes(std::size_t offset, float value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(ram + offset + i * 4, &value, 4);
  }

  alignas(64) std::byte seen[kBytes] = {};
  alignas(64) std::byte ram[kBytes] = {};
  std::size_t invalidated = 0;
};

const OpDesc kCachedOps[] = {{.name = "a", .type = "A", .stream_id = 3}, {.name = "b", .type = "B"}};
const ModelDesc kCachedModel = {.name = "net", .id = 1, .ops = kCachedOps};

/// The last float of each file that was dumped of operator `op`, which has two tensors of ten floats.
template <class Memory>
std::vector<float> last_floats(Memory& memory, SimulatedCache& cache, const DumpConfig& config, float value) {
  FakeSink sink;
  FakeClock clock;
  std::byte scratch[2048];
  alignas(8) std::byte ring[4096];
  alignas(8) std::byte watch[4096];
  OverflowScan<Memory> overflow(memory);
  BasicSession<Memory> session({.memory = memory,
                                .sink = sink,
                                .clock = clock,
                                .scratch = scratch,
                                .overflow = &overflow,
                                .watch_memory = watch});
  auto& recorder = *session.add_recorder(ring).value();
  ModelPlanFor<2> plan;
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config(config) == Status::ok);
  REQUIRE(session.load_model(plan, kCachedModel) == Status::ok);
  const Dim dims[] = {10};
  const auto tensor = [&](std::size_t offset) {
    return TensorView{.address = address_of(cache.seen + offset),
                      .bytes = 40,
                      .dtype = DType::float32,
                      .format = Format::nd,
                      .shape = dims};
  };
  const TensorView input = tensor(0), output = tensor(64);
  REQUIRE(recorder.begin_step(plan) == Status::ok);
  for (std::size_t op = 0; op < 2; ++op) {
    cache.device_writes(0, value, 10);
    cache.device_writes(64, value + static_cast<float>(op), 10);
    REQUIRE(recorder.capture(op, {&input, 1}, {&output, 1}) == Status::ok);
  }
  REQUIRE(recorder.end_step() == Status::ok);
  if (recorder.wants_single_ops()) {
    cache.device_writes(64, value + 2, 10);
    REQUIRE(recorder.capture_single_op(kCachedOps[0], {&input, 1}, {&output, 1}) == Status::ok);
  }
  REQUIRE(session.finalize() == Status::ok);
  std::vector<float> last;
  for (const std::string& name : sink.order) {
    const std::vector<std::byte>& file = sink.objects[name];
    if (name.find("Opdebug") != std::string::npos) continue;
    last.emplace_back();
    std::memcpy(&last.back(), file.data() + file.size() - 4, 4);
  }
  return last;
}

DumpConfig whole() {
  static const ModelRule kRules[] = {{.any_model = true}};
  DumpConfig config;
  config.active = true;
  config.dump_path = "/d";
  config.mode = DumpMode::all;
  config.models = kRules;
  return config;
}

}  // namespace

TEST_CASE("cached memory: what a device wrote past the cache is captured, and not what the cache holds") {
  DumpConfig config = whole();
  config.single_ops = true;
  SimulatedCache cache;
  HostMemory blind;
  CHECK(last_floats(blind, cache, config, 5) == std::vector<float>{0, 0, 0});
  CachedHostMemory<SimulatedCache> memory(cache);
  CHECK(last_floats(memory, cache, config, 5) == std::vector<float>{5, 6, 7});
  // Two tensors of three records, in whole lines.
  CHECK(cache.invalidated == 3 * 2 * 64);
}

TEST_CASE("cached memory: only what is captured is invalidated") {
  DumpConfig config = whole();
  config.mode = DumpMode::output;
  SimulatedCache cache;
  CachedHostMemory<SimulatedCache> memory(cache);
  CHECK(last_floats(memory, cache, config, 5) == std::vector<float>{5, 6});
  CHECK(cache.invalidated == 2 * 64);
}

TEST_CASE("cached memory: an overflow is seen behind the cache") {
  DumpConfig config = whole();
  config.overflow = true;
  config.overflow_number = 10;
  SimulatedCache cache;
  CachedHostMemory<SimulatedCache> memory(cache);
  const float infinity = 1e38f * 1e38f;
  CHECK(last_floats(memory, cache, config, infinity) == std::vector<float>{infinity, infinity});
  SimulatedCache stale;
  HostMemory blind;
  CHECK(last_floats(blind, stale, config, infinity).empty());
}

namespace {

TEST_CASE("bytes that go past the caches arrive, and none beside them changes") {
  constexpr std::size_t kMost = 300;
  alignas(64) std::byte from[kMost + 64];
  for (std::size_t i = 0; i < sizeof from; ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  alignas(64) std::byte to[kMost + 128];
  for (std::size_t to_at = 0; to_at < 64; ++to_at) {
    for (const std::size_t from_at : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{63}}) {
      for (std::size_t bytes = 0; bytes <= kMost; ++bytes) {
        std::fill(std::begin(to), std::end(to), std::byte{0xee});
        copy_past_caches(to + to_at, {from + from_at, bytes});
        end_past_caches();
        const auto is_untouched = [](std::byte byte) { return byte == std::byte{0xee}; };
        const bool good = std::equal(from + from_at, from + from_at + bytes, to + to_at) &&
                          std::all_of(to, to + to_at, is_untouched) &&
                          std::all_of(to + to_at + bytes, std::end(to), is_untouched);
        if (!good) FAIL("to offset ", to_at, ", from offset ", from_at, ", ", bytes, " bytes");
      }
    }
  }
}

/// How many of `records` records of 64 KiB pass the caches, if they take so many ticks then or else.
int passing(CopyWay& way, int records, std::uint64_t past, std::uint64_t plain) {
  int passed = 0;
  for (int i = 0; i < records; ++i) {
    const bool passes = way.passes_caches();
    passed += passes ? 1 : 0;
    way.add(passes ? past : plain, 65536, 65536);
  }
  return passed;
}

TEST_CASE("of the ways past the caches and through them, the faster one is taken, and the other tried") {
  CopyWay way;
  CHECK_FALSE(way.passes_caches());
  const int slower = passing(way, 10'000, 5000, 3000);
  CHECK(slower > 0);
  CHECK(slower < 300);
  CHECK(passing(way, 2'000, 2000, 3000) > 0);
  CHECK(passing(way, 10'000, 2000, 3000) > 9'700);
  CHECK(passing(way, 2'000, 3000, 2900) < 2'000);
  CHECK(passing(way, 10'000, 3000, 2900) < 300);
}

}  // namespace
