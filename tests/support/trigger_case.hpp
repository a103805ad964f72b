#pragma once
#include <doctest/doctest.h>

#include "opdump/types/trigger.hpp"
#include "tests/support/parsed_config.hpp"

namespace opdump::tests {

/// The triggers of the case "options_trigger", which every dialect has in its own words.
inline void check_trigger_case(const ParsedConfig& parsed) {
  const DumpOptions& options = parsed.config.options;
  CHECK(options.history_steps == 4);
  REQUIRE(triggers_of(options).size() == 3);
  const TriggerRule& low = triggers_of(options)[0];
  CHECK(low.cause() == TriggerCause::max);
  CHECK(low.steps == 3);
  CHECK(low.cooldown_s == 600);
  CHECK(low.takes(0.25));
  CHECK_FALSE(low.takes(0.5));
  CHECK(triggers_of(options)[1].cause() == TriggerCause::latency_us);
  CHECK(triggers_of(options)[2].call == "door");
  CHECK(trigger_limits(options).bytes_per_boot == 1'000'000);
  CHECK(trigger_limits(options).firings_per_boot == 20);
}

}  // namespace opdump::tests
