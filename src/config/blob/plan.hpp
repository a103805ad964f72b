#pragma once
#include <string_view>

#include "opdump/base/arena.hpp"
#include "opdump/config/parse.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Copies a compiled plan into `memory` and reads it there.
bool read_plan(std::string_view text, Arena& memory, DumpPathCheck check_path, DumpConfig& config,
               Refusal& refusal);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
