#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "opdump/config/parse.hpp"
#include "opdump/types/config.hpp"
#include "src/tool/cli/commands.hpp"

namespace opdump::tool {

/// What the command line of `opdump replay` says.
struct ReplaySettings {
  std::string run_path;
  std::string config_path;
  DumpOptions options;  ///< those of the command line, which go before the config's
  std::uint64_t partition_bytes = 0;
  ConfigContext context;

  /// What they and those of the config come to; there is always a size of the ring.
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
