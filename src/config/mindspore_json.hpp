#pragma once
#include "json_tree.hpp"
#include "opdump/arena.hpp"
#include "opdump/parse_config.hpp"
#include "refusal.hpp"

namespace opdump::config {

/// Reads MindSpore's data_dump.json, of which `root` is the outermost object, with the rules and the order of
/// checks of MindSpore 2.5 to 2.7: the first failure decides what is reported. On false, `config` is in no
/// useful state.
bool read_mindspore_json(const JsonNode& root, const ConfigContext& context, Arena& memory,
                         DumpConfig& config, Refusal& refusal);

}  // namespace opdump::config
