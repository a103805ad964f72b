// Firmware that dumps to raw flash, with a journal, what a compiled config says; its recorder waits for room.

#include "dump_plan.h"
#include "firmware.hpp"
#include "flash.hpp"

namespace firmware {

Session session({.memory = memory, .sink = flash_log, .clock = ticks, .scratch = scratch});
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
