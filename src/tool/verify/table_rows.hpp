#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
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

/// Rows of a table of statistics, behind its header.
struct TableRows {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

/// Nothing when the table cannot be read.
TableRows rows_of(const std::string& path);

/// Calls `use(path)` for each row of the table in `file`, which lies at `path` in the dump, with the path
/// that a file of its tensor would have. Leaves out what is no row.
void for_each_row(const std::string& file, std::string_view path,
                  const std::function<void(const std::string& row_path)>& use);

/// Whether the file at that path of a dump is such a table.
bool is_table(std::string_view path);

}  // namespace opdump::tool
