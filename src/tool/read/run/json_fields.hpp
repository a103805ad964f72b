#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "src/config/json/json_tree.hpp"
#include "src/config/refusal.hpp"

namespace opdump::tool {

/// Reads values of a JSON text and refuses those of another kind; all return false when they have. `read_...`
/// takes the value of a key, and leaves the result as it is when the key is not there; `take_...` a value.
class JsonFields {
 public:
  using JsonNode = config::JsonNode;
  using KeyPath = config::KeyPath;

  /// Both outlive this.
  JsonFields(std::string_view text, config::Refusal& refusal) : text_(text), refusal_(refusal) {}

  std::string_view text() const { return text_; }

  bool refuse(const JsonNode& node, const KeyPath& path, std::string reason);
  bool wrong_type(const JsonNode& node, const KeyPath& path, std::string_view wanted);
  bool missing(const JsonNode& node, const KeyPath& path, std::string_view what);

  /// Refuses what is no object, or has another key than `keys`.
  bool check_object(const JsonNode& node, const KeyPath& path, std::span<const std::string_view> keys);

  /// Reads each element of an array.
  template <class Read>
  bool for_each(const JsonNode& parent, const KeyPath& path, std::string_view key, Read read) {
    const JsonNode* node = parent.member(key);
    if (node == nullptr) return true;
    const KeyPath here = path.key(key);
    if (node->type() != config::JsonType::array) return wrong_type(*node, here, "an array");
    std::size_t index = 0;
    for (const JsonNode* child = node->first(); child != nullptr; child = child->next()) {
      if (!read(*child, here.element(index++))) return false;
    }
    return true;
  }

  bool read_text(const JsonNode& parent, const KeyPath& path, std::string_view key, std::string_view& text);
  bool take_text(const JsonNode& node, const KeyPath& path, std::string_view& text);

  /// A whole number from 0 to `most`.
  bool take_number(const JsonNode& node, const KeyPath& path, std::uint64_t most, std::uint64_t& number);

  template <class Number>
  bool read_number(const JsonNode& parent, const KeyPath& path, std::string_view key, Number& number) {
    const JsonNode* node = parent.member(key);
    if (node == nullptr) return true;
    std::uint64_t value = 0;
    if (!take_number(*node, path.key(key), std::numeric_limits<Number>::max(), value)) return false;
    number = static_cast<Number>(value);
    return true;
  }

  /// The place of the text in `words`.
  bool read_word(const JsonNode& parent, const KeyPath& path, std::string_view key,
                 std::span<const std::string_view> words, std::size_t& index);
  bool read_flag(const JsonNode& parent, const KeyPath& path, std::string_view key, bool& flag);

  /// A list of numbers of that type.
  template <class Number>
  bool read_reals(const JsonNode& parent, const KeyPath& path, std::string_view key,
                  std::vector<Number>& numbers) {
    return for_each(parent, path, key, [&](const JsonNode& node, const KeyPath& here) {
      return take_real(node, here, numbers.emplace_back());
    });
  }

  /// A number of that type; for a float also "nan", "inf" and "-inf", which stand for what JSON has not.
  template <class Number>
  bool take_real(const JsonNode& node, const KeyPath& path, Number& number) {
    if constexpr (std::is_floating_point_v<Number>) {
      constexpr std::array<std::string_view, 3> kWords = {"nan", "inf", "-inf"};
      constexpr std::array<Number, 3> kNumbers = {std::numeric_limits<Number>::quiet_NaN(),
                                                  std::numeric_limits<Number>::infinity(),
                                                  -std::numeric_limits<Number>::infinity()};
      const auto word = node.type() == config::JsonType::string
                            ? std::find(kWords.begin(), kWords.end(), node.text())
                            : kWords.end();
      if (word != kWords.end()) {
        number = kNumbers[static_cast<std::size_t>(word - kWords.begin())];
        return true;
      }
    }
    if (node.type() != config::JsonType::number) return wrong_type(node, path, "a number");
    const std::string_view text = number_at(node);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return (error == std::errc{} && end == text.data() + text.size()) ||
           refuse(node, path,
                  std::string("no such number is ") +
                      (std::is_floating_point_v<Number> ? "a float" : "a whole number of that size"));
  }

 private:
  static constexpr std::size_t kMostNameBytes = 0xffff;

  /// The text of a number.
  std::string_view number_at(const JsonNode& node) const;

  const std::string_view text_;
  config::Refusal& refusal_;
};

}  // namespace opdump::tool
