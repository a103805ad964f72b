#include "src/tool/judge/compare/name_map.hpp"

#include <optional>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/judge/compare/msprobe_dump.hpp"
#include "src/tool/read/dump/mapped_file.hpp"
#include "src/tool/read/dump/text_lines.hpp"

namespace opdump::tool {
namespace {

using Names = std::optional<std::pair<std::string, std::string>>;

/// Nothing where it is not plain what they are.
Names names_of(std::string_view row) {
  std::vector<std::string> cells;
  const bool good = split_row(row, row.find('\t') != std::string_view::npos ? '\t' : ',', cells);
  if (!good || cells.size() != 2) return std::nullopt;
  return std::pair(cells[0], cells[1]);
}

std::string trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const bool quoted = text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
  return std::string(quoted ? text.substr(1, text.size() - 2) : text);
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
  if (is_utf16(as_text(file.bytes()))) {
    error = path + ": is UTF-16: save it as UTF-8";
    return false;
  }
  TextLines lines(as_text(file.bytes()));
  for (std::string_view row; lines.next(row);) {
    if (row.empty() || row[0] == '#') continue;
    const Names names = is_yaml ? names_of_yaml(row) : names_of(row);
    const std::string here = path + ":" + std::to_string(lines.number()) + ": ";
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
    const std::string name = is_yaml ? op_of(names->first, role) : names->first;
    const std::string golden = is_yaml ? op_of(names->second, role) : names->second;
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
