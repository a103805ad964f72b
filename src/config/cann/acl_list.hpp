#pragma once
#include "opdump/types/config.hpp"
#include "src/config/json/node_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads the `dump_list` of CANN's acl.json.
class AclList : NodeReader {
 public:
  AclList(const JsonNode* list, const KeyPath& at, Reading& reading)
      : NodeReader(reading), list_(list), at_(at) {}

  bool check_types();

  /// The parts of the config that the items must fit.
  struct Context {
    bool single_ops = false;
    bool watch = false;
    DumpLevel level = DumpLevel::all;
    bool nano = false;  ///< items that are empty, or name no model, select nothing instead of being refused
  };

  /// Checks what the items mean and puts them into `models`.
  bool read(const Context& context, std::span<const ModelRule>& models);

 private:
  bool check_item_types(const JsonNode& item, const KeyPath& at);
  bool check_item(const JsonNode& item, const KeyPath& at, const Context& context);
  bool check_not_empty(const JsonNode& item, const KeyPath& at);
  void note_wildcards(const JsonNode& item, const KeyPath& at);
  bool check_watched(const JsonNode& item, const KeyPath& at, bool watch);
  bool check_blacklist(const JsonNode* list, const KeyPath& at, DumpLevel level);
  bool check_ranges(const JsonNode& item, const KeyPath& at, DumpLevel level);
  bool check_level(const JsonNode& node, const KeyPath& at, DumpLevel level);

  bool read_rule(const JsonNode& item, ModelRule& rule);
  bool read_extras(const JsonNode& item, ModelExtras& extras);
  bool read_ranges(const JsonNode* list, std::span<const OpRange>& ranges);
  bool read_exclusions(const JsonNode& item, std::span<const TensorExclusion>& exclusions);
  bool read_positions(const JsonNode* list, std::span<const TensorPosition>& positions);

  const JsonNode* list_;
  const KeyPath& at_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
