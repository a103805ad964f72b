#pragma once
#include "json_tree.hpp"
#include "opdump/arena.hpp"
#include "opdump/parse_config.hpp"
#include "refusal.hpp"

namespace opdump::config {

/// Reads the `dump` object of CANN's acl.json, with the rules and the order of checks of CANN's server
/// implementation: the first failure decides what is reported. On false, `config` is in no useful state.
bool read_acl_json(const JsonNode& dump, Arena& memory, DumpPathCheck check_path, DumpConfig& config,
                   Refusal& refusal);

}  // namespace opdump::config
