#include "opdump/config/torchair.hpp"

#include "src/config/config_reader.hpp"
#include "src/config/torchair/torchair_json.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

Status read_torchair_config([[maybe_unused]] const TorchairConfig& options, [[maybe_unused]] Arena& memory,
                            [[maybe_unused]] DumpPathCheck check_path, DumpConfig& config, ConfigError& error,
                            std::vector<ConfigNote>* notes, [[maybe_unused]] const ConfigContext& context) {
  return config::finish({}, config, error, notes, [&](DumpConfig& read, config::Refusal& refusal) {
    if constexpr (config::is_built(ConfigDialect::torchair))
      return config::read_torchair_options(options, context, memory, check_path, read, refusal);
    else
      return static_cast<void>(read), refusal.refuse(ConfigFault::not_in_list, 0, "dump_config",
                                                     config::unlinked_text(ConfigDialect::torchair, {}));
  });
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
