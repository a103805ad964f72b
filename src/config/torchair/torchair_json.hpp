#pragma once
#include "opdump/config/torchair.hpp"
#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads the `dump_config` object of `root`: torchair's options, each with torchair's checks, in the order of
/// the object. On false, the config is in no useful state.
bool read_torchair_json(const JsonNode& root, Reading& reading);

/// As `read_torchair_config`.
bool read_torchair_options(const TorchairConfig& options, Reading& reading);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
