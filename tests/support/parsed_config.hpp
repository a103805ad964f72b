#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/config/parse.hpp"
#include "tests/support/packed_configs.hpp"
#include "tests/support/repeated_text.hpp"

namespace opdump::tests {

/// Every path is a directory, but those that begin with "missing".
inline bool check_path(std::string_view path, std::string& reason) {
  if (!path.starts_with("missing")) return true;
  reason = "no such directory";
  return false;
}

/// A parsed text with the memory its config lies in: as much as `config_memory_bytes` says, if not told otherwise.
struct ParsedConfig : ConfigOutcome {
  explicit ParsedConfig(std::string_view text, DumpPathCheck check = check_path,
                        const ConfigContext& context = {.privacy = privacy_reader(),
                                                        .seal = seal_reader(),
                                                        .triggers = trigger_reader()})
      : ParsedConfig(config_memory_bytes(text.size()), text, check, context) {}
  ParsedConfig(std::size_t memory_bytes, std::string_view text, DumpPathCheck check = check_path,
               const ConfigContext& context = {.privacy = privacy_reader(),
                                               .seal = seal_reader(),
                                               .triggers = trigger_reader()})
      : memory(memory_bytes) {
    Arena arena(memory);
    config.active = true;
    status = parse_config({text, arena, check, context, true}, *this);
    used = arena.used();
  }
  std::vector<std::byte> memory;
  Status status;
  std::size_t used = 0;
};

/// Parses the case `path` of tests/data/config, as "cann/accept/steps".
inline ParsedConfig parse_case_of(const std::string& path, const ConfigContext& context) {
  return ParsedConfig(packed_text(path), check_path, context);
}

/// Parses a case of CANN's dialect.
inline ParsedConfig parse_file(const std::string& folder, const std::string& name) {
  return parse_case_of("cann/" + folder + '/' + name,
                       {.privacy = privacy_reader(), .seal = seal_reader(), .triggers = trigger_reader()});
}

}  // namespace opdump::tests
