// The sink of a wire as a firmware calls it: all of the sink, serving and the end. The port is the caller's.

#include <new>

#include "platform/wire/wire_sink.hpp"
#include "tests/firmware/size/any_port.hpp"

using namespace opdump;

using WireSink = wire::WireSink<AnyPort>;

extern "C" {
Sink* size_make(void* memory, AnyPort& port, std::byte (&window)[2048], std::uint32_t boot) {
  return new (memory) WireSink(port, window, boot);
}
void size_serve(WireSink& sink) {
  sink.serve();
}
void size_end(WireSink& sink) {
  sink.end();
}
extern const char bytes_of_wire_sink[sizeof(WireSink)];
const char bytes_of_wire_sink[sizeof(WireSink)] = {};
}
