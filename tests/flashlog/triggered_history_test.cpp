#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "opdump/parts/history_sink.hpp"
#include "platform/flashlog/flash_history.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/flash_history_bench.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

TEST_CASE("flash history: a trigger of a config writes out what it does of a history in memory") {
  std::minstd_rand random(11);
  std::uint32_t started = 0;
  std::uint32_t refused = 0;
  for (std::size_t round = 0; round < rounds(60); ++round) {
    HistorySetup setup = kHistorySetups[round % std::size(kHistorySetups)];
    setup.geometry.block_count = 64;
    setup.history_steps = 1 + static_cast<std::uint32_t>(random() % 6);
    setup.after_steps = static_cast<std::uint32_t>(random() % 4);
    FlashHistoryBench bench(setup);
    FakeSink other_inner;
    std::vector<std::uint64_t> memory(32768);
    HistorySink in_memory(other_inner, std::as_writable_bytes(std::span(memory)));
    FlashHistory& flash = bench.history;
    TriggeredHistory& other = in_memory;
    REQUIRE(flash.keep_steps(setup.history_steps, setup.after_steps) == Status::ok);
    REQUIRE(other.keep_steps(setup.history_steps, setup.after_steps) == Status::ok);
    CAPTURE(round);
    std::uint64_t step = 0, writes_until = 0;
    for (int call = 0; call < 150; ++call) {
      if (random() % 8 == 0) {
        // Enough, or not even for one object; of a loading that is known, or not.
        const std::uint64_t allowed = random() % 3 == 0 ? 10 : UINT64_MAX;
        flash.allow(allowed);
        other.allow(allowed);
        const std::uint32_t load = random() % 4 == 0 ? 9 : 1;
        const bool begun = other.start(load);
        REQUIRE(flash.start(load) == begun);
        ++(begun ? started : refused);
        flash.allow(UINT64_MAX);
        other.allow(UINT64_MAX);
        // One in memory ends what is under way when it may not have more.
        if (!begun && step < writes_until) break;
        if (begun) writes_until = step + setup.after_steps + 2;
      } else {
        if (random() % 3 != 0) ++step;
        const std::size_t bytes = 20 + random() % 300;
        const std::string file = "op" + std::to_string(call);
        REQUIRE(bench.write(step, file, bytes) == Status::ok);
        REQUIRE(FlashHistoryBench::write_object(other, step, file, bytes, ObjectKind::record) == Status::ok);
        for (const std::uint64_t asked : {step, step + 1}) {
          REQUIRE(flash.has_reached(1, asked) == other.has_reached(1, asked));
          REQUIRE_FALSE(flash.has_reached(9, asked));
        }
      }
      if (!bench.balances()) FAIL("the account does not balance");
      REQUIRE(flash.written_bytes() == other.written_bytes());
      REQUIRE(flash.refused() == other.refused());
    }
    REQUIRE(flash.sync() == Status::ok);
    REQUIRE(other.sync() == Status::ok);
    CHECK(files_of(bench.inner) == files_of(other_inner));
    CHECK(flash.written_records() == other.written_records());
    CHECK(flash.lost() == 0);
    CHECK(bench.flash.violation == nullptr);
    CHECK(bench.inner.stray_aborts == 0);
  }
  CHECK(started > rounds(60));
  CHECK(refused != 0);
}

TEST_CASE(
    "flash history: a write-out that would be more than is allowed ends, and what was too much is refused") {
  for (const HistorySetup& setup : kHistorySetups) {
    CAPTURE(setup.geometry.program_bytes);
    FlashHistoryBench bench(setup);
    REQUIRE(bench.history.keep_steps(3, 5) == Status::ok);
    for (std::uint64_t step = 0; step < 4; ++step) REQUIRE(bench.write(step, "a") == Status::ok);
    bench.history.allow(3 * 100 + 250);
    REQUIRE(bench.history.start(1));
    CHECK(bench.write(4, "b", 200) == Status::ok);
    CHECK(bench.write(5, "c", 100) == Status::no_space);
    CHECK(bench.history.refused() == 1);
    CHECK(bench.write(5, "d", 50) == Status::ok);
    CHECK(bench.write(6, "e") == Status::ok);
    CHECK(bench.history.written_bytes() == 3 * 100 + 250);
    CHECK(bench.history.written_records() == 5);
    CHECK(files_of(bench.inner) ==
          std::vector<std::string>{"1/a.100", "2/a.100", "3/a.100", "4/b.200", "5/d.50"});
    CHECK(
        bench.inner.journals.at("/dump|20260101000000|opdump.history").find("written,1,trigger,2,6,5,0\n") !=
        std::string::npos);
    CHECK(bench.balances());
  }
}

TEST_CASE("flash history: keeps no steps where it has no memory for them") {
  FlashHistoryBench bench(kHistorySetups[0]);
  CHECK(bench.history.keep_steps(4, 0) == Status::no_memory);
  CHECK(bench.write(0, "a") == Status::ok);
  CHECK(files_of(bench.inner) == std::vector<std::string>{"0/a.100"});
  CHECK(bench.history.keep_steps(3, 0) == Status::ok);
  CHECK(bench.write(1, "b") == Status::ok);
  CHECK(files_of(bench.inner).size() == 1);
}

TEST_CASE("flash history: what a trigger asks for while remains are handed on comes behind them") {
  HistorySetup setup = kHistorySetups[0];
  FlashHistoryBench before(setup);
  for (std::uint64_t step = 0; step < 3; ++step) REQUIRE(before.write(step, "a") == Status::ok);
  REQUIRE(before.history.sync() == Status::ok);
  FlashHistoryBench bench(setup, before.flash);
  bench.history.hand_on_in_pieces();
  const Result<FlashHistory::Remains> remains = bench.history.remains();
  REQUIRE(remains.ok());
  REQUIRE(remains.value().objects == 3);
  REQUIRE(bench.history.hand_on_remains() == Status::ok);
  REQUIRE(bench.write(7, "b") == Status::ok);
  CHECK(bench.history.start(1));
  while (bench.history.hand_on_some(64)) continue;
  REQUIRE(bench.write(9, "c") == Status::ok);
  while (bench.history.hand_on_some(64)) continue;
  CHECK(files_of(bench.inner) ==
        std::vector<std::string>{"0/a.100", "1/a.100", "2/a.100", "7/b.100", "9/c.100"});
}
