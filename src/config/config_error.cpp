#include "opdump/parse_config.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

std::string to_string(const ConfigError& error, std::string_view file) {
  std::string text(file);
  text += ':' + std::to_string(error.line) + ':' + std::to_string(error.column) + ": ";
  if (!error.key.empty()) text += error.key + ": ";
  return text + error.reason;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
