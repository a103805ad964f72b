#pragma once
#include <map>
#include <string>
#include <unordered_map>

namespace opdump::tool {

/// Where the files of a dump are whose real names their file system did not take. Keeps what the latest
/// `mapping.csv` files say.
class MappedNames {
 public:
  /// Where the file is whose path a journal tells: `full`, or the name that `mapping.csv` beside it has for
  /// it.
  std::string find(const std::string& full);

 private:
  using ByRealName = std::unordered_map<std::string, std::string>;

  const ByRealName& in(const std::string& directory);

  std::map<std::string, ByRealName> mappings_;  ///< by directory
};

}  // namespace opdump::tool
