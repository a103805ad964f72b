#include "opdump/config/torchair.hpp"

#include "src/config/config_reader.hpp"
#include "src/config/torchair/torchair_json.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

Status read_torchair_config([[maybe_unused]] const TorchairConfig& options, const ConfigInput& input,
                            ConfigOutcome& outcome) {
  return config::finish(input, outcome, [&](config::Reading& reading) {
    if constexpr (config::is_built(ConfigDialect::torchair))
      return config::read_torchair_options(options, reading);
    else
      return reading.refuse(ConfigFault::not_in_list, 0, "dump_config",
                            config::unlinked_text(ConfigDialect::torchair, {}));
  });
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
