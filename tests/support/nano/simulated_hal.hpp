#pragma once
#include <cstdint>

#include "tests/support/nano/simulated_nano.hpp"

namespace opdump::tests {

/// What the two calls of the driver's event scheduler do, which a program defines by including simulated_hal.inl.
struct SimulatedHal {
  SimulatedScheduler scheduler;
  bool copies_mailboxes = false;  ///< `out` receives the 40 bytes of a mailbox, not their address
  int error = 0;                  ///< what a call without an event returns, other than "nothing came in time"
};
inline SimulatedHal* hal = nullptr;

}  // namespace opdump::tests
