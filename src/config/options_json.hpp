#pragma once
#include "opdump/config/parse.hpp"
#include "opdump/types/config.hpp"
#include "src/config/json/node_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads the "opdump" object beside a dialect's own object. Strict: it refuses what it does not know.
class OptionsJson : NodeReader {
 public:
  OptionsJson(const JsonNode& node, Reading& reading) : NodeReader(reading), node_(node) {}

  /// Fills the options, and the other fields of `config` that they affect.
  bool read(DumpConfig& config);

 private:
  using Words = std::span<const std::string_view>;

  bool check_keys();
  bool settle_layout(DumpConfig& config);
  bool settle_digest(DumpConfig& config);
  bool read_optional();
  /// Null also when something was refused before.
  const JsonNode* find(std::string_view key) const;

  // False: absent, or refused, as `good_` tells.
  bool read_number(std::string_view key, std::uint64_t least, std::uint64_t most, std::uint64_t& number);
  bool read_word(std::string_view key, Words words, std::size_t& position);

  // Absent: `value` stays as it is.
  template <class Value>
  void put_number(std::string_view key, std::uint64_t least, std::uint64_t most, Value& value);
  template <class Value>
  void put_word(std::string_view key, Words words, Value& value);

  const JsonNode& node_;
  bool good_ = true;  ///< nothing was refused
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
