#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "opdump/parts/history_sink.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/flash_history_bench.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

TEST_CASE("flash history: nothing is handed on before a trigger, then the last steps and those afterwards") {
  for (const HistorySetup& setup : kHistorySetups) {
    CAPTURE(setup.geometry.program_bytes);
    FlashHistoryBench bench(setup);
    for (std::uint64_t step = 0; step < 40; ++step) {
      REQUIRE(bench.write(step, "a") == Status::ok);
      REQUIRE(bench.write(step, "b", 700) == Status::ok);
      REQUIRE(bench.balances());
    }
    CHECK(bench.inner.calls == 0);
    bench.history.trigger();
    for (std::uint64_t step = 40; step < 50; ++step) {
      REQUIRE(bench.write(step, "a") == Status::ok);
      REQUIRE(bench.balances());
    }
    CHECK(files_of(bench.inner) == std::vector<std::string>{"37/a.100", "37/b.700", "38/a.100", "38/b.700",
                                                            "39/a.100", "39/b.700", "40/a.100"});
    CHECK(bench.history.triggers() == 1);
    CHECK(bench.history.lost() == 0);
    CHECK(bench.history.let_go() == 2 * 37 + 6);
    CHECK(bench.history.kept() == 3);
    CHECK(bench.history.refused_calls() == 0);
    CHECK(bench.inner.journals.at("/dump|20260101000000|opdump.history") ==
          "opdump-history,1\nwritten,1,call,38,41,7,0\nlet_go,74\n");
    CHECK(bench.history.sync() == Status::ok);
    CHECK(bench.flash.violation == nullptr);
  }
}

TEST_CASE("flash history: hands on what a history in memory does") {
  std::minstd_rand random(5);
  for (std::size_t round = 0; round < rounds(60); ++round) {
    HistorySetup setup = kHistorySetups[round % std::size(kHistorySetups)];
    setup.geometry.block_count = 64;
    setup.history_steps = 1 + static_cast<std::uint32_t>(random() % 6);
    setup.after_steps = static_cast<std::uint32_t>(random() % 4);
    FlashHistoryBench bench(setup);
    FakeSink other_inner;
    std::vector<std::uint64_t> memory(32768);
    HistorySink other(other_inner, std::as_writable_bytes(std::span(memory)), setup.history_steps,
                      setup.after_steps);
    CAPTURE(round);
    std::uint64_t step = 0;
    for (int call = 0; call < 150; ++call) {
      switch (random() % 12) {
        case 0:
          bench.history.trigger();
          other.trigger();
          break;
        case 1: {
          const std::string line = "row " + std::to_string(call) + "\n";
          const Bytes part = as_bytes(line);
          const ObjectName name = {"/dump", "20260101000000", "t.csv",
                                   ObjectFacts{.kind = ObjectKind::table}};
          REQUIRE(bench.history.append_lines(name, {&part, 1}) == Status::ok);
          REQUIRE(other.append_lines(name, {&part, 1}) == Status::ok);
          ++bench.committed;
          break;
        }
        case 2: {
          // Several that are open at once, one of which is given up.
          if (OPDUMP_MAX_RECORDERS < 3) break;
          const std::string name = std::to_string(call);
          for (Sink* sink : {static_cast<Sink*>(&bench.history), static_cast<Sink*>(&other)}) {
            ObjectId ids[3];
            for (int i = 0; i < 3; ++i)
              ids[i] = FlashHistoryBench::begin(*sink, step, name + char('a' + i) + ".40").value();
            for (int i = 0; i < 6; ++i) {
              const std::string data = bytes_of_file(name + char('a' + i % 3) + ".40", 40);
              const Bytes part = as_bytes(data).subspan(i < 3 ? 0 : 20, 20);
              REQUIRE(sink->append(ids[i % 3], {&part, 1}) == Status::ok);
            }
            REQUIRE(sink->commit(ids[2]) == Status::ok);
            sink->abort(ids[1]);
            REQUIRE(sink->commit(ids[0]) == Status::ok);
          }
          bench.committed += 2;
          break;
        }
        default: {
          if (random() % 3 != 0) ++step;
          const ObjectKind kind = random() % 25 == 0 ? ObjectKind::report : ObjectKind::record;
          const std::size_t bytes = random() % 8 == 0 ? random() % 3000 : random() % 300;
          const std::string file = "op" + std::to_string(call);
          REQUIRE(bench.write(step, file, bytes, kind) == Status::ok);
          REQUIRE(FlashHistoryBench::write_object(other, step, file, bytes, kind) == Status::ok);
        }
      }
      if (random() % 16 == 0) {
        REQUIRE(bench.history.sync() == Status::ok);
        REQUIRE(other.sync() == Status::ok);
      }
      if (random() % 16 == 0) REQUIRE(bench.history.prepare().ok());
      if (!bench.balances()) FAIL("the account does not balance");
    }
    REQUIRE(bench.history.sync() == Status::ok);
    REQUIRE(other.sync() == Status::ok);
    CHECK(files_of(bench.inner) == files_of(other_inner));
    CHECK(bench.inner.journals["/dump|20260101000000|t.csv"] ==
          other_inner.journals["/dump|20260101000000|t.csv"]);
    CHECK(bench.history.triggers() == other.triggers());
    CHECK(bench.history.lost() == 0);
    CHECK(bench.flash.violation == nullptr);
    CHECK(bench.inner.stray_aborts == 0);
  }
}
