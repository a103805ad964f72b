#pragma once
#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/parsed_config.hpp"

namespace opdump::tests {

/// The first word of a case's name may say which of MindSpore's ways it is for.
inline ConfigContext context_of(std::string_view name) {
  ConfigContext context;
  context.triggers = trigger_reader();
  if (name.starts_with("cpu_")) context.mindspore = MindSporeMode::cpu;
  if (name.starts_with("kernel_")) context.mindspore = MindSporeMode::kernel;
  if (name.starts_with("graph_")) context.mindspore = MindSporeMode::graph;
  if (name.starts_with("lite_")) context.dialect = ConfigDialect::mindspore_lite;
  return context;
}

/// An accepted config, and how it is to be read.
struct ConfigCase {
  std::string name;  ///< as "mindspore/accept/documented_o0"
  std::string text;
  ConfigContext context{};
};

/// All configs below `corpus` (tests/data/config) that are not refused, in order of their names.
inline std::vector<ConfigCase> accepted_configs(const std::filesystem::path& corpus) {
  std::vector<ConfigCase> cases;
  for (const std::string dialect : {"cann", "lite", "mindspore", "torchair"}) {
    for (const PackedConfig& config : read_packed_configs(corpus / (dialect + ".txt"))) {
      if (config.folder == "refuse") continue;
      ConfigContext context = context_of(config.name);
      context.privacy = privacy_reader();
      context.seal = seal_reader();
      context.triggers = trigger_reader();
      cases.push_back({dialect + '/' + config.folder + '/' + config.name, config.text, context});
    }
  }
  std::sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return cases;
}

}  // namespace opdump::tests
