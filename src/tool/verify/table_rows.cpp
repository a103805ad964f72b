#include "src/tool/verify/table_rows.hpp"

#include <algorithm>

#include "opdump/impl/format/statistic_table.hpp"
#include "src/tool/dump/mapped_file.hpp"

namespace opdump::tool {

TableRows rows_of(const std::string& path) {
  MappedFile file;
  if (!file.open(path)) return {};
  const std::string_view text = as_text(file.bytes());
  const std::size_t header_end = text.find('\n');
  if (header_end == text.npos) return {};
  const std::string_view rows = text.substr(header_end + 1);
  return {rows.size(), static_cast<std::uint64_t>(std::count(rows.begin(), rows.end(), '\n'))};
}

bool is_table(std::string_view path) {
  return path.ends_with(kStatisticTableName) &&
         path.substr(0, path.size() - kStatisticTableName.size()).ends_with('/');
}

}  // namespace opdump::tool
