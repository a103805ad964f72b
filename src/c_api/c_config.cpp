#include <cstddef>

#include "opdump/types/config.hpp"

#include "opdump/config/blob.hpp"
#include "opdump/config/parse.hpp"
#include "src/c_api/handles.hpp"

using namespace opdump;

extern "C" {

std::size_t opdump_config_size(std::size_t text_bytes) {
  static_assert(!c_api::kBounded ||
                c_api::room_for<opdump_config>() + alignof(std::max_align_t) - 1 <= OPDUMP_CONFIG_BYTES(0));
  return c_api::room_for<opdump_config>() + config_memory_bytes(text_bytes);
}

opdump_status opdump_plan_size(const void* plan, std::size_t plan_bytes, std::size_t* bytes) {
  if (bytes == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *bytes = 0;
  if (plan == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  std::size_t lists = 0;
  const Status status = measure_plan({static_cast<const std::byte*>(plan), plan_bytes}, lists);
  // The lists begin behind the config, whose size need not be a multiple of their alignment.
  if (status == Status::ok) *bytes = c_api::room_for<opdump_config>() + alignof(std::max_align_t) - 1 + lists;
  return c_api::to_c(status);
}

opdump_status opdump_config_load_plan(void* memory, std::size_t bytes, const void* plan,
                                      std::size_t plan_bytes, opdump_config** config) {
  if (config == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *config = nullptr;
  if (plan == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  c_api::HandleMemory room(memory, bytes);
  // Of implicit lifetime; `load_plan` sets all of it.
  opdump_config* const made = room.take<opdump_config>();
  if (made == nullptr) return OPDUMP_ERR_NO_MEMORY;
  const Status status =
      load_plan({static_cast<const std::byte*>(plan), plan_bytes}, room.arena(), made->config);
  if (status == Status::ok) *config = made;
  return c_api::to_c(status);
}

int opdump_config_active(const opdump_config* config) {
  return config != nullptr && config->config.active ? 1 : 0;
}

std::uint32_t opdump_config_ring_bytes(const opdump_config* config) {
  return config == nullptr ? 0 : config->config.options.ring_bytes.value_or(0);
}

}  // extern "C"
