#include "src/tool/judge/compare/name_map.hpp"

#include <algorithm>
#include <optional>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/judge/compare/msprobe_dump.hpp"
#include "src/tool/read/dump/mapped_file.hpp"

namespace opdump::tool {
namespace {

using Names = std::optional<std::pair<std::string_view, std::string_view>>;

/// Nothing where it is not plain what they are.
Names names_of(std::string_view row) {
  const char separator = row.find('\t') != std::string_view::npos ? '\t' : ',';
  if (std::count(row.begin(), row.end(), separator) != 1) return std::nullopt;
  const std::size_t at = row.find(separator);
  return std::pair(row.substr(0, at), row.substr(at + 1));
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const bool quoted = text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
  return quoted ? text.substr(1, text.size() - 2) : text;
}

Names names_of_yaml(std::string_view row) {
  const std::size_t at = row.find(": ");
  if (at == std::string_view::npos || row.find(": ", at + 1) != std::string_view::npos) return std::nullopt;
  return std::pair(trimmed(row.substr(0, at)), trimmed(row.substr(at + 1)));
}

/// "output.0" of "Cell.conv1.Conv2d.forward.0.output.0"; empty: the name is none of a tensor.
std::string_view role_of(std::string_view name) {
  for (const std::string_view word : {".input.", ".output."}) {
    const std::size_t at = name.rfind(word);
    if (at != std::string_view::npos && parse_decimal(name.substr(at + word.size())))
      return name.substr(at + 1);
  }
  return {};
}

std::string op_of(std::string_view name, std::string_view role) {
  if (!role.empty()) name.remove_suffix(role.size() + 1);
  return parse_msprobe_name(name).op;
}

}  // namespace

bool NameMap::load(const std::string& path, std::string& error) {
  MappedFile file;
  if (!file.open(path)) {
    error = file.error();
    return false;
  }
  const bool is_yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), row.size() + 1));
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.empty() || row[0] == '#') continue;
    const Names names = is_yaml ? names_of_yaml(row) : names_of(row);
    const std::string here = path + ":" + std::to_string(number) + ": ";
    if (!names || names->first.empty() || names->second.empty()) {
      error = here + (is_yaml ? "not a row 'name: golden name'"
                              : "not a row 'name,golden name'; a tab may stand for the comma");
      return false;
    }
    const std::string_view role = is_yaml ? role_of(names->first) : std::string_view();
    if (is_yaml && role != role_of(names->second)) {
      error = here + "an input or output goes with another one; only operators go together";
      return false;
    }
    const std::string name = is_yaml ? op_of(names->first, role) : std::string(names->first);
    const std::string golden = is_yaml ? op_of(names->second, role) : std::string(names->second);
    const auto [known, is_new] = rows_.emplace(name, golden);
    if (!is_new && (!is_yaml || known->second != golden)) {
      error = here + "'" + name + "' has a row already";
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
