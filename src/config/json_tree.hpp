#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "refusal.hpp"

namespace opdump::config {

enum class JsonType : std::uint8_t { null, boolean, number, string, array, object };

/// "a string", "an array", ...
std::string_view to_string(JsonType type);

/// One value of a JSON text. Strings and keys are unescaped.
class JsonNode {
 public:
  JsonType type() const { return type_; }
  std::string_view text() const { return text_; }         ///< of a string
  std::string_view key() const { return key_; }           ///< of a member of an object
  std::size_t offset() const { return offset_; }          ///< first byte of the value in the text
  std::size_t key_offset() const { return key_offset_; }  ///< first byte of the key in the text
  const JsonNode* first() const { return first_; }        ///< first element or member; null: none
  const JsonNode* next() const { return next_; }          ///< next one in the same array or object

  /// The member of that name; of several, the last. Null when there is none or this is no object.
  const JsonNode* member(std::string_view name) const;

 private:
  friend class JsonReader;

  JsonType type_ = JsonType::null;
  std::string_view text_;
  std::string_view key_;
  std::size_t offset_ = 0;
  std::size_t key_offset_ = 0;
  const JsonNode* first_ = nullptr;
  const JsonNode* next_ = nullptr;
};

/// The value of a boolean of `text`.
inline bool is_true(const JsonNode& boolean, std::string_view text) {
  return text.substr(boolean.offset()).starts_with('t');
}

/// A JSON text, read and checked to its last byte. Takes time and memory linear in the text, and a bounded
/// stack. On the heap.
class JsonTree {
 public:
  /// Arrays and objects that may stand inside one another.
  static constexpr int kMaxDepth = 64;

  JsonTree() = default;
  JsonTree(const JsonTree&) = delete;
  JsonTree& operator=(const JsonTree&) = delete;
  ~JsonTree();

  /// Reads `text`, once per tree. On false, `refusal` says what is wrong, and there is no tree. The nodes
  /// refer to `text` and to the tree.
  bool parse(std::string_view text, Refusal& refusal);

  /// After a `parse` that went well.
  const JsonNode& root() const { return *root_; }

 private:
  friend class JsonReader;
  struct Block;

  JsonNode* add();

  Block* last_ = nullptr;
  std::unique_ptr<std::uint8_t[]> unescaped_;
  const JsonNode* root_ = nullptr;
};

}  // namespace opdump::config
