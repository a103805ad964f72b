#pragma once
#include <cstddef>
#include <string_view>

#include "opdump/knobs.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Bytes of the decimal digit, of whatever script, that `text` begins with; 0: it begins with none. That is
/// what Python's \d takes. `text` is UTF-8.
std::size_t digit_bytes(std::string_view text);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
