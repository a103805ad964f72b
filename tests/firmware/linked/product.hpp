#pragma once
// What the products have in common: they dump to raw flash, with a journal, what a compiled config says, and
// their recorder waits for room. Each adds its session.

#include "dump_plan.h"
#include "firmware.hpp"
#include "flash.hpp"

namespace firmware {

alignas(8) std::byte lists[DUMP_PLAN_MEMORY_BYTES];
Arena arena(lists);

}  // namespace firmware

extern "C" {
opdump::Status firmware_boot() {
  using namespace firmware;
  recorder = session.add_recorder(ring).value();
  const Status status = flash_log.mount();
  return status == Status::ok ? boot(session, flash_log, std::as_bytes(std::span(dump_plan)), arena) : status;
}

opdump::Status firmware_idle() {
  return firmware::flash_log.prepare().status();
}
}
