#include "platform/posix/build_id.hpp"
#include "platform/posix/counter_clock.hpp"
#include "platform/posix/crash_dump.hpp"
#include "platform/posix/drain_thread.hpp"
#include "platform/posix/impl/make_directories.hpp"
#include "platform/posix/mindspore/lite_runs.hpp"
#include "platform/posix/tree_sink.hpp"
#include "src/c_api/handles.hpp"

using namespace opdump;

namespace {

Status make_place(DumpConfig& config) {
  const Status status = posix::make_place(config);
  if (status == Status::ok) config = posix::behind_earlier_runs(config);
  return status;
}

struct DirectorySink {
  posix::TreeSink tree;
  posix::CrashSink sink{tree};
  opdump_sink handle{sink, &DirectorySink::destroy, false, &sink, &DirectorySink::follow, &make_place};

  static posix::TreeSink& tree_of(opdump_sink* handle) {
    return static_cast<posix::TreeSink&>(static_cast<posix::CrashSink*>(handle->crash_sink)->before_crash());
  }

  static Status follow(opdump_sink* handle, const DumpOptions& options, JournalDetail journal) {
    return tree_of(handle).follow(options, journal);
  }

  static void destroy(opdump_sink* handle) { tree_of(handle).~TreeSink(); }
};

posix::CounterClock& clock_of(void* context) {
  return *static_cast<posix::CounterClock*>(context);
}

}  // namespace

struct opdump_drain_thread {
  posix::DrainThread<c_api::PortSession> thread;
};

extern "C" {

const opdump_clock* opdump_system_clock(void) {
  static posix::CounterClock clock;
  static const opdump_clock handle = {
      .struct_bytes = sizeof(opdump_clock),
      .context = &clock,
      .unix_us = [](void* context) { return clock_of(context).unix_us(); },
      .utc_offset_seconds = [](void* context) { return clock_of(context).utc_offset_seconds(); },
      .monotonic_ms = [](void* context) { return clock_of(context).monotonic_ms(); },
      .pause = [](void* context) { clock_of(context).pause(); }};
  return &handle;
}

opdump_status opdump_program_build_id(char text[65]) {
  if (text == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  const std::string_view id =
      posix::program_build_id(std::span<char, kMostBuildIdDigits>(text, kMostBuildIdDigits));
  text[id.size()] = '\0';
  return id.empty() ? OPDUMP_ERR_NOT_FOUND : OPDUMP_OK;
}

std::size_t opdump_directory_sink_size(void) {
  return c_api::room_for<DirectorySink>();
}

opdump_status opdump_directory_sink_create(void* memory, std::size_t bytes, opdump_sink** sink) {
  if (sink == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *sink = nullptr;
  c_api::HandleMemory room(memory, bytes);
  DirectorySink* const place = room.take<DirectorySink>();
  if (place == nullptr) return OPDUMP_ERR_NO_MEMORY;
  *sink = &(::new (place) DirectorySink)->handle;
  return OPDUMP_OK;
}

std::size_t opdump_drain_thread_size(void) {
  return c_api::room_for<opdump_drain_thread>();
}

opdump_status opdump_drain_thread_start(opdump_session* session, void* memory, std::size_t bytes,
                                        opdump_drain_thread** thread) {
  if (thread == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *thread = nullptr;
  if (session == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  c_api::HandleMemory room(memory, bytes);
  opdump_drain_thread* const place = room.take<opdump_drain_thread>();
  if (place == nullptr) return OPDUMP_ERR_NO_MEMORY;
  opdump_drain_thread* const made = ::new (place) opdump_drain_thread;
  const Status status = made->thread.start(session->session);
  if (status == Status::ok) *thread = made;
  return c_api::to_c(status);
}

void opdump_drain_thread_stop(opdump_drain_thread* thread) {
  if (thread != nullptr) thread->thread.stop();
}

}  // extern "C"
