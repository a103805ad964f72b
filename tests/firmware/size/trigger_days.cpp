// What it takes to keep the day of triggers across boots, in two blocks of flash, but for the port's
// functions.

#include <new>

#include "opdump/parts/trigger_days.hpp"
#include "platform/flashlog/day_blocks.hpp"

using namespace opdump;

extern "C" {
DayStore* size_make_store(void* at, const flashlog::Device& device, MutableBytes page) {
  return new (at) flashlog::DayBlocks(device, 0, page);
}
TriggeredHistory* size_make(void* at, TriggeredHistory& history, DayStore& store, Clock& clock) {
  return new (at) TriggerDays(history, store, clock);
}
void size_resume(TriggerDays& days, TriggerSink& sink) {
  days.resume(sink);
}
extern const char bytes_of_trigger_days[sizeof(TriggerDays)];
const char bytes_of_trigger_days[sizeof(TriggerDays)] = {};
extern const char bytes_of_day_blocks[sizeof(flashlog::DayBlocks)];
const char bytes_of_day_blocks[sizeof(flashlog::DayBlocks)] = {};
}
