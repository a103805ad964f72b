#pragma once
#include "opdump/config/parse.hpp"
#include "src/config/json/node_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads "seal" of the "opdump" object, whose other keys have been read.
class SealJson : NodeReader {
 public:
  SealJson(const JsonNode& options, Reading& reading) : NodeReader(reading), options_(options) {}

  bool read(DumpConfig& config);

 private:
  const JsonNode& options_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
