#pragma once
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace opdump::tool {

/// The names that operators of one dump have in another dump: the rows `name,golden name` of a file, or those
/// of msprobe's data_mapping.yaml.
class NameMap {
 public:
  /// Reads `path`: one row per line, with the names separated by the line's only tab, or else its only comma.
  /// Empty lines and lines that begin with '#' are skipped. In a file whose name ends in `.yaml` or `.yml` a
  /// row is `name: golden name`; names of msprobe's tensors, as "Cell.conv1.Conv2d.forward.0.input.0", stand
  /// for their operators, and have to be the same input or output on both sides. On false `error` says what
  /// is wrong, and where.
  bool load(const std::string& path, std::string& error);

  /// `name` itself if it has no row.
  const std::string& golden_name(const std::string& name) const;

  /// Names, in the order of their bytes, that no operator of a dump has.
  template <class Files>
  std::set<std::string> unmatched(const Files& files) const {
    std::set<std::string> names;
    for (const auto& [name, golden] : rows_) names.insert(name);
    for (const auto& file : files) names.erase(file.op);
    return names;
  }

 private:
  std::unordered_map<std::string, std::string> rows_;
};

}  // namespace opdump::tool
