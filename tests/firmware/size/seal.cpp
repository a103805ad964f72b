// The sealing sink as a firmware calls it: all of the sink and the sealing. The cryptography is the port's.

#include <new>

#include "opdump/parts/sealed_sink.hpp"

using namespace opdump;

extern "C" {
Sink* size_make(void* memory, Sink& sink, Sealer& sealer, MutableBytes chunks) {
  return new (memory) SealedSink<>(sink, sealer, chunks);
}
Status size_seal(SealedSink<>& sink, std::string_view recipient) {
  return sink.seal(recipient);
}
extern const char bytes_of_sealed_sink[sizeof(SealedSink<>)];
const char bytes_of_sealed_sink[sizeof(SealedSink<>)] = {};
}
