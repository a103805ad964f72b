#include "opdump/parts/survivors.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "tests/support/session_bench.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;

struct Survivors {
  FakeSink sink;
  std::byte scratch[1024];
  SurvivorParts parts{.sink = sink, .root = "/dump", .id = 77, .scratch = scratch};
};

}  // namespace

TEST_CASE("ring survivors: what was not drained before a reset is drained after it") {
  for (std::size_t drained = 0; drained <= 12; ++drained) {
    CAPTURE(drained);
    Bench<4096> expected(WhenFull::drop);
    Bench<4096> bench(WhenFull::drop);
    for (Bench<4096>* each : {&expected, &bench}) each->start(everything());
    bench.tensors.input = expected.tensors.input;  // their addresses are in the records
    bench.tensors.output = expected.tensors.output;
    // Several rounds, so that the ring has wrapped.
    for (int round = 0; round < 7; ++round) {
      for (Bench<4096>* each : {&expected, &bench}) each->step();
      while (expected.session.drain_some(1) != 0) {
      }
      const bool last = round == 6;
      for (std::size_t chunks = 0; !last || chunks < drained; ++chunks) {
        if (bench.session.drain_some(1) == 0) break;
      }
    }
    std::vector<std::byte> memory(std::begin(bench.ring), std::end(bench.ring));
    Survivors after;
    const Result<std::uint32_t> written = drain_survivors(memory, after.parts);
    REQUIRE(written.ok());
    CHECK(written.value() + bench.sink.objects.size() == expected.sink.objects.size());
    for (const auto& [path, bytes] : after.sink.objects) {
      REQUIRE(expected.sink.objects.contains(path));
      CHECK(bytes == expected.sink.objects.at(path));
      CHECK_FALSE(bench.sink.objects.contains(path));
    }
    CHECK(after.sink.syncs == 1);
    Survivors again;
    CHECK(drain_survivors(memory, again.parts).value() == 0);
  }
}

TEST_CASE("ring survivors: memory that no ring left gives nothing") {
  Survivors after;
  alignas(8) std::byte memory[4096] = {};
  CHECK(drain_survivors(memory, after.parts).value() == 0);
  std::minstd_rand random(5);
  for (int round = 0; round < 1000; ++round) {
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random() >> 8);
    CHECK(drain_survivors(memory, after.parts).value() == 0);
  }
  CHECK(drain_survivors(MutableBytes(memory).first(8), after.parts).status() == Status::invalid_argument);
}
