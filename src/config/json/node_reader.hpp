#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "opdump/base/arena.hpp"
#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// The base of the readers of a config's objects. A check that fails has refused the text.
class NodeReader {
 protected:
  NodeReader(Arena& memory, Refusal& refusal) : memory_(memory), refusal_(refusal) {}

  static std::size_t count(const JsonNode* array);

  static bool has_elements(const JsonNode* array) { return array != nullptr && array->first() != nullptr; }

  bool check_type(const JsonNode* node, JsonType type, const KeyPath& at);

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

  /// Also checks the type of each element.
  bool check_array_of(const JsonNode* node, JsonType type, const KeyPath& at);

  /// Checks each element: first its type, then by `check`.
  template <class Check>
  bool check_array_of(const JsonNode* node, JsonType type, const KeyPath& at, Check check) {
    if (!check_type(node, JsonType::array, at)) return false;
    return check_each(node, at, [&](const JsonNode& element, const KeyPath& element_at) {
      return check_type(&element, type, element_at) && check(element, element_at);
    });
  }

  bool check_word(const JsonNode& node, std::string_view word, std::span<const std::string_view> words,
                  const KeyPath& at);

  /// Reads a whole number from `least` to `most`.
  bool parse_number(const JsonNode& node, const KeyPath& at, std::uint64_t least, std::uint64_t most,
                    std::uint64_t& number);

  /// The characters of a number, as they are written.
  std::string_view number_text(const JsonNode& number) const;

  /// Notes the members that no reader reads.
  void note_unknown_keys(const JsonNode& object, const KeyPath& at, std::span<const std::string_view> keys);

  /// False when `memory_` is full.
  bool copy(std::string_view text, std::string_view& to);
  bool copy_texts(const JsonNode* array, std::span<const std::string_view>& to);

  bool empty(const JsonNode& node, const KeyPath& at, std::string_view advice);
  bool no_memory(const JsonNode& node, const KeyPath& at);
  bool refuse(ConfigFault fault, const JsonNode& node, const KeyPath& at, std::string_view reason);
  void note(const JsonNode& node, const KeyPath& at, std::string_view text);

  Arena& memory_;
  Refusal& refusal_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
