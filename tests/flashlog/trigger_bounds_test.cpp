#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "opdump/parts/history_sink.hpp"
#include "opdump/parts/trigger_sink.hpp"
#include "opdump/parts/triggers.hpp"
#include "opdump/session.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/parsed_config.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

TEST_CASE("triggers: a drain writes lines alone, and what it hands on in pieces keeps its bound") {
  constexpr std::uint32_t kPage = 256, kBudget = 512;
  const ParsedConfig parsed(R"({"dump": {"dump_path": "/d", "dump_mode": "output",
      "dump_list": [{"model_name": "net"}]},
      "opdump": {"history_steps": 4, "after_steps": 2,
      "trigger": [{"op": "fc", "output": 0, "stat": "max", "above": 0.5}]}})");
  CAPTURE(parsed.error.key);
  REQUIRE(parsed.status == Status::ok);
  FlashEmulator flash({.block_bytes = 8192, .block_count = 24, .program_bytes = 4}, kPage);
  flash.power_on();
  const Device device = flash.device();
  std::byte page[FlashLog::kPrefixBytes + kPage];
  FlashLog log(device, page, {.policy = Policy::overwrite_oldest, .prepared_blocks = 3, .erase_budget = 0});
  REQUIRE(log.mount() == Status::ok);
  FakeMemory memory;
  FakeClock clock;
  clock.now_us = 1'767'225'600'000'000;
  clock.us_per_reading = 0;
  std::vector<std::uint64_t> kept(8192);
  HistorySink history(log, std::as_writable_bytes(std::span(kept)));
  TriggerMemory<1, 2, 4> room;
  TriggerSink sink(history, log, clock, room.room());
  Triggers<FakeMemory> looks(sink);
  std::byte scratch[1024];
  alignas(8) static std::byte ring[16384];
  BasicSession<FakeMemory> session({.memory = memory,
                                    .sink = sink,
                                    .clock = clock,
                                    .scratch = scratch,
                                    .when_full = WhenFull::drop,
                                    .triggers = &looks});
  BasicRecorder<FakeMemory>& recorder = *session.add_recorder(ring).value();
  const OpDesc ops[] = {{.name = "fc", .type = "MatMul", .task_id = 1}};
  const ModelDesc model = {.name = "net", .id = 1, .ops = ops};
  ModelPlanFor<1> plan;
  REQUIRE(session.configure(parsed.config.options) == Status::ok);
  REQUIRE(sink.follow(parsed.config.options, session.journal()) == Status::ok);
  history.hand_on_in_pieces();  // behind `follow`, which configures the history
  while (log.erase_ahead().value()) continue;
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config(parsed.config) == Status::ok);
  REQUIRE(session.load_model(plan, model) == Status::ok);

  std::vector<float> values(700);
  const Dim dims[] = {700};
  const TensorView output = {
      .address = address_of(values.data()), .bytes = 2800, .dtype = DType::float32, .shape = dims};
  std::uint64_t pieces = 0, lines = 0;
  const auto bounded = [&](std::uint32_t moved, std::uint32_t records, auto call) {
    while (log.erase_ahead().value()) continue;
    const std::uint32_t most = FlashLog::most_bytes(moved, records);
    REQUIRE(log.ready_bytes() >= most);
    const std::uint64_t erases = flash.erases, programs = flash.programs, bytes = flash.programmed_bytes;
    call();
    if (flash.erases != erases || flash.programs - programs > most / kPage + 3 ||
        flash.programmed_bytes - bytes > most + 2 * kPage)
      FAIL("a call programmed ", flash.programmed_bytes - bytes, " bytes of ", most);
    return flash.programmed_bytes - bytes;
  };
  for (int round = 0; round < 800; ++round) {
    if (round % 16 == 0) {
      // It fires in one step of ten.
      values[3] = round % 160 == 0 ? 1.0f : 0.0f;
      REQUIRE(recorder.begin_step(plan) == Status::ok);
      REQUIRE(recorder.capture(0, {}, {&output, 1}) == Status::ok);
      REQUIRE(recorder.end_step() == Status::ok);
      clock.now_us += 1'000'000;
      clock.now_ms += 1000;
    }
    lines += bounded(0, 2, [&] { session.drain_some(kBudget); });
    bounded(kBudget + HistorySink::kBlockBytes, 2, [&] { pieces += history.hand_on_some(kBudget) ? 1 : 0; });
  }
  CHECK(pieces >= 40);
  CHECK(history.lost() == 0);
  CHECK(sink.counts(0).fired == 5);
  CHECK(lines > 0);
  bounded(0, 1, [&] { static_cast<void>(log.sync()); });
  CHECK(read_flash(device).count(ObjectState::committed) >= 20);
  CHECK(flash.violation == nullptr);
}
