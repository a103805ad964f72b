// A session over raw flash, as a firmware links it, from init to finalize, but for loading models.

#include "core_and_flash_log.cpp"
#include "platform/baremetal/tick_clock.hpp"

using HostSession = BasicSession<HostMemory>;

extern "C" {
HostSession* size_make_session(void* memory, const SessionParts<HostMemory>& parts) {
  return ::new (memory) HostSession(parts);
}
Clock* size_make_clock(void* memory) {
  return ::new (memory) baremetal::TickClock(1000);
}
Status size_init(HostSession& session) {
  return session.init();
}
Status size_set_config(HostSession& session, const DumpConfig& config) {
  return session.set_config(config);
}
HostRecorder* size_add_recorder(HostSession& session, MutableBytes ring) {
  return session.add_recorder(ring).value();
}
std::size_t size_drain_some(HostSession& session, std::size_t budget) {
  return session.drain_some(budget);
}
Status size_finalize(HostSession& session) {
  return session.finalize();
}
}
