#pragma once
#include <cstdint>
#include <string>

#include "src/tool/commands/doctor/board.hpp"

namespace opdump::tool {

/// While one lives, a call that does not come back within a limit, or that ends this program, is told on stderr by
/// its name, and the program ends with `kExitFailed`: a driver whose device has died may do either. One at a time.
class CallWatch {
 public:
  /// `what` is "copying from device 0" or the like. Writes out what stdout holds.
  explicit CallWatch(const std::string& what);
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;
  ~CallWatch();

  /// Of those that are made from now on; 30 s otherwise.
  static void set_limit(unsigned seconds);
};

/// Asks the runtime what it is, takes the device `id`, allocates a few KiB there, copies them back in every
/// way that AscendMemory has, and gives everything back. Calls that fail are in `failed`; nothing else comes
/// of them. Without `try_copies` the runtime is only looked for.
FoundDevice try_device(std::uint32_t id, bool try_copies);

}  // namespace opdump::tool
