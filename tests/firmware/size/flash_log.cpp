// The flash log as a firmware calls it: all of the sink, mount, preparing and the emergency.

#include <new>

#include "platform/flashlog/flash_log.hpp"

using namespace opdump;
using namespace opdump::flashlog;

extern "C" {
Sink* size_make(void* memory, const Device& device, MutableBytes page, const Options& options) {
  return new (memory) FlashLog(device, page, options);
}
Status size_mount(FlashLog& log) {
  return log.mount();
}
bool size_prepare(FlashLog& log) {
  return log.prepare().value();
}
Status size_emergency(FlashLog& log) {
  return log.emergency();
}
extern const char bytes_of_flash_log[sizeof(FlashLog)];
const char bytes_of_flash_log[sizeof(FlashLog)] = {};
}
