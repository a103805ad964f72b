#pragma once
#include <span>
#include <string_view>

namespace opdump::tool {

/// A key of a config, for people. A name may stand for keys of several dialects.
struct ConfigKey {
  std::string_view name;
  std::string_view what;
  std::string_view in;  ///< the object and the dialect
  std::string_view values;
  std::string_view otherwise;
};

/// All that is read, those of one object after one another.
std::span<const ConfigKey> config_keys();

}  // namespace opdump::tool
