#include "opdump/types/clock_step.hpp"
#include "src/c_api/handles.hpp"

extern "C" {

opdump_status opdump_session_tell_clock(opdump_session* session, std::uint64_t shown_us,
                                        std::uint64_t unix_us) {
  if (session == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return opdump::c_api::to_c(session->session.tell_clock({shown_us, unix_us}));
}

}  // extern "C"
