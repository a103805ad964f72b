#include <new>
#include <string_view>

#include "opdump/parts/build_id.hpp"
#include "opdump/parts/config_digest.hpp"
#include "opdump/types/account.hpp"
#include "src/c_api/handles.hpp"
#include "src/c_api/provenance.hpp"

using namespace opdump;

extern "C" {

std::size_t opdump_provenance_size(void) {
  return build::kLean ? 0 : c_api::room_for<Provenance>();
}

opdump_status opdump_session_tell_provenance(opdump_session* session, const opdump_provenance* provenance,
                                             void* memory, std::size_t bytes) {
  if (session == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  Provenance told;
  const Status status = c_api::take_provenance(provenance, told);
  if (status != Status::ok) return c_api::to_c(status);
  if (build::kLean) return c_api::to_c(session->session.tell_provenance(told));
  c_api::HandleMemory room(memory, bytes);
  auto* const own = room.take<Provenance>();
  if (own == nullptr) return OPDUMP_ERR_NO_MEMORY;
  return c_api::to_c(session->session.tell_provenance(*::new (own) Provenance(told)));
}

opdump_status opdump_note_build_id(const void* notes, std::size_t bytes, char text[65]) {
  if (text == nullptr || (notes == nullptr && bytes != 0)) return OPDUMP_ERR_INVALID_ARGUMENT;
  const std::string_view id = build_id_in({static_cast<const std::byte*>(notes), bytes},
                                          std::span<char, kMostBuildIdDigits>(text, kMostBuildIdDigits));
  text[id.size()] = '\0';
  return id.empty() ? OPDUMP_ERR_NOT_FOUND : OPDUMP_OK;
}

opdump_status opdump_config_digest(const void* config, std::size_t bytes, char text[9]) {
  if (text == nullptr || (config == nullptr && bytes != 0)) return OPDUMP_ERR_INVALID_ARGUMENT;
  static_cast<void>(config_digest({static_cast<const std::byte*>(config), bytes},
                                  std::span<char, kConfigDigestDigits>(text, kConfigDigestDigits)));
  text[kConfigDigestDigits] = '\0';
  return OPDUMP_OK;
}

}  // extern "C"
