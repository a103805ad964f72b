#include "opdump/config/parse.hpp"
#include "src/config/cann/acl_json.hpp"
#include "src/config/config_reader.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

Status parse_acl_config(const ConfigInput& input, ConfigOutcome& outcome) {
  static constexpr config::LinkedDialects kLinked = [] {
    config::LinkedDialects linked;
    if constexpr (config::is_built(ConfigDialect::acl)) linked.acl = config::read_acl_json;
    linked.only_acl = linked.acl != nullptr;
    return linked;
  }();
  return config::parse_linked(kLinked, input, outcome);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
