#pragma once
#include <string>
#include <vector>

namespace opdump::tool {

/// What `opdump check` says of the config that a dump was asked for with.
struct ConfigFacts {
  std::string file;  ///< empty: none was named
  bool valid = false;
  bool active = false;
  std::vector<std::string> lines{};  ///< what it means, or why it is refused
  std::vector<std::string> notes{};  ///< keys without effect, and the like
};

/// Reads a config of another machine: the directory to dump to need not be there.
ConfigFacts read_config_facts(const std::string& file);

}  // namespace opdump::tool
