#include "platform/psa/psa_sealer.hpp"

#include "platform/psa/psa_sealer.h"
#include "src/c_api/sealer_port.hpp"

using namespace opdump;

extern "C" {

std::size_t opdump_psa_sealer_size(void) {
  return c_api::room_for<psa::PsaSealer>();
}

opdump_status opdump_psa_sealer_create(void* memory, std::size_t bytes, opdump_sealer* sealer,
                                       std::size_t sealer_bytes) {
  psa::PsaSealer* place = nullptr;
  const Status status = c_api::room_of_sealer(memory, bytes, sealer, sealer_bytes, place);
  if (status != Status::ok) return c_api::to_c(status);
  return c_api::to_c(c_api::give_sealer(*::new (place) psa::PsaSealer, sealer, sealer_bytes));
}

}  // extern "C"
