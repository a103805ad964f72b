// What triggers of a config take in a firmware: the looks of a recorder at every statistic, what fires and
// what is held back, and the lines of the journal. The history, the sink behind it and the clock are others'.

#include <new>

#include "opdump/parts/trigger_sink.hpp"
#include "opdump/parts/triggers.hpp"
#include "platform/host/host_memory.hpp"

using namespace opdump;

extern "C" {
TriggerSink* size_make(void* memory, TriggeredHistory& history, Sink& below, Clock& clock,
                       TriggerMemory<>& room) {
  return new (memory) TriggerSink(history, below, clock, room.room());
}
TriggerWatch<HostMemory>* size_watch(void* memory, TriggerSink& sink) {
  return new (memory) Triggers<HostMemory>(sink);
}
Status size_follow(TriggerSink& sink, const DumpOptions& options) {
  return sink.follow(options, JournalDetail::gaps);
}
Status size_fire(TriggerSink& sink) {
  return sink.fire("odd answer");
}
extern const char bytes_of_trigger_sink[sizeof(TriggerSink)];
const char bytes_of_trigger_sink[sizeof(TriggerSink)] = {};
extern const char bytes_of_trigger_memory[sizeof(TriggerMemory<>)];
const char bytes_of_trigger_memory[sizeof(TriggerMemory<>)] = {};
}
