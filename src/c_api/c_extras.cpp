#include "src/c_api/handles.hpp"

#if OPDUMP_SMALL_CODE == 0
#include "opdump/impl/stats/kernels.hpp"
#endif

using namespace opdump;

#if OPDUMP_SMALL_CODE && OPDUMP_STATISTICS
opdump_extras::opdump_extras(const opdump_memory& port) : memory(port), reduction(memory) {}
#elif OPDUMP_SMALL_CODE
opdump_extras::opdump_extras(const opdump_memory& port) : memory(port) {}
#elif OPDUMP_STATISTICS
opdump_extras::opdump_extras(const opdump_memory& port)
    : memory(port), reduction(memory, &statistics_kernels()), restorer(memory) {}
#else
opdump_extras::opdump_extras(const opdump_memory& port) : memory(port), restorer(memory) {}
#endif

extern "C" {

std::size_t opdump_extras_size(void) {
  return c_api::room_for<opdump_extras>();
}

opdump_status opdump_extras_create(void* at, std::size_t bytes, const opdump_memory* memory,
                                   opdump_extras** extras) {
  if (extras == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *extras = nullptr;
  opdump_memory port;
  if (const Status status = c_api::take_memory(memory, port); status != Status::ok)
    return c_api::to_c(status);
  c_api::HandleMemory room(at, bytes);
  opdump_extras* const place = room.take<opdump_extras>();
  if (place == nullptr) return OPDUMP_ERR_NO_MEMORY;
  *extras = ::new (place) opdump_extras(port);
  return OPDUMP_OK;
}

}  // extern "C"
