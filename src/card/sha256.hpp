#pragma once
#include <string>

#include "opdump/base/bytes.hpp"

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {

/// The SHA-256 digest as 64 hexadecimal digits. Source: FIPS 180-4.
std::string sha256(Bytes bytes);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
