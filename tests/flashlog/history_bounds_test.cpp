#include <doctest/doctest.h>

#include <vector>

#include "opdump/parts/history_sink.hpp"
#include "platform/baremetal/tick_clock.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/one_op_session.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

TEST_CASE("flash log: a history that is handed on in pieces keeps each call within its bound") {
  constexpr std::uint32_t kPage = 256, kBudget = 512;
  FlashEmulator flash({.block_bytes = 8192, .block_count = 24, .program_bytes = 4}, kPage);
  const Device device = flash.device();
  std::byte page[FlashLog::kPrefixBytes + kPage];
  FlashLog log(device, page, {.prepared_blocks = 2, .erase_budget = 0});
  REQUIRE(log.mount() == Status::ok);
  std::vector<std::uint64_t> memory(8192);
  HistorySink history(log, std::as_writable_bytes(std::span(memory)), 10, 2);
  history.hand_on_in_pieces();
  baremetal::TickClock clock(1000);
  OneOpSession capturing(history, clock, WhenFull::drop, JournalDetail::none);
  capturing.start();
  const std::vector<std::byte> data(3000, std::byte{5});
  std::uint64_t pieces = 0;
  for (int round = 0; round < 400; ++round) {
    if (round % 16 == 0) REQUIRE(capturing.step(data) == Status::ok);
    if (round == 300) history.trigger();
    const std::uint64_t operations = flash.operations;
    capturing.session.drain_some(kBudget);
    CHECK(flash.operations == operations);
    while (log.erase_ahead().value()) {
    }
    const std::uint32_t most = FlashLog::most_bytes(kBudget + HistorySink::kBlockBytes + 400);
    REQUIRE(log.ready_bytes() >= most);
    const std::uint64_t erases = flash.erases, programs = flash.programs;
    pieces += history.hand_on_some(kBudget) ? 1 : 0;
    CHECK(flash.erases == erases);
    CHECK(flash.programs - programs <= most / kPage + 3);
  }
  CHECK(pieces >= 40);
  CHECK(log.sync() == Status::ok);
  CHECK(history.lost() == 0);
  CHECK(read_flash(device).count(ObjectState::committed) == 12);
  CHECK(flash.violation == nullptr);
}
