#pragma once
#include "opdump/config/parse.hpp"
#include "src/config/json/node_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads "seal" of the "opdump" object, whose other keys have been read.
class SealJson : NodeReader {
 public:
  SealJson(const JsonNode& options, Arena& memory, Refusal& refusal, SealKeyReader read_key)
      : NodeReader(memory, refusal), options_(options), read_key_(read_key) {}

  bool read(DumpConfig& config);

 private:
  const JsonNode& options_;
  SealKeyReader read_key_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
