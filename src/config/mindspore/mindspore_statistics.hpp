#pragma once
#include "opdump/types/config.hpp"
#include "src/config/json/node_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads the `statistic_category` of MindSpore's data_dump.json: the columns of its statistic.csv.
class MindSporeStatistics : NodeReader {
 public:
  /// A null `list`: the key is absent.
  MindSporeStatistics(const JsonNode* list, const KeyPath& at, Reading& reading)
      : NodeReader(reading), list_(list), at_(at) {}

  /// Fills the statistics of `config` and their order. If the device is to compute them, leaves out those
  /// that it cannot compute.
  bool read(DumpConfig& config);

 private:
  const JsonNode* list_;
  const KeyPath& at_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
