#include "platform/sodium/loaded_sealer.hpp"

#include "src/c_api/sealer_port.hpp"

using namespace opdump;

extern "C" {

std::size_t opdump_system_sealer_size(void) {
  return c_api::room_for<sodium::LoadedSealer>();
}

opdump_status opdump_system_sealer_create(void* memory, std::size_t bytes, opdump_sealer* sealer,
                                          std::size_t sealer_bytes) {
  sodium::LoadedSealer* place = nullptr;
  Status status = c_api::room_of_sealer(memory, bytes, sealer, sealer_bytes, place);
  if (status != Status::ok) return c_api::to_c(status);
  sodium::LoadedSealer& made = *::new (place) sodium::LoadedSealer;
  status = made.load();
  return c_api::to_c(status == Status::ok ? c_api::give_sealer(made, sealer, sealer_bytes) : status);
}

}  // extern "C"
