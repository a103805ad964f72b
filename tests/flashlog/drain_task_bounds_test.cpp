#include <doctest/doctest.h>

#include <vector>

#include "platform/baremetal/tick_clock.hpp"
#include "platform/flashlog/erases_ahead.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/template/drain_task.hpp"
#include "tests/support/clockwork.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/one_op_session.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

TEST_CASE("flash log: a drain task over a log that erases ahead never erases while it drains") {
  FlashEmulator flash({.block_bytes = 4096, .block_count = 16, .program_bytes = 4}, 256);
  const Device device = flash.device();
  std::byte page[FlashLog::kPrefixBytes + 256];
  FlashLog log(device, page, {.prepared_blocks = 3, .erase_budget = 0});
  REQUIRE(log.mount() == Status::ok);
  ErasesAhead ahead(log, 2);
  baremetal::TickClock clock(1000);
  OneOpSession capturing(log, clock);
  capturing.start();
  BasicSession<HostMemory>& session = capturing.session;
  const std::vector<std::byte> data(2000, std::byte{5});
  Clockwork rtos;
  DrainTask task(session, rtos, ahead, 50, 10, 512);
  REQUIRE(task.attach() == Status::ok);
  int turns = 0, erases = 0, erases_in_drains = 0;
  flash.before = [&](FlashEmulator&, const FlashEmulator::Operation& operation) {
    if (!operation.is_erase) return;
    ++erases;
    erases_in_drains += session.is_draining() ? 1 : 0;
  };
  rtos.waiting = [&] {
    if (++turns > 200) {
      // It ends when it has drained what is left.
      static_cast<void>(task.stop(0));
      return;
    }
    for (int step = 0; step < turns % 4; ++step) REQUIRE(capturing.step(data) == Status::ok);
  };
  task.run();
  REQUIRE(task.stop(0) == Status::ok);
  const DumpCounts counts = session.counts();
  CHECK(counts.written == counts.wanted);
  CHECK(counts.written == 300);
  CHECK(counts.sink_failed == 0);
  CHECK(erases > 100);
  CHECK(erases_in_drains == 0);
  CHECK(task.log_failure() == Status::ok);
  CHECK(read_flash(device).count(ObjectState::damaged) == 0);
}
