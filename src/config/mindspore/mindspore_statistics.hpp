#pragma once
#include "opdump/types/config.hpp"
#include "src/config/json/node_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads the `statistic_category` of MindSpore's data_dump.json: the columns of its statistic.csv.
class MindSporeStatistics : NodeReader {
 public:
  /// `list` null: the key is absent.
  MindSporeStatistics(const JsonNode* list, const KeyPath& at, Arena& memory, Refusal& refusal)
      : NodeReader(memory, refusal), list_(list), at_(at) {}

  /// Fills the statistics of `config` and their order. What the device cannot compute is left out if the
  /// device is to.
  bool read(DumpConfig& config);

 private:
  const JsonNode* list_;
  const KeyPath& at_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
