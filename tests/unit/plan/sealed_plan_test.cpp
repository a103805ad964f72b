#include "opdump/config/sealed_plan.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "opdump/boot.hpp"
#include "opdump/config/write_blob.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;

namespace {

std::vector<std::byte> plan_of(std::string_view dump_path) {
  return write_plan({.asked = true, .active = true, .dump_path = dump_path});
}

/// Stands for a MAC: the sum of the bytes and a key.
struct Key {
  std::byte key;
  int* calls;

  std::byte seal_of(Bytes plan) const {
    std::byte sum = key;
    for (const std::byte byte : plan) sum = (sum << 1 | sum >> 7) ^ byte;
    return sum;
  }
  Status operator()(Bytes plan, Bytes seal) const {
    ++*calls;
    return seal.size() == 1 && seal[0] == seal_of(plan) ? Status::ok : Status::damaged;
  }
};

}  // namespace

TEST_CASE("sealed plan: only a plan that the caller's check calls good is loaded") {
  alignas(8) std::byte memory[1024];
  int calls = 0;
  const Key key = {std::byte{0x5a}, &calls};
  std::vector<std::byte> sealed = plan_of("/good");
  const std::size_t plan_bytes = sealed.size();
  sealed.push_back(key.seal_of(sealed));
  const auto load = [&](Bytes bytes, DumpConfig& config) {
    Arena arena(memory);
    config.active = true;
    return load_plan(bytes, key, arena, config);
  };
  DumpConfig config;
  REQUIRE(load(sealed, config) == Status::ok);
  CHECK(calls == 1);
  CHECK(config.active);
  CHECK(config.dump_path == "/good");

  const Result<SealedPlan> parts = split_plan(sealed);
  REQUIRE(parts.ok());
  CHECK(parts.value().plan.size() == plan_bytes);
  CHECK(parts.value().seal.size() == 1);

  // Another plan, whole and with a good checksum, under the seal of this one or under none.
  std::vector<std::byte> other = plan_of("/evil");
  CHECK(load(other, config) == Status::damaged);
  CHECK_FALSE(config.active);
  other.push_back(sealed.back());
  CHECK(load(other, config) == Status::damaged);
  CHECK_FALSE(config.active);
  CHECK(calls == 3);

  // What is no whole plan is not shown to the check.
  for (std::size_t bytes = 0; bytes < plan_bytes; ++bytes) {
    CHECK(load(Bytes(sealed).first(bytes), config) != Status::ok);
    CHECK_FALSE(config.active);
  }
  CHECK(calls == 3);
}

TEST_CASE("sealed plan: a session boots from a good one alone") {
  alignas(8) std::byte memory[1024];
  int calls = 0;
  const Key key = {std::byte{0x5a}, &calls};
  std::vector<std::byte> sealed = plan_of("/good");
  sealed.push_back(key.seal_of(sealed) ^ std::byte{1});
  tests::Bench<> bench;
  Arena arena(memory);
  CHECK(boot(bench.session, bench.sink, sealed, key, arena) == Status::damaged);
  CHECK_FALSE(bench.session.initialised());
  sealed.back() ^= std::byte{1};
  REQUIRE(boot(bench.session, bench.sink, sealed, key, arena) == Status::ok);
  CHECK(bench.session.dump_time() != 0);
  CHECK(bench.session.finalize() == Status::ok);
}
