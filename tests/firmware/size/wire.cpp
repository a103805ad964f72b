// The sink of a wire as a firmware calls it: all of the sink, serving and the end. The port is the caller's.

#include <new>

#include "platform/wire/wire_sink.hpp"

using namespace opdump;

class Port {
 public:
  void write(Bytes from) { write_(context_, from); }
  std::size_t read(MutableBytes to) { return read_(context_, to); }

 private:
  void (*write_)(void*, Bytes);
  std::size_t (*read_)(void*, MutableBytes);
  void* context_;
};

using WireSink = wire::WireSink<Port>;

extern "C" {
Sink* size_make(void* memory, Port& port, std::byte (&window)[2048], std::uint32_t boot) {
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
