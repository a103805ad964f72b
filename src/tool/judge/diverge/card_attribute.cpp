#include "src/tool/judge/diverge/card_attribute.hpp"

#include <charconv>
#include <limits>
#include <optional>

#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"
#include "src/tool/judge/diverge/onnx_types.hpp"

namespace opdump::tool {
namespace {

/// Source: ONNX's operators.
bool is_real(std::string_view name) {
  constexpr std::string_view kNames =
      " activation_alpha activation_beta alpha beta bias clip cubic_coeff_a epsilon extrapolation_value"
      " gamma high lambd low max mean min momentum norm_coefficient ratio scale scales spatial_scale"
      " threshold value value_float value_floats ";
  return is_word_of(name, kNames);
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// Infinities and NaN are texts, as JSON has no such numbers.
std::optional<float> real_of(std::string_view text) {
  if (text == "inf") return std::numeric_limits<float>::infinity();
  if (text == "-inf") return -std::numeric_limits<float>::infinity();
  if (text == "nan") return std::numeric_limits<float>::quiet_NaN();
  return number_of<float>(text);
}

bool read_list(std::string_view name, std::string_view text, ReplayValue& to) {
  ConfigError error;
  config::Refusal refusal(text, error);
  config::JsonTree tree;
  if (!tree.parse(text, refusal) || tree.root().type() != config::JsonType::array) return false;
  std::vector<std::int64_t> integers;
  std::vector<float> reals;
  std::vector<std::string> texts;
  std::size_t count = 0;
  for (const config::JsonNode* node = tree.root().first(); node != nullptr; node = node->next(), ++count) {
    const bool is_text = node->type() == config::JsonType::string;
    const std::string_view rest = text.substr(node->offset());
    const std::string_view item = is_text ? node->text() : rest.substr(0, rest.find_first_of(",] \n\t\r"));
    if (is_text) texts.emplace_back(item);
    if (const auto integer = number_of<std::int64_t>(item)) integers.push_back(*integer);
    if (const auto real = real_of(item)) reals.push_back(*real);
  }
  if (!is_real(name) && integers.size() == count) {
    to = std::move(integers);
  } else if (reals.size() == count) {
    to = std::move(reals);
  } else {
    to = std::move(texts);
    return std::get<std::vector<std::string>>(to).size() == count;
  }
  return true;
}

}  // namespace

bool read_card_attribute(std::string_view name, std::string_view value, ReplayAttribute& to) {
  to.name = name;
  if (value.starts_with('[')) return read_list(name, value, to.value);
  if (value.starts_with('{')) return false;
  const std::optional<float> real = real_of(value);
  const std::optional<std::int64_t> integer = number_of<std::int64_t>(value);
  if (is_real(name) && real) {
    to.value = *real;
  } else if (integer) {
    to.value = *integer;
  } else if (const auto number = number_of<float>(value)) {
    to.value = *number;
  } else {
    to.value = std::string(value);
  }
  return true;
}

}  // namespace opdump::tool
