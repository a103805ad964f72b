#include "src/tool/verify/table_rows.hpp"

#include <errno.h>
#include <sys/stat.h>
#include <algorithm>
#include <vector>

#include "opdump/impl/format/statistic_table.hpp"
#include "src/tool/read/dump/csv_file.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/mapped_file.hpp"

namespace opdump::tool {

std::string MappedNames::find(const std::string& full) {
  struct stat status {};
  if (look_at(full, status) || (errno != ENOENT && errno != ENAMETOOLONG)) return full;
  const std::size_t slash = full.rfind('/');
  const ByRealName& names = in(full.substr(0, slash));
  const auto found = names.find(full.substr(slash + 1));
  return found == names.end() ? full : full.substr(0, slash + 1) + found->second;
}

const MappedNames::ByRealName& MappedNames::in(const std::string& directory) {
  constexpr std::size_t kMostMappings = 16;
  const auto found = mappings_.find(directory);
  if (found != mappings_.end()) return found->second;
  if (mappings_.size() == kMostMappings) mappings_.clear();
  MappingFile mapping;
  // A row that cannot be read is told by the walk.
  static_cast<void>(mapping.read(path_of(directory, kMappingFileName)));
  ByRealName& names = mappings_[directory];
  for (const auto& [file, real] : mapping.rows()) names[real] = file;
  return names;
}

TableRows rows_of(const std::string& path) {
  MappedFile file;
  if (!file.open(path)) return {};
  const std::string_view text = as_text(file.bytes());
  const std::size_t header_end = text.find('\n');
  if (header_end == text.npos) return {};
  const std::string_view rows = text.substr(header_end + 1);
  return {rows.size(), static_cast<std::uint64_t>(std::count(rows.begin(), rows.end(), '\n'))};
}

void for_each_row(const std::string& file, std::string_view path,
                  const std::function<void(const std::string& row_path)>& use) {
  // Type, name, task, stream, time, role and index; no table tells the format, which each file's name has.
  constexpr std::size_t kNamed = 7;
  CsvFile table;
  std::vector<std::string> cells;
  if (!table.open(file) || !table.next(cells)) return;
  while (table.next(cells)) {
    if (cells.size() < kNamed) continue;
    std::string row_path(path.substr(0, path.rfind('/') + 1));
    for (std::size_t i = 0; i < kNamed; ++i) row_path += cells[i] + '.';
    use(row_path + "ND.npy");
  }
}

bool is_table(std::string_view path) {
  return path.substr(path.rfind('/') + 1) == kStatisticTableName;
}

}  // namespace opdump::tool
