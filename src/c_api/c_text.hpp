#pragma once
#include <algorithm>
#include <cstddef>
#include <string_view>

#include "opdump/knobs.hpp"

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {

/// Fills `to` with the first bytes of `text`, `bytes` at most, a zero among them at the end, and returns the
/// size of the whole, without the zero. `to` may be null, where nothing is filled.
inline std::size_t give_text(std::string_view text, char* to, std::size_t bytes) {
  if (to == nullptr || bytes == 0) return text.size();
  const std::size_t kept = std::min(text.size(), bytes - 1);
  std::copy_n(text.data(), kept, to);
  to[kept] = '\0';
  return text.size();
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api
