#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "opdump/config/parse.hpp"
#include "opdump/types/config.hpp"
#include "src/tool/cli/commands.hpp"

namespace opdump::tool {

/// The settings on the command line of `opdump replay`.
struct ReplaySettings {
  std::string run_path;
  std::string config_path;
  DumpOptions options;  ///< those of the command line, which override the config's
  std::uint64_t partition_bytes = 0;
  ConfigContext context;

  /// The options of the command line over those of `config`; there is always a ring size.
  DumpOptions over(const DumpOptions& config) const {
    DumpOptions both = config;
    both.ring_bytes = options.ring_bytes ? options.ring_bytes : config.ring_bytes.value_or(1024 * 1024);
    if (options.when_full) both.when_full = options.when_full;
    if (options.journal) both.journal = options.journal;
    return both;
  }
};

/// Returns the exit status when the command ends here: after `--help`, or after a usage error.
std::optional<int> read_replay_settings(Words words, ReplaySettings& settings);

}  // namespace opdump::tool
