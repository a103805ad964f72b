#pragma once
#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads the "common_dump_settings" of `root` as the benchmark tool of MindSpore Lite does. Values that make
/// that tool end when the first operator runs are refused here. On false, the config is in no useful state.
bool read_lite_json(const JsonNode& root, Reading& reading);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
