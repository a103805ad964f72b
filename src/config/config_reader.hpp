#pragma once
#include <string>
#include <string_view>

#include "opdump/config/parse.hpp"
#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// The reader of compiled plans.
struct PlanReader {
  bool (*is_one)(std::string_view text);
  bool (*read)(Reading& reading);
};

/// The readers of what a program reads. A null reader is not linked, and a text for it is refused.
struct LinkedDialects {
  const PlanReader* plan = nullptr;
  bool (*acl)(const JsonNode& dump, bool keeps_history, Reading& reading) = nullptr;
  bool (*mindspore)(const JsonNode& root, Reading& reading) = nullptr;
  bool (*torchair)(const JsonNode& root, Reading& reading) = nullptr;
  bool (*lite)(const JsonNode& root, Reading& reading) = nullptr;
  bool only_acl = false;  ///< the program, not the build, leaves the others out
};

/// Whether this build has the reader of `dialect`.
constexpr bool is_built(ConfigDialect dialect) {
  return (OPDUMP_DIALECTS >> (static_cast<unsigned>(dialect) - 1) & 1) != 0;
}

/// Why a text of `dialect`, which is not linked, is refused.
std::string unlinked_text(ConfigDialect dialect, const LinkedDialects& linked);

/// As `parse_config`, with the readers of `linked`.
Status parse_linked(const LinkedDialects& linked, const ConfigInput& input, ConfigOutcome& outcome);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
