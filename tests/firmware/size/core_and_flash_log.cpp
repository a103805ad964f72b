// The capture core, writing to raw flash.

#include "core.cpp"
#include "platform/flashlog/flash_log.hpp"

using flashlog::FlashLog;

extern "C" {
Status size_mount(FlashLog& log) {
  return log.mount();
}
Status size_prepare(FlashLog& log) {
  return log.prepare().status();
}
Status size_emergency(FlashLog& log) {
  return log.emergency();
}
FlashLog* size_make_log(void* memory, const flashlog::Device& device, MutableBytes page,
                        const flashlog::Options& options) {
  return ::new (memory) FlashLog(device, page, options);
}
extern const char bytes_of_flash_log[sizeof(FlashLog)];
const char bytes_of_flash_log[sizeof(FlashLog)] = {};
}
