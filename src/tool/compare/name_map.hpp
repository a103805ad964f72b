#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

namespace opdump::tool {

/// What the operators of one dump are called in another: the rows `name,golden name` of a file.
class NameMap {
 public:
  /// Reads `path`: one row per line, the names apart by the line's only tab or else its only comma; empty
  /// lines and those that begin with '#' tell nothing. On false `error` says what is wrong, and where.
  bool load(const std::string& path, std::string& error);

  /// `name` itself where there is no row.
  const std::string& golden_name(const std::string& name) const;

 private:
  std::unordered_map<std::string, std::string> rows_;
};

}  // namespace opdump::tool
