#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

namespace opdump::tool {

/// The names that operators of one dump have in another dump: the rows `name,golden name` of a file.
class NameMap {
 public:
  /// Reads `path`: one row per line, with the names separated by the line's only tab, or else its only comma.
  /// Empty lines and lines that begin with '#' are skipped. On false `error` says what is wrong, and where.
  bool load(const std::string& path, std::string& error);

  /// `name` itself if it has no row.
  const std::string& golden_name(const std::string& name) const;

 private:
  std::unordered_map<std::string, std::string> rows_;
};

}  // namespace opdump::tool
