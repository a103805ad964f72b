#pragma once
#include "opdump/base/arena.hpp"
#include "opdump/config/parse.hpp"
#include "opdump/config/torchair.hpp"
#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads the `dump_config` object of `root`: torchair's options, each with torchair's checks, in the order of
/// the object. On false, `config` is in no useful state.
bool read_torchair_json(const JsonNode& root, const ConfigContext& context, Arena& memory,
                        DumpPathCheck check_path, DumpConfig& config, Refusal& refusal);

/// As `read_torchair_config`.
bool read_torchair_options(const TorchairConfig& options, const ConfigContext& context, Arena& memory,
                           DumpPathCheck check_path, DumpConfig& config, Refusal& refusal);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
