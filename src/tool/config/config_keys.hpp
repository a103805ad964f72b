#pragma once
#include <span>
#include <string_view>

namespace opdump::tool {

/// The description of a config's key. Several dialects may have a key of the same name.
struct ConfigKey {
  std::string_view name;
  std::string_view what;
  std::string_view in;  ///< the object and the dialect
  std::string_view values;
  std::string_view otherwise;
};

/// All keys that are read, grouped by object.
std::span<const ConfigKey> config_keys();

}  // namespace opdump::tool
