// For boards whose timers are not driven here.

#include "../board.hpp"

namespace board {

void start_ticks(void (*)()) {}
void stop_ticks() {}

}  // namespace board
