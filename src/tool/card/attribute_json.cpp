#include "src/tool/card/attribute_json.hpp"

#include <charconv>
#include <cmath>

#include "src/tool/cli/json.hpp"

namespace opdump::tool {
std::string json_of(float value) {
  if (!std::isfinite(value)) return JsonWriter().real(static_cast<double>(value)).take();
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string json_of(std::int64_t value) {
  return std::to_string(value);
}

std::string json_of(std::string_view value) {
  return JsonWriter().text(value).take();
}

}  // namespace opdump::tool
