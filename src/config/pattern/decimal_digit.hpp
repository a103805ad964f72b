#pragma once
#include <cstddef>
#include <string_view>

#include "opdump/knobs.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Bytes of the decimal digit, of any script, at the beginning of `text`, which is UTF-8; 0: there is none.
/// Python's \d takes the same digits.
std::size_t digit_bytes(std::string_view text);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
