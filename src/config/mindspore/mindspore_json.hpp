#pragma once
#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads MindSpore's data_dump.json, whose outermost object is `root`, with the rules and the order of checks of
/// MindSpore 2.5 to 2.7: the first failure decides what is reported. On false, the config is in no useful state.
bool read_mindspore_json(const JsonNode& root, Reading& reading);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
