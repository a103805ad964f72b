#pragma once
#include <cstddef>
#include <new>
#include <span>

#include "opdump/opdump.h"
#include "opdump/port/sealer.hpp"
#include "src/c_api/handles.hpp"

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {

static_assert(OPDUMP_SEAL_KEY_BYTES == kSealKeyBytes && OPDUMP_SEAL_NONCE_BYTES == kSealNonceBytes &&
              OPDUMP_SEAL_TAG_BYTES == kSealTagBytes);

/// A sealer of a class, as C has it: `end` destroys it.
template <class Own>
struct SealerPort {
  static Sealer& of(void* own) { return *static_cast<Own*>(own); }

  static opdump_status begin(void* own, const std::uint8_t* recipient, std::uint8_t* ephemeral) {
    return to_c(of(own).begin(
        SealKey(reinterpret_cast<const std::byte*>(recipient), kSealKeyBytes),
        std::span<std::byte, kSealKeyBytes>(reinterpret_cast<std::byte*>(ephemeral), kSealKeyBytes)));
  }

  static opdump_status seal(void* own, const std::uint8_t* nonce, const void* associated,
                            std::size_t associated_bytes, void* chunk, std::size_t chunk_bytes) {
    return to_c(of(own).seal(SealNonce(reinterpret_cast<const std::byte*>(nonce), kSealNonceBytes),
                             {static_cast<const std::byte*>(associated), associated_bytes},
                             {static_cast<std::byte*>(chunk), chunk_bytes}));
  }

  static void end(void* own) { static_cast<Own*>(own)->~Own(); }
};

/// Room for a sealer and the place that its struct goes to; `invalid_argument` or `no_memory`.
template <class Own>
Status room_of_sealer(void* memory, std::size_t bytes, const opdump_sealer* sealer, std::size_t sealer_bytes,
                      Own*& place) {
  if (sealer == nullptr || sealer_bytes < sizeof(opdump_sealer)) return Status::invalid_argument;
  HandleMemory room(memory, bytes);
  place = room.take<Own>();
  return room.full() ? Status::no_memory : Status::ok;
}

/// Fills the caller's struct with what calls `own`.
template <class Own>
Status give_sealer(Own& own, opdump_sealer* sealer, std::size_t sealer_bytes) {
  const opdump_sealer port = {.struct_bytes = sizeof port,
                              .context = &own,
                              .begin = &SealerPort<Own>::begin,
                              .seal = &SealerPort<Own>::seal,
                              .end = &SealerPort<Own>::end};
  return give_struct(port, sealer, sealer_bytes);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api
