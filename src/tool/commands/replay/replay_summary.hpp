#pragma once
#include "opdump/types/config.hpp"
#include "src/tool/commands/replay/replay_outcome.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

/// Prints what a finished replay dumped and lost; returns the exit status of the command. `config` is the
/// config that `kit` was given.
int print_replay(const RunFile& run, const DumpConfig& config, const ReplayKit& kit,
                 const ReplayOutcome& outcome);

}  // namespace opdump::tool
