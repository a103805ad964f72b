#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "opdump/parts/history_sink.hpp"
#include "platform/flashlog/flash_history.hpp"
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

namespace {

/// What was asked of a history before power went.
struct HistoryPromises {
  std::vector<std::string> committed;    // in order, as `files_of` names them
  std::size_t synced = 0;                // of these, before the latest sync
  std::vector<std::uint64_t> step_of;    // as the history counts
  std::vector<std::uint32_t> erases_of;  // erases when they began
};

/// Holds what the dead part says after a boot, and what can be got from it, against what was asked. Whether
/// its oldest steps are gone.
bool hold_after_cut(const HistorySetup& setup, FlashEmulator& part, const HistoryPromises& promises,
                    std::uint32_t boot, std::string& broken) {
  FlashHistoryBench after(setup, part);
  const auto found = after.history.remains();
  if (!found.ok()) {
    broken += "remains: " + std::string(to_string(found.status())) + "\n";
    return false;
  }
  const FlashHistory::Remains remains = found.value();
  if (remains.boot > boot || (remains.boot == 0 && promises.synced != 0))
    broken += "boot " + std::to_string(remains.boot) + "\n";
  const Status handed = after.history.hand_on_remains();
  const std::size_t objects = remains.objects + remains.torn_objects;
  if (handed != (objects != 0 ? Status::ok : Status::not_found))
    broken += "hand_on_remains: " + std::string(to_string(handed)) + "\n";
  const std::vector<std::string> files = files_of(after.inner);
  // Cells that are undecided may read otherwise a moment later.
  const bool steady = !part.unsteady;
  if (steady && (files.size() != objects || after.history.lost() != 0))
    broken += "told " + std::to_string(objects) + ", handed on " + std::to_string(files.size()) + "\n";
  // Those that were committed, in order, none left out but at the ends.
  const auto first = files.empty()
                         ? promises.committed.end()
                         : std::find(promises.committed.begin(), promises.committed.end(), files[0]);
  if (steady && !files.empty() &&
      (static_cast<std::size_t>(promises.committed.end() - first) < files.size() ||
       !std::equal(files.begin(), files.end(), first)))
    broken += "not what was committed, from " + files[0] + "\n";
  for (const std::string& file : files) {
    if (std::find(promises.committed.begin(), promises.committed.end(), file) == promises.committed.end())
      broken += "never committed: " + file + "\n";
  }
  const std::set<std::string> there(files.begin(), files.end());
  for (std::size_t i = 0; i < promises.synced && remains.boot == boot; ++i) {
    const std::uint64_t step = promises.step_of[i];
    if (step < remains.first_step || step > remains.last_step + (remains.torn ? 1 : 0)) continue;
    if (!there.contains(promises.committed[i])) broken += "lost: " + promises.committed[i] + "\n";
  }
  const std::string torn = "torn," + std::to_string(remains.last_step + 1) + ',';
  const std::string& lines = after.inner.journals["/dump|20260101000000|opdump.history"];
  if ((lines.find(torn + std::to_string(remains.torn_objects)) != lines.npos) != (remains.torn_objects != 0))
    broken += "the line of a torn step: " + lines;
  if (promises.synced != 0 && remains.boot == boot && !remains.written_out) {
    const std::uint64_t step = promises.step_of[promises.synced - 1];
    if (step > remains.last_step + (remains.torn ? 1 : 0)) broken += "a synced step is missing\n";
  }
  if (!after.balances() && after.committed != 0) broken += "the account does not balance\n";
  // The history goes on, and tells the same remains no more.
  for (std::uint64_t step = 1000; step < 1003; ++step) {
    if (after.write(step, "next") != Status::ok) broken += "takes nothing any more\n";
  }
  after.history.trigger();
  if (after.history.sync() != Status::ok) broken += "no sync\n";
  if (files_of(after.inner).size() != files.size() + 3)
    broken += "the next trigger hands on something else\n";
  if (part.violation != nullptr || after.flash.violation != nullptr) broken += "a rule of the part\n";
  const auto again = after.history.remains(boot + 1);
  if (files.size() != 0 && again.status() != Status::unfinished && again.value().boot == boot &&
      !again.value().written_out && (!remains.torn || remains.torn_objects != 0))
    broken += "does not know what it has handed on\n";
  return remains.first_step > 1;
}

}  // namespace

TEST_CASE("flash history: after a cut at every byte, what is told is what can be handed on") {
  std::uint64_t cuts = 0;
  std::uint64_t went_round = 0;
  for (std::size_t round = 0; round < 2 * std::size(kHistorySetups); ++round) {
    const HistorySetup& setup = kHistorySetups[round / 2];
    CAPTURE(setup.geometry.program_bytes);
    const bool triggers = (&setup - kHistorySetups) % 2 == 0;
    HistoryPromises promises;
    FlashHistoryBench bench(setup);
    bench.flash.volatile_programs = true;
    bench.flash.unsteady = round % 2 == 1;
    std::string broken;
    bench.flash.before = [&](FlashEmulator& flash, const FlashEmulator::Operation& operation) {
      for (std::size_t byte = 0; byte < operation.cuts && broken.empty();
           byte += (operation.is_erase ? 509 : 13) * OPDUMP_TEST_SHARE) {
        FlashEmulator dead = flash;
        dead.before = nullptr;
        static_cast<void>(dead.cut(operation, static_cast<std::uint32_t>(byte)));
        dead.power_on();
        went_round += hold_after_cut(setup, dead, promises, bench.history.boot(), broken) && !triggers;
        ++cuts;
      }
    };
    for (std::uint64_t step = 0; step < 140 && broken.empty(); ++step) {
      for (const std::size_t bytes : {std::size_t{60} + step % 7, std::size_t{step % 5 == 0 ? 900u : 20u}}) {
        const std::string file = (bytes < 60 ? "a" : "b") + std::to_string(step);
        promises.step_of.push_back(step + 1);
        promises.committed.push_back(std::to_string(step) + "/" + file + "." + std::to_string(bytes));
        REQUIRE(bench.write(step, file, bytes) == Status::ok);
      }
      if (step % 3 == 2) {
        REQUIRE(bench.history.sync() == Status::ok);
        promises.synced = promises.committed.size();
      }
      if (triggers && step % 31 == 30) bench.history.trigger();
    }
    bench.flash.before = nullptr;
    if (!broken.empty()) FAIL(broken);
    CHECK(bench.flash.erases > setup.geometry.block_count);
    CHECK(bench.balances());
  }
  CHECK(cuts > 500 / OPDUMP_TEST_SHARE);
  CHECK(went_round > 100 / OPDUMP_TEST_SHARE);
}

TEST_CASE("flash history: each of several boots is told and handed on by itself") {
  for (const HistorySetup& setup : kHistorySetups) {
    CAPTURE(setup.geometry.program_bytes);
    FlashEmulator part(setup.geometry, setup.page_bytes);
    std::vector<std::uint32_t> boots;
    for (std::uint64_t boot = 0; boot < 3; ++boot) {
      FlashHistoryBench bench(setup, part);
      for (std::uint64_t step = 0; step < 4; ++step)
        REQUIRE(bench.write(10 * boot + step, "op", 80) == Status::ok);
      if (boot == 1) bench.history.trigger();
      REQUIRE(bench.history.sync() == Status::ok);
      CHECK(bench.inner.order.size() == (boot == 1 ? 3 : 0));
      boots.push_back(bench.history.boot());
      bench.flash.cut();
      part = bench.flash;
      part.power_on();
    }
    const auto hand_on = [&](std::uint32_t before, std::uint32_t boot,
                             const std::vector<std::string>& files) {
      FlashHistoryBench bench(setup, part);
      const FlashHistory::Remains found = bench.history.remains(before).value();
      CHECK(found.boot == boot);
      CHECK(found.objects == files.size());
      CHECK(found.written_out == (files.empty() && boot != 0));
      CHECK(bench.history.hand_on_remains() == (files.empty() ? Status::not_found : Status::ok));
      CHECK(files_of(bench.inner) == files);
      REQUIRE(bench.history.sync() == Status::ok);
      bench.flash.cut();
      part = bench.flash;
      part.power_on();
    };
    hand_on(boots[1], boots[0], {"0/op.80", "1/op.80", "2/op.80", "3/op.80"});
    hand_on(boots[1], boots[0], {});
    // Its write-out was not at an end: the step that it waited for never came.
    hand_on(boots[2], boots[1], {"10/op.80", "11/op.80", "12/op.80", "13/op.80"});
    hand_on(boots[2], boots[1], {});
    hand_on(UINT32_MAX, boots[2], {"20/op.80", "21/op.80", "22/op.80", "23/op.80"});
    hand_on(boots[0], 0, {});
  }
}

TEST_CASE("flash history: a block that lost its programs hides no step that was synced before") {
  const HistorySetup& setup = kHistorySetups[0];
  FlashHistoryBench bench(setup);
  for (std::uint64_t step = 0; step < 3; ++step) REQUIRE(bench.write(step, "op", 80) == Status::ok);
  REQUIRE(bench.history.sync() == Status::ok);
  const std::uint32_t block_bytes = setup.geometry.block_bytes;
  REQUIRE(bench.write(3, "late", 2 * block_bytes) == Status::ok);
  bench.flash.cut();
  std::fill_n(bench.flash.memory().begin() + block_bytes, block_bytes, setup.geometry.erased);
  FlashHistoryBench after(setup, bench.flash);
  CHECK(after.history.remains().value().boot == bench.history.boot());
  CHECK(after.history.hand_on_remains() == Status::ok);
  CHECK(files_of(after.inner) == std::vector<std::string>{"0/op.80", "1/op.80", "2/op.80"});
}
