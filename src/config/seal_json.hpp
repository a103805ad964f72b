#pragma once
#include "opdump/config/parse.hpp"
#include "src/config/json/node_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads "seal" of the "opdump" object.
class SealJson : NodeReader {
 public:
  SealJson(Arena& memory, Refusal& refusal, SealKeyReader read_key)
      : NodeReader(memory, refusal), read_key_(read_key) {}

  /// `node`: the value, at `path`. After all else of the object was read into `config`.
  bool read(const JsonNode& node, const KeyPath& path, bool asks_for_cards, DumpConfig& config);

 private:
  SealKeyReader read_key_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
