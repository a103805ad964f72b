#pragma once
#include <string_view>

#include "opdump/types/config.hpp"
#include "opdump/types/privacy.hpp"
#include "src/config/glob_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads "privacy" and "privacy_unmatched" of the "opdump" object, whose other keys have been read. Strict: a
/// rule that is not understood, or can never count, refuses the config.
class PrivacyJson : GlobReader {
 public:
  PrivacyJson(const JsonNode& options, Reading& reading) : GlobReader(reading), options_(options) {}

  bool read(DumpConfig& config);

 private:
  bool read_rule(const JsonNode& node, const KeyPath& at, const DumpConfig& config, PrivacyRule& rule);
  bool read_position(const JsonNode& node, const KeyPath& at, TensorRole role, PrivacyNumbers& numbers);
  bool read_crop(const JsonNode& node, const KeyPath& at, PrivacyRule& rule);
  bool read_range(const JsonNode& node, const KeyPath& at, StepRange& range);
  bool read_count(const JsonNode& node, const KeyPath& at, std::uint64_t least, std::uint32_t& to);
  bool settle(const JsonNode& node, const KeyPath& at, const DumpConfig& config, const PrivacyRule& rule);

  const JsonNode& options_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
