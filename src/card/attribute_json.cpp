#include "src/card/attribute_json.hpp"

#include <charconv>
#include <cmath>

#include "src/card/json_writer.hpp"

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {

std::string json_of(float value) {
  if (!std::isfinite(value)) return JsonWriter().real(static_cast<double>(value)).take();
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string json_of(std::int32_t value) {
  return std::to_string(value);
}

std::string json_of(std::int64_t value) {
  return std::to_string(value);
}

std::string json_of(std::string_view value) {
  return JsonWriter().text(value).take();
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
