#pragma once
#include <string>
#include <string_view>

#include "opdump/config/parse.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Checks a `dump_path` that is not empty, and copies the directory it names into the input's memory: the path itself
/// or, for the form `a.b.c.d:path`, the path below the current directory, which need not exist; the address
/// is not used. `invalid_argument` and a `reason` for a wrong path, `no_memory` when the copy does not fit.
Result<std::string_view> parse_dump_path(std::string_view text, const ConfigInput& input,
                                         std::string& reason);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
