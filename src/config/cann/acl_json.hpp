#pragma once
#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads the `dump` object of CANN's acl.json, with the rules and the order of checks of CANN's server
/// implementation: the first failure decides what is reported. With `keeps_history` the listed operators
/// count as well as overflows. On false, the config is in no useful state.
bool read_acl_json(const JsonNode& dump, bool keeps_history, Reading& reading);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
