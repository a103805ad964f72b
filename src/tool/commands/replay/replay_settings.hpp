#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "opdump/config/parse.hpp"
#include "opdump/types/config.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/commands/replay/placed_run.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

/// Overwrites an element of the first floating-point output of `op`, whose outputs lie at `outputs`: with an
/// infinity, or with a NaN.
void break_output(MadeMemory& memory, const RunOp& op, std::span<const TensorView> outputs, bool nan);

/// Overwrites bytes of the victim's first output, which lies at `output`, each with a different value.
Status trample(MadeMemory& memory, const RunFault& fault, Address output);

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
