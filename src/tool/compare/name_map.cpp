#include "src/tool/compare/name_map.hpp"

#include <algorithm>

#include "src/tool/dump/mapped_file.hpp"

namespace opdump::tool {
namespace {

/// Where the names of a row are apart; npos when it is not plain.
std::size_t separator_of(std::string_view row) {
  const char separator = row.find('\t') != std::string_view::npos ? '\t' : ',';
  return std::count(row.begin(), row.end(), separator) == 1 ? row.find(separator) : std::string_view::npos;
}

}  // namespace

bool NameMap::load(const std::string& path, std::string& error) {
  MappedFile file;
  if (!file.open(path)) {
    error = file.error();
    return false;
  }
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), row.size() + 1));
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.empty() || row[0] == '#') continue;
    const std::size_t at = separator_of(row);
    const std::string here = path + ":" + std::to_string(number) + ": ";
    if (at == std::string_view::npos || at == 0 || at + 1 == row.size()) {
      error = here + "not a row 'name,golden name'; a tab may stand for the comma";
      return false;
    }
    if (!rows_.emplace(row.substr(0, at), row.substr(at + 1)).second) {
      error = here + "'" + std::string(row.substr(0, at)) + "' has a row already";
      return false;
    }
  }
  return true;
}

const std::string& NameMap::golden_name(const std::string& name) const {
  const auto row = rows_.find(name);
  return row == rows_.end() ? name : row->second;
}

}  // namespace opdump::tool
