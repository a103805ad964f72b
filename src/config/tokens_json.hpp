#pragma once
#include "opdump/types/tokens.hpp"
#include "src/config/json/node_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// An object, or a list of one for each phase. Strict.
class TokensJson : NodeReader {
 public:
  TokensJson(Arena& memory, Refusal& refusal) : NodeReader(memory, refusal) {}

  /// Sets the rules of `config` to what lies in the arena.
  bool read(const JsonNode& node, const KeyPath& at, DumpConfig& config);

 private:
  /// Null: refused.
  const TokenRules* read_rules(const JsonNode& node, const KeyPath& at);
  bool read_rule(const JsonNode& node, const KeyPath& at, TokenRules& rules);
  bool read_phases(const JsonNode& node, const KeyPath& at, const TokenRules& rules,
                   bool (&asked)[kTokenPhases]);
  bool read_word(const JsonNode& node, const KeyPath& at, std::string_view key,
                 std::span<const std::string_view> words, std::size_t& position);
  bool read_number(const JsonNode& node, const KeyPath& at, std::string_view key, std::uint64_t most,
                   std::uint64_t& number);
  bool read_ranges(const JsonNode& node, const KeyPath& at, std::string_view key, StepSet& ranges);
  bool read_rows(const JsonNode& node, const KeyPath& at, TokenRule& rule);
  bool read_heads(const JsonNode& node, const KeyPath& at, StepSet& heads);
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
