#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "opdump/config/write_blob.hpp"
#include "opdump/opdump.h"
#include "tests/support/c_session.hpp"
#include "tests/support/trigger_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

/// A session of C over a trigger sink, a history sink and a callback.
struct TriggerStack : CSession {
  explicit TriggerStack(std::vector<TriggerRule> rules, TriggerLimits limits = {}) {
    REQUIRE(opdump_callback_sink_create(to_room.at(), to_room.bytes(), 512, Received::take, &received, &to) ==
            OPDUMP_OK);
    REQUIRE(opdump_history_sink_create(history_room.at(), history_room.bytes(), kHistoryBytes, to,
                                       &history) == OPDUMP_OK);
    const opdump_trigger_options wanted = options();
    trigger_room = std::make_unique<Room>(opdump_trigger_sink_size(&wanted));
    REQUIRE(opdump_trigger_sink_create(trigger_room->at(), trigger_room->bytes(), &wanted, &triggers) ==
            OPDUMP_OK);
    const ModelRule models[] = {{.any_model = true}};
    DumpConfig asked;
    asked.asked = asked.active = true;
    asked.dump_path = "/d";
    asked.mode = DumpMode::output;
    asked.models = models;
    asked.options.when_full = WhenFull::inline_drain;
    asked.options.history_steps = 2;
    asked.options.after_steps = 1;
    asked.options.triggers = rules;
    asked.options.trigger_bytes_per_boot = limits.bytes_per_boot;
    asked.options.trigger_firings_per_boot = limits.firings_per_boot;
    plan = write_plan(asked);
    config = load_config(plan, config_room);
  }

  opdump_trigger_options options() {
    opdump_trigger_options options = {};
    options.struct_bytes = sizeof options;
    options.history = history;
    options.clock = &clock;
    return options;
  }

  opdump_status boot(opdump_sink* top) { return CSession::boot(top, config); }

  void step(float value, bool fails = false) {
    float own[4] = {value, value, value, value};
    CSession::step(own, fails);
  }

  /// The steps of which there are files.
  std::vector<int> steps() const {
    std::vector<int> steps;
    for (int step = 0; step < 20; ++step) {
      const std::string part = "/net/1/" + std::to_string(step) + "/Conv2D.conv1.";
      for (const auto& [name, data] : received.whole) {
        if (name.find(part) != name.npos) steps.push_back(step);
      }
    }
    return steps;
  }

  opdump_trigger_counts counts(std::uint32_t trigger) const {
    opdump_trigger_counts counts = {};
    REQUIRE(opdump_trigger_sink_counts(triggers, trigger, &counts, sizeof counts) == OPDUMP_OK);
    return counts;
  }

  static constexpr std::size_t kHistoryBytes = 16 * 512;
  Received received;
  Room to_room{opdump_callback_sink_size(512)};
  Room history_room{opdump_history_sink_size(kHistoryBytes)};
  opdump_sink* to = nullptr;
  opdump_sink* history = nullptr;
  opdump_sink* triggers = nullptr;
  std::vector<std::byte> plan;
  std::unique_ptr<Room> trigger_room, config_room;
  opdump_config* config = nullptr;
};

using FiredSteps = std::vector<int>;

}  // namespace

TEST_CASE("c api: triggers of a plan write the history within the limits, and the journal says why") {
  TriggerCase low(TriggerCause::max, "conv1");
  TriggerCase failure(TriggerCause::failure, "relu1");
  TriggerCase called(TriggerCause::call, "");
  called.rule.call = "door";
  TriggerStack stack({low.below(5).rule, failure.rule, called.rule}, {.firings_per_boot = 3});
  REQUIRE(stack.boot(stack.triggers) == OPDUMP_OK);
  for (int step = 0; step < 18; ++step) {
    stack.step(step == 3 || step == 16 ? 1.f : 9.f, step == 7);
    if (step == 11) CHECK(opdump_trigger_sink_fire(stack.triggers, "door") == OPDUMP_OK);
    if (step == 11) CHECK(opdump_trigger_sink_fire(stack.triggers, "window") == OPDUMP_ERR_INVALID_ARGUMENT);
  }
  REQUIRE(opdump_session_finalize(stack.session) == OPDUMP_OK);
  CHECK(stack.steps() == FiredSteps{2, 3, 4, 6, 7, 8, 10, 11, 12});
  const std::string journal = only(stack.received.journals, "opdump.0.");
  for (const char* const line :
       {"fired,0,max,3,1,<5,1,net/Conv2D.conv1\n", "fired,1,failure,7,,,1,net/Relu.relu1\n",
        "fired,2,call,11,,,0,door\n", "trigger,0,max,1,0,1,0,0,0,0,18\n", "history,2,1\n"})
    CHECK(journal.find(line) != std::string::npos);
  CHECK(stack.counts(0).fired == 1);
  CHECK(stack.counts(0).firings == 1);
  CHECK(stack.counts(0).looks == 18);
  CHECK(stack.counts(1).fired == 1);
  CHECK(stack.counts(2).fired == 1);
}

TEST_CASE("c api: triggers are refused by other sinks, and beyond their memory") {
  TriggerCase low(TriggerCause::max, "conv1");
  low.below(5);
  {
    TriggerStack stack({low.rule});
    CHECK(stack.boot(stack.history) == OPDUMP_ERR_NOT_SUPPORTED);
  }
  {
    TriggerStack stack({low.rule, low.rule, low.rule, low.rule, low.rule});
    CHECK(stack.boot(stack.triggers) == OPDUMP_ERR_NO_MEMORY);
  }
  TriggerStack stack({low.rule});
  opdump_trigger_counts counts;
  CHECK(opdump_trigger_sink_counts(stack.triggers, 0, &counts, sizeof counts) == OPDUMP_ERR_INVALID_ARGUMENT);
  REQUIRE(stack.boot(stack.triggers) == OPDUMP_OK);
  CHECK(opdump_trigger_sink_counts(stack.triggers, 0, &counts, sizeof counts) == OPDUMP_OK);
  CHECK(opdump_trigger_sink_counts(stack.triggers, 1, &counts, sizeof counts) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_trigger_sink_counts(stack.history, 0, &counts, sizeof counts) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_trigger_sink_fire(stack.history, "door") == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_trigger_sink_fire(stack.triggers, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  REQUIRE(opdump_session_finalize(stack.session) == OPDUMP_OK);
  CHECK(stack.received.whole.empty());

  opdump_sink* sink = nullptr;
  opdump_trigger_options options = stack.options();
  const Room room(opdump_trigger_sink_size(&options));
  const auto create = [&](std::size_t bytes) {
    return opdump_trigger_sink_create(room.at(), bytes, &options, &sink);
  };
  CHECK(create(room.bytes() - 64) == OPDUMP_ERR_NO_MEMORY);
  CHECK(create(room.bytes()) == OPDUMP_OK);
  options.history = stack.to;
  CHECK(create(room.bytes()) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(sink == nullptr);
  options = stack.options();
  options.clock = nullptr;
  CHECK(create(room.bytes()) == OPDUMP_ERR_INVALID_ARGUMENT);
  for (std::uint32_t opdump_trigger_options::*const field :
       {&opdump_trigger_options::triggers, &opdump_trigger_options::points, &opdump_trigger_options::firings,
        &opdump_trigger_options::reserved}) {
    options = stack.options();
    options.*field = 0xffff'ffff;
    CHECK(opdump_trigger_sink_size(&options) == 0);
    CHECK(create(room.bytes()) == OPDUMP_ERR_INVALID_ARGUMENT);
  }
  CHECK(opdump_trigger_sink_size(nullptr) == 0);
}
