#pragma once
#include "opdump/base/arena.hpp"
#include "opdump/types/config.hpp"
#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads the "common_dump_settings" of `root` as the benchmark tool of MindSpore Lite does. Values that make
/// that tool end when the first operator runs are refused here. On false, `config` is in no useful state.
bool read_lite_json(const JsonNode& root, Arena& memory, DumpConfig& config, Refusal& refusal);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
