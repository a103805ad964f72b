#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "opdump/config/parse.hpp"
#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// The reader of compiled plans.
struct PlanReader {
  bool (*is_one)(std::string_view text);
  bool (*read)(std::string_view text, Arena& memory, DumpPathCheck check_path, DumpConfig& config,
               Refusal& refusal);
};

/// The readers of what a program reads. A null reader is not linked, and a text for it is refused.
struct LinkedDialects {
  const PlanReader* plan = nullptr;
  bool (*acl)(const JsonNode& dump, bool keeps_history, bool nano, Arena& memory, DumpPathCheck check_path,
              DumpConfig& config, Refusal& refusal) = nullptr;
  bool (*mindspore)(const JsonNode& root, const ConfigContext& context, Arena& memory, DumpConfig& config,
                    Refusal& refusal) = nullptr;
  bool (*torchair)(const JsonNode& root, const ConfigContext& context, Arena& memory,
                   DumpPathCheck check_path, DumpConfig& config, Refusal& refusal) = nullptr;
  bool (*lite)(const JsonNode& root, Arena& memory, DumpConfig& config, Refusal& refusal) = nullptr;
  bool only_acl = false;  ///< the program, not the build, leaves the others out
};

/// Whether this build has the reader of `dialect`.
constexpr bool is_built(ConfigDialect dialect) {
  return (OPDUMP_DIALECTS >> (static_cast<unsigned>(dialect) - 1) & 1) != 0;
}

/// Why a text of `dialect`, which is not linked, is refused.
std::string unlinked_text(ConfigDialect dialect, const LinkedDialects& linked);

/// As `parse_config`, with the readers of `linked`.
Status parse_linked(std::string_view text, const LinkedDialects& linked, Arena& memory,
                    DumpPathCheck check_path, DumpConfig& config, ConfigError& error,
                    std::vector<ConfigNote>* notes, const ConfigContext& context);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
