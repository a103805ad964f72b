#pragma once
#include "json_tree.hpp"
#include "opdump/arena.hpp"
#include "opdump/parse_config.hpp"
#include "refusal.hpp"

namespace opdump::config {

/// Reads the `dump_config` object of `root`: torchair's options, each with torchair's checks, in the order in
/// which they stand there. On false, `config` is in no useful state.
bool read_torchair_json(const JsonNode& root, const ConfigContext& context, Arena& memory,
                        DumpPathCheck check_path, DumpConfig& config, Refusal& refusal);

}  // namespace opdump::config
