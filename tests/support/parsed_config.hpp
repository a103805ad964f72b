#pragma once
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/config/parse.hpp"
#include "tests/support/repeated_text.hpp"
#include "tests/support/temporary_directory.hpp"

#ifndef OPDUMP_TEST_DATA
#error "compile with -DOPDUMP_TEST_DATA=\"<the folder tests/data>\""
#endif

namespace opdump::tests {

/// Every path is a directory, but those that begin with "missing".
inline bool check_path(std::string_view path, std::string& reason) {
  if (!path.starts_with("missing")) return true;
  reason = "no such directory";
  return false;
}

/// A parsed text with the memory its config lies in: as much as `config_memory_bytes` says, if not told
/// otherwise.
struct ParsedConfig {
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
    status = parse_config(text, arena, check, config, error, &notes, context);
    used = arena.used();
  }
  std::vector<std::byte> memory;
  DumpConfig config;
  ConfigError error;
  std::vector<ConfigNote> notes;
  Status status;
  std::size_t used = 0;
};

inline std::filesystem::path corpus(std::string_view folder) {
  return std::filesystem::path(OPDUMP_TEST_DATA) / "config" / folder;
}

inline ParsedConfig parse_file(std::string_view folder, const std::string& name) {
  return ParsedConfig(read_file(corpus(folder) / (name + ".json")), check_path,
                      {.privacy = privacy_reader(),
                       .seal = seal_reader(),
                       .tokens = tokens_reader(),
                       .triggers = trigger_reader()});
}

/// The names of the files in a folder of the corpus, in order, without their ending.
inline std::vector<std::string> cases_in(std::string_view folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(corpus(folder)))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace opdump::tests
