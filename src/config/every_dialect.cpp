#include "opdump/config/parse.hpp"
#include "src/config/blob/plan.hpp"
#include "src/config/cann/acl_json.hpp"
#include "src/config/config_reader.hpp"
#include "src/config/lite/lite_json.hpp"
#include "src/config/mindspore/mindspore_json.hpp"
#include "src/config/torchair/torchair_json.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

// In a file of its own, so that a program that calls only `parse_acl_config` links no other dialect.
Status parse_config(const ConfigInput& input, ConfigOutcome& outcome) {
  static constexpr config::PlanReader kPlan = {is_plan, config::read_plan};
  static constexpr config::LinkedDialects kLinked = [] {
    config::LinkedDialects linked = {.plan = &kPlan};
    if constexpr (config::is_built(ConfigDialect::acl)) linked.acl = config::read_acl_json;
    if constexpr (config::is_built(ConfigDialect::mindspore)) linked.mindspore = config::read_mindspore_json;
    if constexpr (config::is_built(ConfigDialect::torchair)) linked.torchair = config::read_torchair_json;
    if constexpr (config::is_built(ConfigDialect::mindspore_lite)) linked.lite = config::read_lite_json;
    return linked;
  }();
  return config::parse_linked(kLinked, input, outcome);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
