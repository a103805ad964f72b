#pragma once
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "opdump/base/arena.hpp"
#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// The base of the readers of a config's objects. A check that fails has refused the text.
class NodeReader {
 protected:
  NodeReader(Arena& memory, Refusal& refusal) : memory_(memory), refusal_(refusal) {}

  static std::size_t count(const JsonNode* array) {
    std::size_t elements = 0;
    for (const JsonNode* node = array == nullptr ? nullptr : array->first(); node != nullptr;
         node = node->next())
      ++elements;
    return elements;
  }

  static bool has_elements(const JsonNode* array) { return array != nullptr && array->first() != nullptr; }

  bool check_type(const JsonNode* node, JsonType type, const KeyPath& at) {
    if (node == nullptr || node->type() == type) return true;
    return refuse(ConfigFault::wrong_type, *node, at,
                  std::string(to_string(node->type())) + ", but it must be " + std::string(to_string(type)));
  }

  /// `array` null: there is nothing to check.
  template <class Check>
  bool check_each(const JsonNode* array, const KeyPath& at, Check check) {
    if (array == nullptr) return true;
    std::size_t index = 0;
    for (const JsonNode* element = array->first(); element != nullptr; element = element->next()) {
      if (!check(*element, at.element(index++))) return false;
    }
    return true;
  }

  bool check_array_of(const JsonNode* node, JsonType type, const KeyPath& at) {
    return check_array_of(node, type, at, [](const JsonNode&, const KeyPath&) { return true; });
  }

  /// Checks each element: first its type, then by `check`.
  template <class Check>
  bool check_array_of(const JsonNode* node, JsonType type, const KeyPath& at, Check check) {
    if (!check_type(node, JsonType::array, at)) return false;
    return check_each(node, at, [&](const JsonNode& element, const KeyPath& element_at) {
      return check_type(&element, type, element_at) && check(element, element_at);
    });
  }

  bool check_word(const JsonNode& node, std::string_view word, std::span<const std::string_view> words,
                  const KeyPath& at) {
    if (word.empty()) return empty(node, at, "; allowed: " + listed(words));
    for (const std::string_view allowed : words) {
      if (word == allowed) return true;
    }
    std::string reason = in_quotes(word) + " is not allowed; allowed: " + listed(words);
    if (const std::string_view near = closest(word, words); !near.empty())
      reason += "; did you mean " + in_quotes(near) + "?";
    return refuse(ConfigFault::not_in_list, node, at, std::move(reason));
  }

  /// The characters of a number, as they are written.
  std::string_view number_text(const JsonNode& number) const {
    const std::string_view rest = refusal_.text().substr(number.offset());
    return rest.substr(0, rest.find_first_not_of("0123456789+-.eE"));
  }

  /// Notes the members that no reader reads.
  void note_unknown_keys(const JsonNode& object, const KeyPath& at, std::span<const std::string_view> keys) {
    for (const JsonNode* member = object.first(); member != nullptr && refusal_.takes_notes();
         member = member->next()) {
      bool known = false;
      for (const std::string_view key : keys) known |= member->key() == key;
      if (known) continue;
      std::string text = "unknown, and ignored";
      if (const std::string_view near = closest(member->key(), keys); !near.empty())
        text += "; is it a slip of the keys for " + in_quotes(near) + "?";
      refusal_.note(member->key_offset(), at.key(member->key()).text(), std::move(text));
    }
  }

  /// False when `memory_` is full.
  bool copy(std::string_view text, std::string_view& to) {
    to = {};
    if (text.empty()) return true;
    // Not `Arena::text`: a Result on the stack would cost more than the copy.
    std::byte* const stored = memory_.take(text.size(), 1, 1);
    if (stored == nullptr) return false;
    std::memcpy(stored, text.data(), text.size());
    to = std::string_view(reinterpret_cast<const char*>(stored), text.size());
    return true;
  }

  bool copy_texts(const JsonNode* array, std::span<const std::string_view>& to) {
    const Result<std::span<std::string_view>> texts = memory_.array<std::string_view>(count(array));
    if (!texts.ok()) return false;
    to = texts.value();
    std::string_view* text = texts.value().data();
    for (const JsonNode* node = array == nullptr ? nullptr : array->first(); node != nullptr;
         node = node->next()) {
      if (!copy(node->text(), *text++)) return false;
    }
    return true;
  }

  bool empty(const JsonNode& node, const KeyPath& at, const std::string& advice) {
    return refuse(ConfigFault::empty, node, at, "present but empty" + advice);
  }

  bool no_memory(const JsonNode& node, const KeyPath& at) {
    return refuse(
        ConfigFault::no_memory, node, at,
        "the memory for the config is full: config_memory_bytes of the text's size is always enough");
  }

  bool refuse(ConfigFault fault, const JsonNode& node, const KeyPath& at, std::string reason) {
    return refusal_.refuse(fault, node.offset(), at.text(), std::move(reason));
  }

  void note(const JsonNode& node, const KeyPath& at, std::string text) {
    if (refusal_.takes_notes()) refusal_.note(node.offset(), at.text(), std::move(text));
  }

  Arena& memory_;
  Refusal& refusal_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
