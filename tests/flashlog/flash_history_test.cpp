#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "opdump/parts/history_sink.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/flash_contents.hpp"
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
    int calls = 0;
    for (std::uint64_t step = 50; step < 80; ++step) {
      if (step % 10 == 0) bench.history.trigger();
      // Of the second of three equal write-outs the sink refuses the lines, the last call.
      if (step == 60) bench.inner.fail_at = 2 * bench.inner.calls - calls - 1;
      if (step == 50) calls = bench.inner.calls;
      REQUIRE(bench.write(step, "a") == Status::ok);
    }
    CHECK(bench.history.untold() == 1);
    CHECK(bench.inner.journals.at("/dump|20260101000000|opdump.history")
              .ends_with(",4,0\nlet_go,92\nuntold,1\n"));
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

TEST_CASE("flash history: a step larger than the area is named, and the next one is kept again") {
  for (const HistorySetup& setup : kHistorySetups) {
    CAPTURE(setup.geometry.program_bytes);
    FlashHistoryBench bench(setup);
    for (std::uint64_t step = 0; step < 4; ++step) REQUIRE(bench.write(step, "small") == Status::ok);
    const std::uint32_t area = setup.geometry.block_bytes * setup.geometry.block_count;
    std::uint32_t taken = 0;
    Status status = Status::ok;
    for (int i = 0; i < 1000 && status == Status::ok; ++i) {
      status = bench.write(4, "large" + std::to_string(i), 1500);
      if (status == Status::ok) ++taken;
    }
    CHECK(status == Status::no_space);
    CHECK(taken * 1500 > area / 4);
    CHECK(bench.history.too_large() == 1);
    CHECK(bench.history.too_large_step() == 5);
    CHECK(bench.write(4, "more", 1500) == Status::no_space);
    CHECK(bench.history.too_large() == 1);
    const std::uint32_t before = 4 - bench.history.let_go();
    CHECK(before <= 2);
    CHECK(bench.balances());
    bench.history.trigger();
    REQUIRE(bench.write(5, "small") == Status::ok);
    REQUIRE(bench.write(6, "small") == Status::ok);
    const std::vector<std::string> files = files_of(bench.inner);
    REQUIRE(files.size() == before + taken + 1);
    CHECK(files[before] == "4/large0.1500");
    CHECK(files.back() == "5/small.100");
    CHECK(bench.history.lost() == 0);
    CHECK(bench.balances());
    CHECK(bench.inner.journals.at("/dump|20260101000000|opdump.history").find("\ntoo_large,5,1\n") !=
          std::string::npos);
    // An object of more than half the area is refused by itself.
    CHECK(bench.write(7, "huge", area / 2 + setup.geometry.block_bytes) == Status::no_space);
    CHECK(bench.write(7, "small") == Status::ok);
    CHECK(bench.balances());
    CHECK(bench.flash.violation == nullptr);
  }
}

TEST_CASE("flash history: steps that wait to be handed on stay while new ones come") {
  for (const HistorySetup& setup : kHistorySetups) {
    CAPTURE(setup.geometry.program_bytes);
    FlashHistoryBench bench(setup);
    bench.history.hand_on_in_pieces();
    std::uint64_t step = 0;
    for (; step < 30; ++step) REQUIRE(bench.write(step, "kept", 400) == Status::ok);
    bench.history.trigger();
    std::uint32_t refused = 0;
    for (; step < 300; ++step) {
      const Status status = bench.write(step, "after", 400);
      REQUIRE((status == Status::ok || status == Status::no_space));
      if (status != Status::ok) ++refused;
      REQUIRE(bench.history.prepare().ok());
      REQUIRE(bench.balances());
    }
    CHECK(bench.inner.calls == 0);
    CHECK(refused > 0);
    CHECK(bench.history.refused_calls() == refused);
    CHECK(bench.history.too_large() == 0);
    int pieces = 0;
    while (bench.history.hand_on_some(300)) {
      ++pieces;
      REQUIRE(bench.balances());
    }
    CHECK(pieces >= 4);
    CHECK(files_of(bench.inner) ==
          std::vector<std::string>{"27/kept.400", "28/kept.400", "29/kept.400", "30/after.400"});
    CHECK(bench.history.lost() == 0);
    CHECK(bench.write(step, "again", 400) == Status::ok);
    CHECK(bench.balances());
    CHECK(bench.flash.violation == nullptr);
  }
}

TEST_CASE("flash history: a call erases one block at most, and none where one is prepared") {
  for (const HistorySetup& setup : kHistorySetups) {
    CAPTURE(setup.geometry.program_bytes);
    FlashHistoryBench bench(setup);
    bench.history.hand_on_in_pieces();
    std::minstd_rand random(3);
    const std::string data(200, 'x');
    const Bytes part = as_bytes(data);
    std::uint64_t most = 0, most_prepared = 0;
    const auto erases_of = [&](auto call) {
      const std::uint64_t before = bench.flash.erases;
      call();
      return bench.flash.erases - before;
    };
    for (std::uint64_t step = 0; step < 400; ++step) {
      const bool prepared = step % 2 == 1;
      if (prepared) {
        while (bench.history.prepare().value()) continue;
      }
      std::uint64_t& bound = prepared ? most_prepared : most;
      Result<ObjectId> object = Status::io_error;
      bound =
          std::max(bound, erases_of([&] { object = FlashHistoryBench::begin(bench.history, step, "op"); }));
      if (!object.ok()) continue;
      bound = std::max(bound, erases_of([&] {
                         static_cast<void>(bench.history.append(object.value(), {&part, 1}));
                       }));
      bound = std::max(bound, erases_of([&] { static_cast<void>(bench.history.commit(object.value())); }));
      if (step % 50 == 49) bench.history.trigger();
      bound = std::max(bound, erases_of([&] { static_cast<void>(bench.history.hand_on_some(600)); }));
    }
    CHECK(most == 1);
    CHECK(most_prepared == 0);
    CHECK(bench.history.triggers() == 8);
    CHECK(bench.flash.violation == nullptr);
  }
}

TEST_CASE("flash history: blocks are worn evenly, by the bytes of the steps") {
  for (const HistorySetup& setup : kHistorySetups) {
    CAPTURE(setup.geometry.program_bytes);
    FlashHistoryBench bench(setup);
    constexpr std::uint64_t kSteps = 3000;
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      REQUIRE(bench.write(step, "a", 300) == Status::ok);
      REQUIRE(bench.write(step, "b", 200) == Status::ok);
    }
    std::uint32_t least = UINT32_MAX, most = 0;
    for (std::uint32_t block = 0; block < setup.geometry.block_count; ++block) {
      least = std::min(least, bench.flash.erases_of(block));
      most = std::max(most, bench.flash.erases_of(block));
    }
    CHECK(most - least <= 1);
    CHECK(bench.history.erases() == bench.flash.erases);
    // The bytes of two objects and their names, and what the format adds.
    const std::uint64_t bytes = kSteps * (500 + 2 * (5 + 40) + 30 + 2 * 40);
    const std::uint64_t of_block = setup.geometry.block_bytes - FlashHistory::kPrefixBytes;
    CHECK(bench.flash.erases <= bytes / of_block + 2);
    CHECK(bench.flash.erases > kSteps * 500 / setup.geometry.block_bytes - 2);
  }
}

TEST_CASE("flash history: bad blocks and flipped bits cost what they hit, and no byte is invented") {
  using Fault = FlashEmulator::Fault;
  std::uint32_t lost = 0, handed = 0;
  for (std::size_t round = 0; round < rounds(80); ++round) {
    HistorySetup setup = kHistorySetups[round % std::size(kHistorySetups)];
    setup.options.verify = true;
    setup.geometry.block_count += 4;
    FlashEmulator part(setup.geometry, setup.page_bytes, static_cast<std::uint32_t>(round + 1));
    const Fault faults[] = {Fault::program_fails, Fault::program_lies, Fault::erase_fails, Fault::none};
    const bool flips = round % 2 == 0;
    if (flips) {
      part.read_disturb = 40;
    } else {
      for (int i = 0; i < 3; ++i)
        part.set_fault(part.random() % setup.geometry.block_count, faults[part.random() % std::size(faults)]);
      part.read_errors = 30;
    }
    CAPTURE(round);
    FlashHistoryBench bench(setup, part);
    std::minstd_rand random(static_cast<unsigned>(round + 1));
    for (std::uint64_t step = 0; step < 200; ++step) {
      const Status status = bench.write(step, "a", random() % 900);
      REQUIRE((status == Status::ok || flips));
      if (random() % 20 == 0) bench.history.trigger();
      if (random() % 8 == 0) static_cast<void>(bench.history.sync());
      if (random() % 4 == 0) static_cast<void>(bench.history.prepare());
      if (!bench.balances()) FAIL("the account does not balance");
    }
    // Holds each file against its bytes.
    CHECK(files_of(bench.inner).size() == bench.history.handed_on());
    if (!flips) CHECK(bench.history.lost() == 0);
    lost += bench.history.lost();
    handed += bench.history.handed_on();
    CHECK(bench.inner.stray_aborts == 0);
    // A flipped bit of an erased byte cannot be programmed.
    if (!flips) CHECK(bench.flash.violation == nullptr);
  }
  CHECK(lost > 0);
  CHECK(handed > 10 * lost);
}

TEST_CASE("flash history: a step that moves to another block with what its block did not take is found") {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    HistorySetup setup = kHistorySetups[2];
    setup.options.verify = true;
    FlashEmulator part(setup.geometry, setup.page_bytes, seed);
    for (const std::uint32_t block : {0u, 1u, 3u}) part.set_fault(block, FlashEmulator::Fault::program_lies);
    FlashHistoryBench bench(setup, part);
    for (std::uint64_t step = 0; step < 30; ++step) {
      REQUIRE(bench.write(step, "a", 30 + seed) == Status::ok);
      REQUIRE(bench.write(step, "b", 200) == Status::ok);
      if (step % 4 == 1) bench.history.trigger();
    }
    REQUIRE(bench.history.sync() == Status::ok);
    CHECK(bench.history.retired() == 3);
    CHECK(bench.history.lost() == 0);
    CHECK(bench.history.let_go() == 0);
    CHECK(files_of(bench.inner).size() == bench.committed - bench.history.kept());
    CHECK(bench.flash.violation == nullptr);
  }
}

#if OPDUMP_FAULTS == 2
TEST_CASE("flash history: a report is a trigger, and comes with its operator or not at all") {
  for (const int fail_at : {-1, 4, 6}) {
    CAPTURE(fail_at);
    FlashHistoryBench bench(kHistorySetups[0]);
    bench.inner.fail_at = fail_at;
    REQUIRE(bench.write(0, "before") == Status::ok);
    ObjectId pair[2];
    const char* const names[] = {"op.30", "report.30"};
    for (int i = 0; i < 2; ++i) {
      pair[i] = FlashHistoryBench::begin(bench.history, 1, names[i],
                                         i == 0 ? ObjectKind::record : ObjectKind::report)
                    .value();
      const std::string data = bytes_of_file(names[i], 30);
      const Bytes part = as_bytes(data);
      REQUIRE(bench.history.append(pair[i], {&part, 1}) == Status::ok);
    }
    REQUIRE(bench.history.commit(pair[0], pair[1]) == Status::ok);
    bench.committed += 2;
    CHECK(bench.history.triggers() == 1);
    const std::vector<std::string> files = files_of(bench.inner);
    if (fail_at < 0) {
      CHECK(files == std::vector<std::string>{"0/before.100", "1/op.30", "1/report.30"});
    } else {
      CHECK(files == std::vector<std::string>{"0/before.100"});
      CHECK(bench.history.lost() == 2);
    }
    CHECK(bench.balances());
    CHECK(bench.inner.open_objects.empty());
  }
}
#endif

TEST_CASE("flash history: without memory it takes nothing, and without steps it hands everything on") {
  FlashEmulator flash(kHistorySetups[0].geometry, 128);
  flash.power_on();
  const Device device = flash.device();
  std::byte page[FlashHistory::kPrefixBytes + 128];
  FakeSink inner;
  FlashHistory history(inner, device, page);
  REQUIRE(history.mount() == Status::ok);
  CHECK(FlashHistoryBench::write_object(history, 0, "a", 50, ObjectKind::record) == Status::ok);
  CHECK(files_of(inner) == std::vector<std::string>{"0/a.50"});
  std::uint64_t memory[8];
  history.configure(std::as_writable_bytes(std::span(memory)), 3, 0);
  CHECK(FlashHistoryBench::write_object(history, 0, "b", 50, ObjectKind::record) == Status::no_memory);
  CHECK(history.remains().status() == Status::no_memory);
  CHECK(flash.operations == 0);
}
