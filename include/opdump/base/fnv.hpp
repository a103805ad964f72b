#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/base/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325;

/// The 64-bit FNV-1a hash. `hash` is the hash of the text before `text`; kFnvStart: there is none.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = kFnvStart) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
