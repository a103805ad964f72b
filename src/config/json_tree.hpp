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
struct JsonNode {
  JsonType type = JsonType::null;
  std::string_view text;            ///< of a string
  std::string_view key;             ///< of a member of an object
  std::size_t offset = 0;           ///< first byte of the value in the text
  std::size_t key_offset = 0;       ///< first byte of the key in the text
  const JsonNode* first = nullptr;  ///< first element or member
  const JsonNode* next = nullptr;   ///< next one in the same array or object

  /// The member of that name; of several, the last. Null when there is none or this is no object.
  const JsonNode* member(std::string_view name) const;
};

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
