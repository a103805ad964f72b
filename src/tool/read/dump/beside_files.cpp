#include "src/tool/read/dump/beside_files.hpp"

#include <dirent.h>
#include <algorithm>
#include <memory>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {

std::optional<BesideName> parse_beside_name(std::string_view name, std::string_view suffix) {
  constexpr std::string_view kPrefix = "opdump.";
  constexpr std::size_t kMostNumbers = 3;
  if (!name.starts_with(kPrefix) || !name.ends_with(suffix) || name.size() <= kPrefix.size() + suffix.size())
    return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(suffix.size());
  std::uint64_t numbers[kMostNumbers] = {};
  std::size_t count = 0;
  for (std::string_view rest = name;; rest.remove_prefix(rest.find('.') + 1)) {
    const std::optional<std::uint64_t> number = parse_decimal(rest.substr(0, rest.find('.')));
    if (!number || count == kMostNumbers) return std::nullopt;
    numbers[count++] = *number;
    if (rest.find('.') == rest.npos) break;
  }
  if (count < 2) return std::nullopt;
  return BesideName{numbers[0], numbers[1]};
}

std::vector<std::string> names_in(const std::string& directory,
                                  const std::function<bool(std::string_view name)>& fits) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.empty() ? "." : directory.c_str()),
                                                 closedir);
  std::vector<std::string> names;
  while (const dirent* entry = open == nullptr ? nullptr : readdir(open.get())) {
    if (fits(entry->d_name)) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

std::vector<std::string> beside_names(const std::string& directory, std::string_view suffix) {
  return names_in(directory,
                  [suffix](std::string_view name) { return parse_beside_name(name, suffix).has_value(); });
}

}  // namespace opdump::tool
