#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

enum class JsonType : std::uint8_t { null, boolean, number, string, array, object };

/// "a string", "an array", ...
std::string_view to_string(JsonType type);

/// One value of a JSON text. Strings and keys are unescaped.
class JsonNode {
 public:
  JsonType type() const { return static_cast<JsonType>(type_); }
  std::string_view text() const { return {text_, text_size_}; }  ///< of a string
  std::string_view key() const { return {key_, key_size_}; }     ///< of a member of an object
  std::size_t offset() const { return offset_; }                 ///< first byte of the value in the text
  std::size_t key_offset() const { return key_offset_; }         ///< first byte of the key in the text
  const JsonNode* first() const { return first_ == 0 ? nullptr : this + first_; }  ///< element or member
  const JsonNode* next() const {
    return next_ == 0 ? nullptr : this + next_;
  }  ///< in the same array or object

  /// The member called `name`; of several, the last. Null when there is none or this node is not an object.
  const JsonNode* member(std::string_view name) const;

 private:
  friend class JsonReader;

  // Nodes take most of a config's heap, so they lie in one block and are linked by distance.
  const char* text_ = nullptr;
  const char* key_ = nullptr;
  std::uint32_t text_size_ = 0;
  std::uint32_t key_size_ = 0;
  std::uint32_t offset_ = 0;
  std::uint32_t key_offset_ = 0;
  std::uint32_t next_ = 0;
  std::uint32_t type_ : 3 = 0;
  std::uint32_t first_ : 29 = 0;
};
static_assert(sizeof(void*) != 8 || sizeof(JsonNode) == 40);

/// The value of `boolean`, a node of `text`.
inline bool is_true(const JsonNode& boolean, std::string_view text) {
  return text.substr(boolean.offset()).starts_with('t');
}

/// A JSON text, read and checked to its last byte. Takes time linear in the text and a bounded stack. Takes
/// heap: 40 bytes per value, a fixed amount, and the longest string.
class JsonTree {
 public:
  /// How deep arrays and objects may be nested.
  static constexpr int kMaxDepth = 64;

  /// Longer texts are parsed in windows of about this many bytes: simdjson takes 6 bytes of heap per byte.
  static constexpr std::size_t kWindowBytes = 2048;

  JsonTree() = default;
  JsonTree(const JsonTree&) = delete;
  JsonTree& operator=(const JsonTree&) = delete;
  ~JsonTree();

  /// Who is told, with `context`, how many more bytes of the text have been read; null: nobody.
  struct Progress {
    void (*advanced)(void* context, std::size_t bytes) = nullptr;
    void* context = nullptr;
  };

  /// Reads `text`, once per tree. On false, `refusal` says what is wrong, and there is no tree. The nodes refer to
  /// `text` and to the tree. The result does not depend on `window_bytes`. `progress` is told of each window.
  bool parse(std::string_view text, Refusal& refusal, std::size_t window_bytes = kWindowBytes,
             const Progress& progress = {nullptr, nullptr});

  /// Only after a successful `parse`, and before `forget_nodes`.
  const JsonNode& root() const { return *root_; }

  /// Gives back the memory of the nodes. The texts that nodes have given stay.
  void forget_nodes() {
    nodes_.reset();
    root_ = nullptr;
  }

 private:
  friend class JsonReader;
  struct Texts;

  std::unique_ptr<std::byte[]> nodes_;
  Texts* texts_ = nullptr;  ///< strings that had to be unescaped
  const JsonNode* root_ = nullptr;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
