#pragma once
#include <string_view>

#include "opdump/base/arena.hpp"
#include "opdump/config/parse.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads a compiled plan, which is copied into `memory`.
bool read_plan(std::string_view text, Arena& memory, DumpPathCheck check_path, DumpConfig& config,
               Refusal& refusal);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
