#pragma once
#include <optional>
#include <string_view>

#include "opdump/base/status.hpp"
#include "opdump/config/parse.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The options of torchair's `config.dump_config`, under their names and with their defaults.
struct TorchairConfig {
  bool enable_dump = false;
  std::string_view dump_path = "./";  ///< a directory that exists; the dump lies in its rank folder
  std::string_view dump_mode = "all";
  bool quant_dumpable = false;  ///< no effect here: the model's compiler follows it
  std::string_view dump_step{};
  std::string_view dump_layer{};  ///< names of operators with blanks between; empty: every operator
  std::string_view dump_data = "tensor";
  std::optional<std::string_view> dump_config_path{};  ///< an acl.json to use instead of these options
  std::string_view data_dump_stage = "optimized";      ///< for aclgraph modes: no effect here
};

/// Turns `options` into the config that `{"dump_config": {...}}` with the same values would give. A refusal
/// has a key but no place. Otherwise as `parse_config`; the input has no text. Source: torchair's own checks.
[[nodiscard]] Status read_torchair_config(const TorchairConfig& options, const ConfigInput& input,
                                          ConfigOutcome& outcome);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
