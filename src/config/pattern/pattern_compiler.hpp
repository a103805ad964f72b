#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "opdump/base/arena.hpp"
#include "opdump/types/name_pattern.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Most bytes that the program of a pattern of `characters` characters may take, so that a config's memory
/// stays bounded by its text.
constexpr std::size_t pattern_program_bytes(std::size_t characters) {
  return 192 + 15 * characters;
}

/// Compiles `text`, a regular expression in ECMAScript's grammar, into `memory`; the whole of a name must match.
/// Understands characters, `.`, `[...]` with ranges, `[:alpha:]` and the like, and `^`; `\d \w \s` and their
/// capitals, `\t \n \v \f \r \0 \xHH \uHHHH` up to 7f, a backslash before a sign; `( )`, `(?: )`, `|`, `* + ? {n}
/// {n,} {n,m}` and their lazy forms, `^`, `$`. `invalid_argument` and a `reason` for the rest of the grammar (looking
/// ahead, `\b`, references to groups), for a text that is not a regular expression, and for programs of more than
/// `kMaxNameSteps` steps or `pattern_program_bytes`; `no_memory` when it does not fit.
Result<NamePattern> compile_pattern(std::string_view text, Arena& memory, std::string& reason);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
