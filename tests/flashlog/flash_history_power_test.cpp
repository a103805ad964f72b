#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/support/effort.hpp"
#include "tests/support/flash_history_bench.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

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
  if (handed != (remains.objects != 0 ? Status::ok : Status::not_found))
    broken += "hand_on_remains: " + std::string(to_string(handed)) + "\n";
  const std::vector<std::string> files = files_of(after.inner);
  // Cells that are undecided may read otherwise a moment later.
  const bool steady = !part.unsteady;
  if (steady && (files.size() != remains.objects || after.history.lost() != 0))
    broken +=
        "told " + std::to_string(remains.objects) + ", handed on " + std::to_string(files.size()) + "\n";
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
    if (step < remains.first_step || step > remains.last_step) continue;
    if (!there.contains(promises.committed[i])) broken += "lost: " + promises.committed[i] + "\n";
  }
  // What was synced last is there, unless its step is torn.
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
      !again.value().written_out && !remains.torn)
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
