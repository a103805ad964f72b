#include "src/c_api/handles.hpp"

#if OPDUMP_SMALL_CODE == 0

#include <bit>

#include "opdump/impl/stats/kernels.hpp"
#include "opdump/parts/trigger_sink.hpp"
#include "opdump/parts/triggers.hpp"

using namespace opdump;

namespace {

constexpr std::size_t kTriggeredModels = 8;

#if OPDUMP_STATISTICS
using PortLook = FullLook;
PortLook port_look() {
  return {&statistics_kernels()};
}
#else
using PortLook = SmallLook;
PortLook port_look() {
  return {};
}
#endif

struct TriggerParts {
  opdump_sink& keeping;
  c_api::PortClock clock;
  TriggerSink firing;
  Triggers<c_api::PortMemory, PortLook, kTriggeredModels> looks;
  std::uint32_t followed = 0;  ///< triggers

  TriggerParts(opdump_sink& history, opdump_sink& below, const opdump_clock& port, const TriggerRoom& room)
      : keeping(history),
        clock(port),
        firing(*history.history, below.sink, clock, room),
        looks(firing, port_look()) {}
};

/// A base of its own, so that there is a sink before there is its handle.
struct PortTriggers : TriggerParts, opdump_sink {
  PortTriggers(opdump_sink& history_sink, opdump_sink& below, const opdump_clock& port,
               const TriggerRoom& room)
      : TriggerParts(history_sink, below, port, room),
        opdump_sink{.sink = firing,
                    .destroy = &PortTriggers::end,
                    .crash_sink = history_sink.crash_sink,
                    .follow = &PortTriggers::follow_config,
                    .make_place = history_sink.make_place,
                    .check = &PortTriggers::check_config,
                    .history = history_sink.history,
                    .triggers = &looks} {}

  static void end(opdump_sink* handle) { handle->destroy = nullptr; }

  static Status follow_config(opdump_sink* handle, const DumpOptions& options, JournalDetail journal) {
    auto& self = *static_cast<PortTriggers*>(handle);
    DumpOptions others = options;
    others.triggers = {};
    self.followed = 0;
    if (const Status status = c_api::follow_options(self.keeping, others, journal); status != Status::ok)
      return status;
    const Status status = self.firing.begin_triggers(options);
    if (status == Status::ok) self.followed = static_cast<std::uint32_t>(self.firing.rules().size());
    return status;
  }

  static Status check_config(const opdump_sink& handle, const DumpConfig& config) {
    return c_api::check_sink(static_cast<const PortTriggers&>(handle).keeping, config);
  }
};

PortTriggers* triggers_of_sink(opdump_sink* sink) {
  return sink != nullptr && sink->destroy == &PortTriggers::end ? static_cast<PortTriggers*>(sink) : nullptr;
}

/// False for options that cannot be; sizes that are 0 get theirs.
bool take_options(const opdump_trigger_options* from, opdump_trigger_options& options) {
  if (c_api::take_struct(from, options) != Status::ok) return false;
  if (options.triggers == 0) options.triggers = 4;
  if (options.points == 0) options.points = 16;
  if (options.firings == 0) options.firings = 8;
  constexpr std::uint32_t kMostFirings = 1u << 16;
  return options.triggers <= kMostTriggers && options.points < TriggerPoint::kNone &&
         std::has_single_bit(options.firings) && options.firings <= kMostFirings && options.reserved == 0;
}

template <class T>
std::span<T> make_all(T* memory, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) ::new (memory + i) T();
  return {memory, count};
}

std::size_t firings_in(const opdump_trigger_options& options) {
  return std::size_t{options.firings} * OPDUMP_MAX_RECORDERS;
}

}  // namespace

extern "C" {

std::size_t opdump_trigger_sink_size(const opdump_trigger_options* from) {
  opdump_trigger_options options;
  if (!take_options(from, options)) return 0;
  return c_api::room_for<PortTriggers>() + c_api::room_for<TriggerState>(options.triggers) +
         c_api::room_for<FiringCounts>(options.triggers) + c_api::room_for<TriggerPoint>(options.points) +
         c_api::room_for<Firing>(firings_in(options));
}

opdump_status opdump_trigger_sink_create(void* memory, std::size_t bytes, const opdump_trigger_options* from,
                                         opdump_sink** sink) {
  if (sink == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *sink = nullptr;
  opdump_trigger_options options;
  opdump_clock clock;
  if (!take_options(from, options) || c_api::take_struct(options.clock, clock) != Status::ok ||
      clock.unix_us == nullptr || clock.monotonic_ms == nullptr)
    return OPDUMP_ERR_INVALID_ARGUMENT;
  opdump_sink* const below = c_api::behind_history(options.history);
  if (below == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  c_api::HandleMemory room(memory, bytes);
  PortTriggers* const place = room.take<PortTriggers>();
  TriggerState* const states = room.take<TriggerState>(options.triggers);
  FiringCounts* const told = room.take<FiringCounts>(options.triggers);
  TriggerPoint* const points = room.take<TriggerPoint>(options.points);
  Firing* const firings = room.take<Firing>(firings_in(options));
  if (room.full()) return OPDUMP_ERR_NO_MEMORY;
  const TriggerRoom parts = {.states = make_all(states, options.triggers),
                             .told = make_all(told, options.triggers),
                             .points = make_all(points, options.points),
                             .firings = make_all(firings, firings_in(options)).data(),
                             .queued = options.firings};
  *sink = ::new (place) PortTriggers(*options.history, *below, clock, parts);
  return OPDUMP_OK;
}

opdump_status opdump_trigger_sink_fire(opdump_sink* sink, const char* name) {
  PortTriggers* const triggers = triggers_of_sink(sink);
  if (triggers == nullptr || name == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return c_api::to_c(triggers->firing.fire(name));
}

opdump_status opdump_trigger_sink_counts(opdump_sink* sink, std::uint32_t trigger,
                                         opdump_trigger_counts* counts, std::size_t bytes) {
  const PortTriggers* const triggers = triggers_of_sink(sink);
  if (triggers == nullptr || counts == nullptr || trigger >= triggers->followed)
    return OPDUMP_ERR_INVALID_ARGUMENT;
  const FiringCounts of = triggers->firing.counts(trigger);
  const auto held = [&of](HeldFiring why) { return of.held[static_cast<std::size_t>(why)]; };
  const opdump_trigger_counts all = {.fired = of.fired,
                                     .cooldown = held(HeldFiring::cooldown),
                                     .firings = held(HeldFiring::firings),
                                     .bytes = held(HeldFiring::bytes),
                                     .crowded = held(HeldFiring::crowded),
                                     .cut = of.cut,
                                     .unread = of.unread,
                                     .looks = of.looks};
  return c_api::to_c(c_api::give_struct(all, counts, bytes));
}

}  // extern "C"

#else

extern "C" {

std::size_t opdump_trigger_sink_size(const opdump_trigger_options*) {
  return 0;
}

opdump_status opdump_trigger_sink_create(void*, std::size_t, const opdump_trigger_options*,
                                         opdump_sink** sink) {
  if (sink != nullptr) *sink = nullptr;
  return OPDUMP_ERR_NOT_SUPPORTED;
}

opdump_status opdump_trigger_sink_fire(opdump_sink*, const char*) {
  return OPDUMP_ERR_NOT_SUPPORTED;
}

opdump_status opdump_trigger_sink_counts(opdump_sink*, std::uint32_t, opdump_trigger_counts*, std::size_t) {
  return OPDUMP_ERR_NOT_SUPPORTED;
}

}  // extern "C"

#endif
