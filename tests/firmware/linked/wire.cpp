// Firmware with a journal whose dump goes over a serial line to `opdump receive`.

#include "firmware.hpp"
#include "line.hpp"

namespace firmware {

Session session({.memory = memory, .sink = line_sink, .clock = ticks, .scratch = scratch});

}  // namespace firmware

extern "C" {
opdump::Status firmware_boot() {
  using namespace firmware;
  recorder = session.add_recorder(ring).value();
  return boot(session, line_sink, kConfig);
}

opdump::Status firmware_idle() {
  firmware::line_sink.serve();
  return opdump::Status::ok;
}
}
