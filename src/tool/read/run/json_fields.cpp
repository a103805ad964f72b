#include "src/tool/read/run/json_fields.hpp"

#include <algorithm>
#include <optional>

#include "src/tool/cli/decimal.hpp"

namespace opdump::tool {

using config::JsonType;

bool JsonFields::refuse(const JsonNode& node, const KeyPath& path, std::string reason) {
  return refusal_.refuse(ConfigFault::invalid_value, node.offset(), path.text(), std::move(reason));
}

bool JsonFields::wrong_type(const JsonNode& node, const KeyPath& path, std::string_view wanted) {
  std::string reason(config::to_string(node.type()));
  reason.append(" instead of ").append(wanted);
  return refusal_.refuse(ConfigFault::wrong_type, node.offset(), path.text(), std::move(reason));
}

bool JsonFields::missing(const JsonNode& node, const KeyPath& path, std::string_view what) {
  return refusal_.refuse(ConfigFault::missing, node.offset(), path.text(), "missing: " + std::string(what));
}

bool JsonFields::check_object(const JsonNode& node, const KeyPath& path,
                              std::span<const std::string_view> keys) {
  if (node.type() != JsonType::object) return wrong_type(node, path, "an object");
  for (const JsonNode* child = node.first(); child != nullptr; child = child->next()) {
    if (std::find(keys.begin(), keys.end(), child->key()) != keys.end()) continue;
    std::string reason = "unknown key";
    const std::string_view near = config::closest(child->key(), keys);
    if (!near.empty()) reason += ", \"" + std::string(near) + "\" is meant?";
    reason += " Allowed are " + config::listed(keys);
    return refusal_.refuse(ConfigFault::not_in_list, child->key_offset(), path.key(child->key()).text(),
                           std::move(reason));
  }
  return true;
}

bool JsonFields::read_text(const JsonNode& parent, const KeyPath& path, std::string_view key,
                           std::string_view& text) {
  const JsonNode* node = parent.member(key);
  return node == nullptr || take_text(*node, path.key(key), text);
}

bool JsonFields::take_text(const JsonNode& node, const KeyPath& path, std::string_view& text) {
  if (node.type() != JsonType::string) return wrong_type(node, path, "a string");
  if (node.text().size() > kMostNameBytes) return refuse(node, path, "longer than 65535 bytes");
  text = node.text();
  return true;
}

bool JsonFields::take_number(const JsonNode& node, const KeyPath& path, std::uint64_t most,
                             std::uint64_t& number) {
  if (node.type() != JsonType::number) return wrong_type(node, path, "a number");
  const std::optional<std::uint64_t> value = parse_decimal(number_at(node));
  if (!value || *value > most)
    return refuse(node, path, "a whole number from 0 to " + std::to_string(most) + " is expected");
  number = *value;
  return true;
}

std::string_view JsonFields::number_at(const JsonNode& node) const {
  const std::string_view rest = text_.substr(node.offset());
  return rest.substr(0, rest.find_first_not_of("+-.eE0123456789"));
}

bool JsonFields::read_word(const JsonNode& parent, const KeyPath& path, std::string_view key,
                           std::span<const std::string_view> words, std::size_t& index) {
  const JsonNode* node = parent.member(key);
  if (node == nullptr) return true;
  if (node->type() != JsonType::string) return wrong_type(*node, path.key(key), "a string");
  const auto found = std::find(words.begin(), words.end(), node->text());
  if (found == words.end()) return refuse(*node, path.key(key), "one of " + config::listed(words));
  index = static_cast<std::size_t>(found - words.begin());
  return true;
}

bool JsonFields::read_flag(const JsonNode& parent, const KeyPath& path, std::string_view key, bool& flag) {
  const JsonNode* node = parent.member(key);
  if (node == nullptr) return true;
  if (node->type() != JsonType::boolean) return wrong_type(*node, path.key(key), "true or false");
  flag = config::is_true(*node, text_);
  return true;
}

}  // namespace opdump::tool
