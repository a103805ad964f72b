#pragma once
#include <string_view>

#include "opdump/types/trigger.hpp"
#include "src/config/glob_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads "trigger" and "trigger_limits" of the "opdump" object, whose other keys have been read. Strict: a
/// trigger that is not understood, or that can never fire or always does, refuses the config.
class TriggerJson : GlobReader {
 public:
  TriggerJson(const JsonNode& options, Reading& reading) : GlobReader(reading), options_(options) {}

  bool read(DumpConfig& config);

 private:
  bool read_limits(const JsonNode& node, DumpOptions& options);
  bool check_config(const JsonNode& list, const DumpConfig& config);
  bool check_keys(const JsonNode& node, const KeyPath& at);
  bool read_rule(const JsonNode& node, const KeyPath& at, const DumpConfig& config, TriggerRule& rule);
  bool read_cause(const JsonNode& node, const KeyPath& at, TriggerRule& rule, TriggerNumbers& numbers);
  bool read_names(const JsonNode& node, const KeyPath& at, const DumpConfig& config, TriggerRule& rule,
                  TriggerCause cause);
  bool read_tensor(const JsonNode& node, const KeyPath& at, TriggerNumbers& numbers);
  bool read_bounds(const JsonNode& node, const KeyPath& at, TriggerRule& rule, TriggerNumbers& numbers);
  bool read_real(const JsonNode& node, const KeyPath& at, double& number);
  bool read_counts(const JsonNode& node, const KeyPath& at, TriggerRule& rule, TriggerCause cause);
  /// Refuses the first of `keys` that `node` has.
  bool has_none(const JsonNode& node, const KeyPath& at, std::initializer_list<std::string_view> keys,
                std::string_view why);

  const JsonNode& options_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
