#pragma once
#include "opdump/types/config.hpp"
#include "src/config/json/node_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads the "opdump" object beside a dialect's own object. Strict: it refuses what it does not know.
class OptionsJson : NodeReader {
 public:
  OptionsJson(const JsonNode& node, Arena& memory, Refusal& refusal)
      : NodeReader(memory, refusal), node_(node) {}

  /// Fills the options, and the other fields of `config` that they affect.
  bool read(DumpConfig& config);

 private:
  using Words = std::span<const std::string_view>;

  bool check_keys();
  /// Absent: `value` stays as it is.
  template <class Number, class Value>
  bool read_number(std::string_view key, Number least, Number most, Value& value);
  /// Absent: `value` stays as it is.
  template <class Word, class Value>
  bool read_word(std::string_view key, Words words, Value& value);

  const JsonNode& node_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
