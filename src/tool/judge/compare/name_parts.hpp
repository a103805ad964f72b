#pragma once
#include <string_view>
#include <vector>

namespace opdump::tool {

/// What lies between the dots of a name. Refers to it.
inline std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t dot; (dot = text.find('.')) != std::string_view::npos; text.remove_prefix(dot + 1))
    parts.push_back(text.substr(0, dot));
  parts.push_back(text);
  return parts;
}

}  // namespace opdump::tool
