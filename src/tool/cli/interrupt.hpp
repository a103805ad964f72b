#pragma once

namespace opdump::tool {

/// From now on SIGINT and SIGTERM no longer end the process: they make `interrupted` true, so that current
/// work is undone or finished in order.
void catch_interrupts();

bool interrupted();

/// Ends the process by the signal that came, as if it had not been caught. Only when `interrupted`.
void die_of_interrupt();

}  // namespace opdump::tool
