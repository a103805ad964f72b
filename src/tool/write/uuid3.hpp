#pragma once
#include <string>
#include <string_view>

namespace opdump::tool {

/// The 32 hexadecimal digits of the version 3 UUID of `name` in the DNS namespace (RFC 4122), without dashes.
std::string uuid3_dns(std::string_view name);

}  // namespace opdump::tool
