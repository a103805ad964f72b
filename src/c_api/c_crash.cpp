#include "opdump/parts/history_sink.hpp"

#include "platform/posix/crash_dump.hpp"

#include "src/c_api/handles.hpp"

using namespace opdump;

#if OPDUMP_FAULTS == 2
/// A C program's session as CrashDump wants it.
struct CrashingSession {
  using Recorder = opdump_recorder;

  opdump_session& handle;

  void begin_crash() { handle.session.begin_crash(); }
  bool is_draining() const { return handle.session.is_draining(); }
  void crash_flush(Recorder* failed) { static_cast<void>(opdump_session_crash_flush(&handle, failed)); }
};

struct opdump_crash_dump {
  CrashingSession session;
  posix::CrashDump<CrashingSession> dump;
};

extern "C" {

std::size_t opdump_crash_dump_size(void) {
  return c_api::room_for<opdump_crash_dump>();
}

opdump_status opdump_crash_dump_install(opdump_session* session, opdump_sink* sink, opdump_recorder* recorder,
                                        void* memory, std::size_t bytes, opdump_crash_dump** dump) {
  if (dump == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *dump = nullptr;
  if (session == nullptr || recorder == nullptr || recorder->gone || sink == nullptr ||
      sink->crash_sink == nullptr)
    return OPDUMP_ERR_INVALID_ARGUMENT;
  c_api::HandleMemory room(memory, bytes);
  opdump_crash_dump* const place = room.take<opdump_crash_dump>();
  if (place == nullptr) return OPDUMP_ERR_NO_MEMORY;
  opdump_crash_dump* const made = ::new (place) opdump_crash_dump{{*session}, {}};
  HistorySink* history = nullptr;
  if_here(sink->history, [&](auto* its) { history = its; });
  const Status status = made->dump.install(made->session, *static_cast<posix::CrashSink*>(sink->crash_sink),
                                           *recorder, history);
  if (status == Status::ok) *dump = made;
  return c_api::to_c(status);
}

void opdump_crash_dump_remove(opdump_crash_dump* dump) {
  if (dump != nullptr) dump->dump.remove();
}

}  // extern "C"
#else
extern "C" {

std::size_t opdump_crash_dump_size(void) {
  return 0;
}

opdump_status opdump_crash_dump_install(opdump_session*, opdump_sink*, opdump_recorder*, void*, std::size_t,
                                        opdump_crash_dump**) {
  return OPDUMP_ERR_NOT_SUPPORTED;
}

void opdump_crash_dump_remove(opdump_crash_dump*) {}

}  // extern "C"
#endif
