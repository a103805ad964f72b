#pragma once
#include <span>

#include "opdump/types/config.hpp"
#include "opdump/types/name_pattern.hpp"
#include "src/config/json/node_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// The base of readers of rules that name models and operators by patterns, in which `*` stands for any
/// characters and `?` for one.
class GlobReader : protected NodeReader {
 protected:
  using NodeReader::NodeReader;

  bool read_pattern(const JsonNode& node, const KeyPath& at, NamePattern& to);

  /// Whether a model that `pattern` takes may come under `config`.
  static bool knows_model(std::span<const NamePattern> pattern, const DumpConfig& config);
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
