// The receiver of a playback as a firmware calls it. The port and what takes the inputs are the caller's.

#include <new>

#include "platform/wire/playback.hpp"
#include "tests/firmware/size/any_port.hpp"

using namespace opdump;

class Target {
 public:
  Status begin(const wire::PlayedInput& input) { return begin_(context_, input); }
  Status take(std::uint32_t offset, Bytes piece) { return take_(context_, offset, piece); }

 private:
  Status (*begin_)(void*, const wire::PlayedInput&);
  Status (*take_)(void*, std::uint32_t, Bytes);
  void* context_;
};

using Playback = wire::Playback<AnyPort, Target>;

extern "C" {
void* size_make(void* memory, AnyPort& port, Target& target) {
  return new (memory) Playback(port, target);
}
unsigned size_serve(Playback& playback) {
  playback.listen();
  return static_cast<unsigned>(playback.serve());
}
std::size_t size_read(Playback& playback, MutableBytes& to) {
  return playback.read(to);
}
extern const char bytes_of_playback[sizeof(Playback)];
const char bytes_of_playback[sizeof(Playback)] = {};
}
