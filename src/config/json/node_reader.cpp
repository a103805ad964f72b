#include "src/config/json/node_reader.hpp"

#include <charconv>
#include <cstring>

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

std::size_t NodeReader::count(const JsonNode* array) {
  std::size_t elements = 0;
  for (const JsonNode* node = array == nullptr ? nullptr : array->first(); node != nullptr;
       node = node->next())
    ++elements;
  return elements;
}

bool NodeReader::check_type(const JsonNode* node, JsonType type, const KeyPath& at) {
  if (node == nullptr || node->type() == type) return true;
  return refuse(ConfigFault::wrong_type, *node, at,
                joined({to_string(node->type()), ", but it must be ", to_string(type)}));
}

bool NodeReader::check_array_of(const JsonNode* node, JsonType type, const KeyPath& at) {
  return check_array_of(node, type, at, [](const JsonNode&, const KeyPath&) { return true; });
}

bool NodeReader::check_word(const JsonNode& node, std::string_view word,
                            std::span<const std::string_view> words, const KeyPath& at) {
  if (word.empty()) return empty(node, at, joined({"; allowed: ", listed(words)}));
  if (position_of(word, words) != words.size()) return true;
  return refuse(
      ConfigFault::not_in_list, node, at,
      joined({in_quotes(word), " is not allowed; allowed: ", listed(words), did_you_mean(word, words)}));
}

bool NodeReader::parse_number(const JsonNode& node, const KeyPath& at, std::uint64_t least,
                              std::uint64_t most, std::uint64_t& number) {
  if (!check_type(&node, JsonType::number, at)) return false;
  const std::string_view text = number_text(node);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool good =
      error == std::errc{} && end == text.data() + text.size() && number >= least && number <= most;
  return good ||
         refuse(
             ConfigFault::invalid_value, node, at,
             joined({in_quotes(text), " is no whole number from ", decimal(least), " to ", decimal(most)}));
}

std::string_view NodeReader::number_text(const JsonNode& number) const {
  const std::string_view rest = reading_.text().substr(number.offset());
  return rest.substr(0, rest.find_first_not_of("0123456789+-.eE"));
}

void NodeReader::note_unknown_keys(const JsonNode& object, const KeyPath& at,
                                   std::span<const std::string_view> keys,
                                   std::initializer_list<KeysOf> elsewhere) {
  for (const JsonNode* member = object.first(); member != nullptr && reading_.takes_notes();
       member = member->next()) {
    if (position_of(member->key(), keys) != keys.size()) continue;
    const std::string_view near = closest(member->key(), keys);
    const std::string why =
        near.empty() ? belongs_in(member->key(), elsewhere) : joined({kSlipOfKeys, in_quotes(near), "?"});
    reading_.note(member->key_offset(), at.key(member->key()), joined({"unknown, and ignored", why}));
  }
}

bool NodeReader::copy(std::string_view text, std::string_view& to) {
  to = {};
  if (text.empty()) return true;
  // Not `Arena::text`: a Result on the stack would cost more than the copy.
  std::byte* const stored = memory().take(text.size(), 1, 1);
  if (stored == nullptr) return false;
  std::memcpy(stored, text.data(), text.size());
  to = std::string_view(reinterpret_cast<const char*>(stored), text.size());
  return true;
}

bool NodeReader::copy_texts(const JsonNode* array, std::span<const std::string_view>& to) {
  const Result<std::span<std::string_view>> texts = memory().array<std::string_view>(count(array));
  if (!texts.ok()) return false;
  to = texts.value();
  std::string_view* text = texts.value().data();
  for (const JsonNode* node = array == nullptr ? nullptr : array->first(); node != nullptr;
       node = node->next()) {
    if (!copy(node->text(), *text++)) return false;
  }
  return true;
}

bool NodeReader::empty(const JsonNode& node, const KeyPath& at, std::string_view advice) {
  return refuse(ConfigFault::empty, node, at, joined({"present but empty", advice}));
}

bool NodeReader::no_memory(const JsonNode& node, const KeyPath& at) {
  return refuse(ConfigFault::no_memory, node, at,
                "the memory for the config is full: config_memory_bytes of the text's size is always enough");
}

bool NodeReader::refuse(ConfigFault fault, const JsonNode& node, const KeyPath& at, std::string_view reason) {
  return reading_.refuse(fault, node.offset(), at, reason);
}

void NodeReader::note(const JsonNode& node, const KeyPath& at, std::string_view text) {
  reading_.note(node.offset(), at, text);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
