#pragma once

namespace opdump::tool {

/// What the command's exit status says. The help of each sub-command lists those it uses.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,    ///< something failed or was refused; the messages say what
  kExitUsage = 2,     ///< the command line is wrong
  kExitInactive = 3,  ///< nothing is wrong, but nothing is switched on
  kExitNever = 4,  ///< nothing went wrong, but something that was asked for was not, or will not be, captured
};

}  // namespace opdump::tool
