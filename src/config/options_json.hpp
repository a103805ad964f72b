#pragma once
#include "node_reader.hpp"
#include "opdump/dump_config.hpp"

namespace opdump::config {

/// Reads the "opdump" object beside a dialect's own. Strict: what it does not know, it refuses.
class OptionsJson : NodeReader {
 public:
  OptionsJson(const JsonNode& node, Arena& memory, Refusal& refusal)
      : NodeReader(memory, refusal), node_(node) {}

  /// Fills the options, and what of the rest of `config` they have a say in.
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

}  // namespace opdump::config
