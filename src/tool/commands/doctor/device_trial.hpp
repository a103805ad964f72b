#pragma once
#include <cstdint>

#include "src/tool/commands/doctor/board.hpp"

namespace opdump::tool {

/// Asks the runtime what it is, takes the device `id`, allocates a few KiB there, copies them back in every
/// way that AscendMemory has, and gives everything back. Calls that fail are in `failed`; nothing else comes
/// of them. Without `try_copies` the runtime is only looked for.
FoundDevice try_device(std::uint32_t id, bool try_copies);

}  // namespace opdump::tool
