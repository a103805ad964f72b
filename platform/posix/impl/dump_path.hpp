#pragma once
#include <string>
#include <string_view>

#include "opdump/knobs.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Whether `dump_path` is an existing directory that this process may list and write to; on `false`, `reason` names
/// the path and what to do. A relative path starts at the current directory. A `DumpPathCheck` for `parse_config`.
bool check_dump_path(std::string_view dump_path, std::string& reason);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
