// A history in flash as a firmware calls it: all of the sink, with its journal, what it hands on in pieces, and
// what remains of an earlier boot. The sink behind it and the part are the port's.

#include <new>

#include "platform/flashlog/flash_history.hpp"

using namespace opdump;
using namespace opdump::flashlog;

extern "C" {
Sink* size_make(void* memory, Sink& sink, const Device& device, MutableBytes page, const Options& options) {
  return new (memory) FlashHistory(sink, device, page, options);
}
Status size_mount(FlashHistory& history, MutableBytes memory) {
  history.configure(memory, 8, 2);
  history.hand_on_in_pieces();
  return history.mount();
}
std::uint32_t size_remains(FlashHistory& history) {
  const Result<FlashHistory::Remains> found = history.remains();
  return found.ok() && history.hand_on_remains() == Status::ok ? found.value().objects : 0;
}
void size_trigger(FlashHistory& history) {
  history.trigger();
}
bool size_hand_on(FlashHistory& history) {
  return history.prepare().value() || history.hand_on_some(512);
}
extern const char bytes_of_flash_history[sizeof(FlashHistory)];
const char bytes_of_flash_history[sizeof(FlashHistory)] = {};
}
