#include "src/tool/judge/compare/compare_name.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {
namespace {

/// Where "input" or "output" stands with a number behind it, as far back as possible; nothing without.
std::optional<std::size_t> role_at(const std::vector<std::string_view>& parts) {
  for (std::size_t i = parts.size(); i-- > 2;) {
    if ((parts[i - 1] == "input" || parts[i - 1] == "output") && parse_decimal(parts[i])) return i - 1;
  }
  return std::nullopt;
}

std::uint32_t index_of(std::string_view text) {
  const std::uint64_t number = parse_decimal(text).value_or(0);
  return number <= std::numeric_limits<std::uint32_t>::max() ? static_cast<std::uint32_t>(number) : 0;
}

/// `{model}/{step}/{type}.{name}/{role}.{index}`, where the model may be missing, and another part with a number
/// may stand before the role. Nothing when it is not of that form.
std::optional<NpyName> parse_export_key(std::string_view key) {
  std::vector<std::string_view> parts;
  for (std::size_t slash; (slash = key.find('/')) != std::string_view::npos; key.remove_prefix(slash + 1))
    parts.push_back(key.substr(0, slash));
  const std::size_t dot = key.find('.');
  const std::string_view role = key.substr(0, dot);
  if (dot == std::string_view::npos || (role != "input" && role != "output") ||
      !parse_decimal(key.substr(dot + 1)))
    return std::nullopt;
  NpyName name;
  name.is_output = role == "output";
  name.index = index_of(key.substr(dot + 1));
  const auto is_step = [&parts](std::size_t part) {
    return part < parts.size() && parse_decimal(parts[part]);
  };
  const std::size_t step = is_step(0) && (parts.size() == 2 || (parts.size() == 3 && is_step(2))) ? 0 : 1;
  const std::size_t behind = parts.size() - std::min(parts.size(), step + 1);
  if (!is_step(step) || behind < 1 || behind > 2 || (behind == 2 && !is_step(step + 2))) return std::nullopt;
  if (step != 0) {
    name.model = parts[0];
    name.step = parse_decimal(parts[1]);
  }
  const std::string_view op = parts[step + 1];
  const std::size_t type = op.find('.');
  if (type != std::string_view::npos) name.type = op.substr(0, type);
  name.op = type == std::string_view::npos ? op : op.substr(type + 1);
  return name;
}

}  // namespace

NpyName parse_array_name(std::string_view file_name) {
  if (const std::optional<NpyName> exported = parse_export_key(file_name)) return *exported;
  constexpr std::string_view kSuffix = ".npy";
  if (file_name.ends_with(kSuffix)) file_name.remove_suffix(kSuffix.size());
  NpyName name;
  name.op = file_name;
  const std::vector<std::string_view> parts = parts_of(file_name);
  const auto before = [&](std::size_t part) {
    return part == 0
               ? std::string_view()
               : file_name.substr(0, static_cast<std::size_t>(parts[part].data() - file_name.data()) - 1);
  };
  if (const std::optional<std::size_t> role = role_at(parts)) {
    name.is_output = parts[*role] == "output";
    name.index = index_of(parts[*role + 1]);
    const std::string_view front = before(*role);
    const std::optional<RecordName> record = parse_record_name(front);
    name.op = record ? record->name : front;
    if (record) {
      name.type = record->type;
      name.unix_us = record->unix_us;
      name.task = record->task;
    }
    return name;
  }
  // NAME.index.time, where the name may hold dots.
  if (parts.size() >= 3) {
    const std::optional<std::uint64_t> index = parse_decimal(parts[parts.size() - 2]);
    const std::optional<std::uint64_t> time = parse_decimal(parts[parts.size() - 1]);
    if (index && time) {
      name.op = before(parts.size() - 2);
      name.index = index_of(parts[parts.size() - 2]);
      name.unix_us = *time;
    }
  }
  return name;
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t dot; (dot = text.find('.')) != std::string_view::npos; text.remove_prefix(dot + 1))
    parts.push_back(text.substr(0, dot));
  parts.push_back(text);
  return parts;
}

}  // namespace opdump::tool
