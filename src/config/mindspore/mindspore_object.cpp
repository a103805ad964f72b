#include "src/config/mindspore/mindspore_object.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

void MindSporeObject::note_key(std::string_view key, std::string_view text) {
  if (const JsonNode* node = member(key)) note(*node, path_of(key), text);
}

const JsonNode* MindSporeObject::member(std::string_view key) const {
  return object_ == nullptr ? nullptr : object_->member(key);
}

bool MindSporeObject::is_uint(const JsonNode& number) const {
  return number_text(number).find_first_not_of("0123456789") == std::string_view::npos;
}

bool MindSporeObject::read_uint(const JsonNode& node, const KeyPath& at, std::uint32_t& value) {
  if (!check_type(&node, JsonType::number, at)) return false;
  const std::string_view text = number_text(node);
  if (!is_uint(node))
    return refuse(ConfigFault::wrong_type, node, at,
                  std::string(text) + ", but it must be a whole number, without sign, point or exponent");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} || refuse(ConfigFault::invalid_value, node, at,
                                        std::string(text) + " is beyond the largest number, 4294967295");
}

bool MindSporeObject::read_uint(std::string_view key, std::uint32_t& value) {
  const JsonNode* node = member(key);
  return node == nullptr || read_uint(*node, path_of(key), value);
}

bool MindSporeObject::read_choice(std::string_view key, std::uint32_t most, std::uint32_t& value) {
  if (!read_uint(key, value)) return false;
  const JsonNode* node = member(key);
  if (node == nullptr || value <= most) return true;
  std::string reason = std::to_string(value) + " is not allowed; allowed: 0";
  for (std::uint32_t i = 1; i <= most; ++i) reason += ", " + std::to_string(i);
  return refuse(ConfigFault::not_in_list, *node, path_of(key), std::move(reason));
}

bool MindSporeObject::read_bool(std::string_view key, bool& value) {
  const JsonNode* node = member(key);
  if (node == nullptr) return true;
  if (!check_type(node, JsonType::boolean, path_of(key))) return false;
  value = is_true(*node, reading_.text());
  return true;
}

bool MindSporeObject::read_word(std::string_view key, Words words, std::size_t& value) {
  const JsonNode* node = member(key);
  if (node == nullptr) return true;
  const KeyPath at = path_of(key);
  if (!check_type(node, JsonType::string, at) || !check_word(*node, node->text(), words, at)) return false;
  value = static_cast<std::size_t>(std::find(words.begin(), words.end(), node->text()) - words.begin());
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
