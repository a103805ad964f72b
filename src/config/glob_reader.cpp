#include "src/config/glob_reader.hpp"

#include <algorithm>

#include "opdump/impl/plan/privacy.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

bool GlobReader::read_pattern(const JsonNode& node, const KeyPath& at, NamePattern& to) {
  if (!check_type(&node, JsonType::string, at)) return false;
  const std::string_view text = node.text();
  if (text.empty()) return empty(node, at, ": leave the key out to mean every name");
  return copy(text, to.text) || no_memory(node, at);
}

/// Models that no entry names may come all the same where an entry is for every model.
bool GlobReader::knows_model(std::span<const NamePattern> pattern, const DumpConfig& config) {
  if (config.models.empty()) return true;
  return std::any_of(config.models.begin(), config.models.end(), [pattern](const ModelRule& model) {
    return model.any_model || takes_name(pattern, model.model_name);
  });
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
