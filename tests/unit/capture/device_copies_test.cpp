// Backends that copy in the background, with fences and with rules, under a recorder.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/effort.hpp"
#include "tests/support/fake_async_memory.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

static_assert(AsyncMemory<FakeAsyncMemory> && RuledMemory<FakeAsyncMemory> && FencedMemory<FakeAsyncMemory> &&
              IdentifiedMemory<FakeAsyncMemory>);
static_assert(!AsyncMemory<FakeMemory> && !RuledMemory<FakeMemory> && !FencedMemory<FakeMemory> &&
              !IdentifiedMemory<FakeMemory> && !OverflowMemory<FakeMemory> && !ExplainingMemory<FakeMemory>);

namespace {

/// Bytes that tell where they belong, at an address that is `offset` past a multiple of 64.
struct Data {
  explicit Data(std::size_t bytes, std::size_t offset = 0, unsigned seed = 0) : memory(bytes + offset + 64) {
    for (std::size_t i = 0; i < memory.size(); ++i)
      memory[i] = static_cast<std::byte>((i * 2654435761u + seed * 40503u) >> 13);
    const std::size_t past = static_cast<std::size_t>(address_of(memory.data()) % 64);
    start = (64 - past) % 64 + offset;
    dims[0] = bytes;
    view = {
        .address = address_of(memory.data() + start), .bytes = bytes, .dtype = DType::uint8, .shape = dims};
  }
  std::vector<std::byte> memory;
  std::size_t start;
  Dim dims[1];
  TensorView view;
};

bool ends_with(const std::vector<std::byte>& file, const std::vector<const Data*>& all) {
  std::size_t bytes = 0;
  for (const Data* data : all) bytes += static_cast<std::size_t>(data->view.bytes);
  if (file.size() < bytes) return false;
  auto at = file.end() - static_cast<std::ptrdiff_t>(bytes);
  for (const Data* data : all) {
    const auto from = data->memory.begin() + static_cast<std::ptrdiff_t>(data->start);
    const auto size = static_cast<std::ptrdiff_t>(data->view.bytes);
    if (!std::equal(from, from + size, at)) return false;
    at += size;
  }
  return true;
}

}  // namespace

TEST_CASE("copies in the background: whatever the order they end in, and their sizes, records are right") {
  for (const WhenFull when_full : {WhenFull::inline_drain, WhenFull::drop}) {
    Bench<4096, FakeAsyncMemory> bench(when_full);
    bench.start(everything());
    std::minstd_rand random(7);
    std::uint32_t whole = 0;
    for (std::size_t i = 0; i < rounds(3000); ++i) {
      const Data in(random() % 900, random() % 2 == 0 ? 0 : random() % 64, static_cast<unsigned>(i));
      const Data out(1 + random() % 9000, random() % 2 == 0 ? 0 : random() % 64,
                     static_cast<unsigned>(i + 9));
      bench.memory.random.seed(static_cast<unsigned>(i + 1));
      bench.recorder.begin_step(bench.plan);
      const Status status = bench.recorder.capture(2, {&in.view, 1}, {&out.view, 1});
      bench.recorder.end_step();
      REQUIRE(bench.memory.under_way() == 0);
      while (bench.session.drain_some(SIZE_MAX) != 0) continue;
      if (status != Status::ok) {
        REQUIRE(when_full == WhenFull::drop);
        REQUIRE(status == Status::ring_full);
        REQUIRE(bench.sink.objects.empty());
        continue;
      }
      ++whole;
      REQUIRE(bench.sink.objects.size() == 1);
      REQUIRE(ends_with(bench.sink.objects.begin()->second, {&in, &out}));
      bench.sink.objects.clear();
    }
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(bench.session.counts().captured == whole);
    CHECK(whole > rounds(3000) / 4);
    check_adds_up(bench.session.counts());
    CHECK(bench.sink.open_objects.empty());
  }
}

TEST_CASE("copies in the background: as many are under way as the backend and the ring allow") {
  Bench<16384, FakeAsyncMemory> bench;
  bench.start(everything());
  const Data large(200000);
  bench.recorder.begin_step(bench.plan);
  CHECK(bench.recorder.capture(2, {}, {&large.view, 1}) == Status::ok);
  bench.recorder.end_step();
  CHECK(bench.memory.most_under_way == FakeAsyncMemory::kMaxCopies);
  CHECK(bench.memory.synchronous == 0);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(ends_with(bench.sink.objects.begin()->second, {&large}));
}

TEST_CASE("copies in the background: the device always has the next one when it ends one") {
  for (const WhenFull when_full : {WhenFull::inline_drain, WhenFull::drop}) {
    Bench<16384, FakeAsyncMemory> bench(when_full);
    bench.memory.slow = true;
    bench.start(everything());
    const Data large(when_full == WhenFull::drop ? 12000 : 200000);
    bench.recorder.begin_step(bench.plan);
    CHECK(bench.recorder.capture(2, {}, {&large.view, 1}) == Status::ok);
    bench.recorder.end_step();
    CHECK(bench.memory.started >= large.view.bytes / (16384 / 4));
    CHECK(bench.memory.started_alone == 1);
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(ends_with(bench.sink.objects.begin()->second, {&large}));
  }
}

TEST_CASE("copies in the background: each may fail at its start or its end; its record goes, no other") {
  const Data small(100, 3);
  const Data large(9000);
  const auto run = [&](int fail_at, int fail_end_at) {
    Bench<4096, FakeAsyncMemory> bench;
    bench.start(everything());
    bench.memory.fail_at = fail_at;
    bench.memory.fail_end_at = fail_end_at;
    bench.recorder.begin_step(bench.plan);
    const Status first = bench.recorder.capture(0, {&small.view, 1}, {&large.view, 1});
    const Status second = bench.recorder.capture(2, {&small.view, 1}, {&small.view, 1});
    bench.recorder.end_step();
    CHECK(bench.memory.under_way() == 0);
    REQUIRE(bench.session.finalize() == Status::ok);
    const DumpCounts counts = bench.session.counts();
    const bool failed = first != Status::ok || second != Status::ok;
    CHECK(counts.device_failed == (failed ? 1u : 0u));
    CHECK(counts.written == (failed ? 1u : 2u));
    CHECK(bench.sink.objects.size() == counts.written);
    CHECK(bench.sink.open_objects.empty());
    check_adds_up(counts);
    if (failed) CHECK((first == Status::ok ? second : first) == Status::device_copy_failed);
    for (const auto& [name, file] : bench.sink.objects) {
      if (name.find("conv1") != name.npos) {
        CHECK(ends_with(file, {&small, &large}));
      } else {
        CHECK(ends_with(file, {&small, &small}));
      }
    }
    return failed;
  };
  int starts = 0;
  while (run(starts, -1)) ++starts;
  CHECK(starts > 10);
  int ends = 0;
  while (run(-1, ends)) ++ends;
  CHECK(ends > 8);
}

TEST_CASE("copies in the background: one that does not end loses records, and holds up nothing else") {
  Bench<4096, FakeAsyncMemory> bench;
  bench.start(everything());
  const Data small(100);
  const Data large(20000);
  for (int hold_at = 0; hold_at < 8; ++hold_at) {
    const DumpCounts before = bench.session.counts();
    bench.memory.hold_at = static_cast<int>(bench.memory.started) + hold_at;
    bench.recorder.begin_step(bench.plan);
    CHECK(bench.recorder.capture(2, {}, {&large.view, 1}) == Status::device_copy_failed);
    CHECK(bench.memory.under_way() >= 1);
    CHECK(bench.recorder.capture(1, {&small.view, 1}, {}) == Status::device_copy_failed);
    bench.recorder.end_step();
    while (bench.session.drain_some(SIZE_MAX) != 0) continue;
    CHECK(bench.session.remove_recorder(bench.recorder) == Status::recorder_busy);
    bench.memory.let_go();
    bench.memory.hold_at = -1;
    bench.recorder.begin_step(bench.plan);
    // It ends when the device says so, which it may do late.
    Status status = Status::device_copy_failed;
    for (int i = 0; i < 100 && status != Status::ok; ++i)
      status = bench.recorder.capture(1, {&small.view, 1}, {&large.view, 1});
    CHECK(status == Status::ok);
    bench.recorder.end_step();
    CHECK(bench.session.counts().captured == before.captured + 1);
  }
  REQUIRE(bench.session.finalize() == Status::ok);
  check_adds_up(bench.session.counts());
  CHECK(bench.sink.objects.size() == 8);
  for (const auto& [name, file] : bench.sink.objects) CHECK(ends_with(file, {&small, &large}));
  CHECK(bench.session.remove_recorder(bench.recorder) == Status::ok);
}

TEST_CASE("copies in the background: what the backend cannot start is copied at once") {
  Bench<4096, FakeAsyncMemory> bench;
  bench.memory.refuse = true;
  bench.start(everything());
  const Data large(9000, 1);
  bench.recorder.begin_step(bench.plan);
  CHECK(bench.recorder.capture(2, {}, {&large.view, 1}) == Status::ok);
  bench.recorder.end_step();
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.memory.started == 0);
  CHECK(ends_with(bench.sink.objects.begin()->second, {&large}));
}

TEST_CASE("rules of copies: pieces lie aligned, in whole units and no longer than the backend takes them") {
  for (const std::uint32_t alignment : {1u, 16u, 32u, 64u, 128u}) {
    for (const std::uint32_t max_bytes : {128u, 1000u, 0xffffffffu}) {
      for (const std::size_t bytes : {1u, 100u, 3000u, 4096u, 20001u}) {
        Bench<8192, FakeAsyncMemory> bench;
        bench.memory.rules = {.alignment = alignment, .whole_units = true, .max_bytes = max_bytes};
        bench.start(everything());
        const Data data(bytes, alignment == 128 ? 64 : 0);
        bench.recorder.begin_step(bench.plan);
        CHECK(bench.recorder.capture(2, {}, {&data.view, 1}) == Status::ok);
        bench.recorder.end_step();
        REQUIRE(bench.session.finalize() == Status::ok);
        REQUIRE(bench.sink.objects.size() == 1);
        CHECK(ends_with(bench.sink.objects.begin()->second, {&data}));
        // Only the bytes past the last whole unit go another way.
        if (bytes > 8192 && alignment < 128) {
          CHECK(bench.memory.synchronous == (bytes % alignment == 0 ? 0 : 1));
          CHECK(bench.memory.started > 4);
        }
      }
    }
  }
}

TEST_CASE(
    "fence: comes before a record's first copy, with the operator's stream; an error loses the record") {
  Bench<4096, FakeAsyncMemory> bench;
  bench.start(everything());
  bench.step();
  CHECK(bench.memory.fences == std::vector<std::uint32_t>{1, 1, 2});
  bench.memory.fence_status = Status::driver_failed;
  const int calls = bench.memory.calls;
  bench.step();
  CHECK(bench.last == Status::driver_failed);
  CHECK(bench.memory.calls == calls);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.session.counts().device_failed == 3);
  CHECK(bench.session.counts().written == 3);
  check_adds_up(bench.session.counts());
}

TEST_CASE("device id: a session refuses the memory of another device") {
  Bench<4096, FakeAsyncMemory> bench;
  bench.memory.device = 1;
  CHECK(bench.session.init() == Status::wrong_device);
  CHECK_FALSE(bench.session.initialised());
  bench.memory.device = 2;
  CHECK(bench.session.init() == Status::ok);
}
