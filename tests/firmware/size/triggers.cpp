// What triggers take in a firmware: looks in the recorder, and the drainer's side with the lines of the
// journal, but for the history that they write.

#include <new>

#include "opdump/parts/trigger_sink.hpp"
#include "opdump/parts/triggers.hpp"
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"

using namespace opdump;
using Looks = Triggers<HostMemory, SmallLook, 1>;

extern "C" {
Sink* size_make(void* at, TriggeredHistory& history, Sink& below, Clock& clock, const TriggerRoom& room) {
  return new (at) TriggerSink(history, below, clock, room);
}
TriggerWatch<HostMemory>* size_make_looks(void* at, TriggerSink& sink) {
  return new (at) Looks(sink);
}
Status size_follow(TriggerSink& sink, const DumpOptions& options) {
  return sink.begin_triggers(options);
}
Status size_fire(TriggerSink& sink, std::string_view name) {
  return sink.fire(name);
}
extern const char bytes_of_trigger_sink[sizeof(TriggerSink)];
const char bytes_of_trigger_sink[sizeof(TriggerSink)] = {};
extern const char bytes_of_triggers[sizeof(Looks)];
const char bytes_of_triggers[sizeof(Looks)] = {};
extern const char bytes_of_trigger_memory[sizeof(TriggerMemory<1, 1, 8>)];
const char bytes_of_trigger_memory[sizeof(TriggerMemory<1, 1, 8>)] = {};
}
