#include "opdump/parts/text_log.hpp"

#include "src/c_api/handles.hpp"

using namespace opdump;

namespace {

void say_line(void* self, std::string_view line) {
  const opdump_log& log = *static_cast<const opdump_log*>(self);
  log.say(log.context, line.data(), line.size());
}

}  // namespace

extern "C" {

std::size_t opdump_log_size(void) {
  return c_api::room_for<opdump_log>();
}

opdump_status opdump_log_create(void* memory, std::size_t bytes, opdump_say say, void* context,
                                std::uint64_t partition_bytes, opdump_log** log) {
  if (log == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *log = nullptr;
  if (say == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  c_api::HandleMemory room(memory, bytes);
  opdump_log* const place = room.take<opdump_log>();
  if (place == nullptr) return OPDUMP_ERR_NO_MEMORY;
  *log = ::new (place) opdump_log{say, context, TextLog(say_line, place, partition_bytes)};
  return OPDUMP_OK;
}

}  // extern "C"
