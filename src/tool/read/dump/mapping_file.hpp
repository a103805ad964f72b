#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

namespace opdump::tool {

inline constexpr std::string_view kMappingFileName = "mapping.csv";

/// The rows `file name,real name` of one `mapping.csv`: files whose real names the file system did not take.
class MappingFile {
 public:
  /// Reads `path`; a missing file has no rows. Returns what is wrong with the file; empty: nothing is. Keeps
  /// all rows that can be read, except real names that would leave their directory.
  std::string read(const std::string& path);

  /// The real name of the file `name`; `name` itself if it has no row.
  std::string real_name(const std::string& name) const;

  /// From file name to real name.
  const std::unordered_map<std::string, std::string>& rows() const { return rows_; }

 private:
  std::unordered_map<std::string, std::string> rows_;
};

}  // namespace opdump::tool
