// Firmware that dumps to raw flash what a built-in config says.

#include "firmware.hpp"
#include "flash.hpp"

namespace firmware {

Session session(
    {.memory = memory, .sink = flash_log, .clock = ticks, .scratch = scratch, .when_full = WhenFull::drop});

}  // namespace firmware

extern "C" {
opdump::Status firmware_boot() {
  using namespace firmware;
  recorder = session.add_recorder(ring).value();
  Status status = flash_log.mount();
  if (status == Status::ok) status = session.init();
  return status == Status::ok ? session.set_config(kConfig) : status;
}

opdump::Status firmware_idle() {
  return firmware::flash_log.prepare().status();
}
}
