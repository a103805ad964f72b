#pragma once
#include "platform/flashlog/device.hpp"

/// What a board supplies to the example. One file below boards/ defines these.
namespace board {

/// The part of the board's flash that the dump may use; its last block holds the config.
opdump::flashlog::Device flash();

/// Calls `on_tick` from an interrupt every few milliseconds from now on, where the board has a timer.
void start_ticks(void (*on_tick)());
void stop_ticks();

}  // namespace board
