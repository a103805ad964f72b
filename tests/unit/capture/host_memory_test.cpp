#include "platform/host/host_memory.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "platform/host/checked_memory.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

TEST_CASE("host memory: copies exactly the bytes asked for") {
  std::vector<std::byte> from(100);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i + 1);
  std::vector<std::byte> to(from.size());
  HostMemory memory;
  CHECK(memory.copy(to.data() + 3, address_of(from.data() + 10), 7) == Status::ok);
  for (std::size_t i = 0; i < to.size(); ++i) CHECK(to[i] == (i >= 3 && i < 10 ? from[i + 7] : std::byte{0}));
}

TEST_CASE("host memory: nothing from nowhere is fine, something is not") {
  std::byte to{0x5a};
  HostMemory memory;
  CHECK(memory.copy(&to, 0, 0) == Status::ok);
  CHECK(memory.copy(&to, 0, 1) == Status::device_copy_failed);
  CHECK(to == std::byte{0x5a});
}

TEST_CASE("checked host memory: only what lies in one registered range is read") {
  std::vector<std::byte> memory(100, std::byte{7});
  const Bytes all(memory);
  CheckedHostMemory<2> checked;
  std::byte to[100] = {};
  const Address start = address_of(memory.data());
  CHECK(checked.copy(to, start, 1) == Status::not_registered);
  REQUIRE(checked.add(all.subspan(10, 30)) == Status::ok);
  REQUIRE(checked.add(all.subspan(40, 10)) == Status::ok);
  CHECK(checked.add(all.first(5)) == Status::too_many_objects);
  CHECK(checked.add({}) == Status::invalid_argument);
  for (std::size_t at = 0; at < 60; ++at) {
    for (std::size_t bytes = 1; bytes < 50; ++bytes) {
      const bool inside = (at >= 10 && at + bytes <= 40) || (at >= 40 && at + bytes <= 50);
      CHECK(checked.copy(to, start + at, bytes) == (inside ? Status::ok : Status::not_registered));
      CHECK(checked.view(start + at, bytes).size() == (inside ? bytes : 0));
    }
  }
  CHECK(to[0] == std::byte{7});
  CHECK(checked.view(start + 10, ~std::uint64_t{0}).empty());
  CHECK(checked.copy(to, ~Address{0}, 2) == Status::not_registered);
  CHECK(checked.copy(to, 0, 0) == Status::ok);
  CHECK(checked.remove(all.subspan(10, 29)) == Status::not_registered);
  CHECK(checked.remove({}) == Status::not_registered);
  REQUIRE(checked.remove(all.subspan(10, 30)) == Status::ok);
  CHECK(checked.copy(to, start + 10, 1) == Status::not_registered);
  CHECK(checked.copy(to, start + 40, 10) == Status::ok);
  CHECK(checked.add(all.first(5)) == Status::ok);
}

TEST_CASE("checked host memory: a record with a wrong address is lost and counted, the next one is kept") {
  Bench<4096, CheckedHostMemory<>> bench;
  bench.start(everything());
  REQUIRE(bench.memory.add(std::as_bytes(std::span(bench.tensors.values))) == Status::ok);
  bench.recorder.begin_step(bench.plan);
  TensorView wrong = bench.tensors.input;
  wrong.address += sizeof bench.tensors.values - 32;
  CHECK(bench.recorder.capture(0, {&wrong, 1}, {}) == Status::not_registered);
  CHECK(bench.recorder.capture(1, {&bench.tensors.input, 1}, {}) == Status::ok);
  bench.recorder.end_step();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.session.counts().device_failed == 1);
  CHECK(bench.session.counts().written == 1);
  check_adds_up(bench.session.counts());
}
