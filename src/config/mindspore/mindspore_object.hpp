#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "src/config/json/node_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// One of the objects of MindSpore's data_dump.json, with what its readers do with a key. A key that is
/// absent keeps the value's default.
class MindSporeObject : protected NodeReader {
 public:
  /// Null: the file has none.
  const JsonNode* object() const { return object_; }

  /// Notes `text` at the key, if that is there.
  void note_key(std::string_view key, std::string_view text);

 protected:
  using Words = std::span<const std::string_view>;

  /// `object` may be null. `at` stays.
  MindSporeObject(const JsonNode* object, const KeyPath& at, Reading& reading)
      : NodeReader(reading), object_(object), at_(at) {}

  /// Null if it is absent.
  const JsonNode* member(std::string_view key) const;
  KeyPath path_of(std::string_view key) const { return at_.key(key); }

  bool is_uint(const JsonNode& number) const;
  bool read_uint(const JsonNode& node, const KeyPath& at, std::uint32_t& value);
  bool read_uint(std::string_view key, std::uint32_t& value);

  /// Reads a number from 0 to `most`; any other value is refused.
  bool read_choice(std::string_view key, std::uint32_t most, std::uint32_t& value);
  bool read_bool(std::string_view key, bool& value);

  /// Sets `value` to the word's number.
  bool read_word(std::string_view key, Words words, std::size_t& value);

  const JsonNode* object_;
  const KeyPath& at_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
