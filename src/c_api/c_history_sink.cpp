#include "opdump/parts/history_sink.hpp"

#include "src/c_api/handles.hpp"

using namespace opdump;

namespace {

constexpr std::size_t kHistoryAlignment = 8;

struct HistoryParts {
  opdump_sink& to;
  MutableBytes memory;
  HistorySink keeping;
  std::uint32_t steps = 0;        ///< that the program asks for
  std::uint32_t after_steps = 0;  ///< likewise
  std::uint32_t steps_now = 0;    ///< those, or the config's
  bool in_pieces = false;

  HistoryParts(opdump_sink& sink, MutableBytes room) : to(sink), memory(room), keeping(sink.sink) {}
};

/// A base of its own, so that there is a sink before there is its handle.
struct PortHistory : HistoryParts, opdump_sink {
  PortHistory(opdump_sink& inner, MutableBytes room)
      : HistoryParts(inner, room),
        opdump_sink{.sink = keeping,
                    .destroy = &PortHistory::end,
                    .crash_sink = inner.crash_sink,
                    .follow = &PortHistory::follow_config,
                    .make_place = inner.make_place,
                    .check = &PortHistory::check_config,
                    .history = &keeping} {}

  void keep(MutableBytes room, std::uint32_t of_steps, std::uint32_t of_after) {
    steps_now = of_steps;
    keeping.configure(of_steps == 0 ? MutableBytes() : room, of_steps, of_after);
    if (in_pieces) keeping.hand_on_in_pieces();
  }

  static void end(opdump_sink* handle) { handle->destroy = nullptr; }

  static Status follow_config(opdump_sink* handle, const DumpOptions& options, JournalDetail journal) {
    auto& self = *static_cast<PortHistory*>(handle);
    const std::size_t asked = options.history_bytes == 0 ? self.memory.size() : options.history_bytes;
    if (options.history_steps != 0 && asked > self.memory.size()) return Status::no_memory;
    DumpOptions others = options;
    others.history_steps = 0;
    if (const Status status = c_api::follow_options(self.to, others, journal); status != Status::ok)
      return status;
    if (options.history_steps == 0) {
      self.keep(self.memory, self.steps, self.after_steps);
    } else {
      self.keep(self.memory.first(asked), options.history_steps, options.after_steps);
    }
    return Status::ok;
  }

  static Status check_config(const opdump_sink& handle, const DumpConfig& config) {
    const auto& self = static_cast<const PortHistory&>(handle);
    DumpConfig others = config;
    others.options.history_steps = 0;
    if (config.options.history_steps != 0 && config.options.history_steps != self.steps_now)
      return Status::not_supported;
    return c_api::check_sink(self.to, others);
  }
};

/// Null for a sink of another kind.
PortHistory* history_of(opdump_sink* sink) {
  return sink != nullptr && sink->destroy == &PortHistory::end ? static_cast<PortHistory*>(sink) : nullptr;
}

}  // namespace

opdump_sink* c_api::behind_history(opdump_sink* sink) {
  PortHistory* const history = history_of(sink);
  return history == nullptr ? nullptr : &history->to;
}

extern "C" {

std::size_t opdump_history_sink_size(std::size_t history_bytes) {
  return c_api::room_for<PortHistory>() + kHistoryAlignment - 1 + history_bytes;
}

opdump_status opdump_history_sink_create(void* memory, std::size_t bytes, std::size_t history_bytes,
                                         opdump_sink* to, opdump_sink** sink) {
  if (sink == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *sink = nullptr;
  if (to == nullptr || history_bytes < HistorySink::kBlockBytes) return OPDUMP_ERR_INVALID_ARGUMENT;
  c_api::HandleMemory room(memory, bytes);
  PortHistory* const place = room.take<PortHistory>();
  std::byte* const blocks = room.bytes(history_bytes, kHistoryAlignment);
  if (room.full()) return OPDUMP_ERR_NO_MEMORY;
  *sink = ::new (place) PortHistory(*to, {blocks, history_bytes});
  return OPDUMP_OK;
}

opdump_status opdump_history_sink_keep(opdump_sink* sink, std::uint32_t history_steps,
                                       std::uint32_t after_steps) {
  PortHistory* const history = history_of(sink);
  if (history == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  history->steps = history_steps;
  history->after_steps = after_steps;
  history->keep(history->memory, history_steps, after_steps);
  return OPDUMP_OK;
}

opdump_status opdump_history_sink_trigger(opdump_sink* sink) {
  PortHistory* const history = history_of(sink);
  if (history == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  history->keeping.trigger();
  return OPDUMP_OK;
}

opdump_status opdump_history_sink_in_pieces(opdump_sink* sink) {
  PortHistory* const history = history_of(sink);
  if (history == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  history->in_pieces = true;
  history->keeping.hand_on_in_pieces();
  return OPDUMP_OK;
}

opdump_status opdump_history_sink_hand_on(opdump_sink* sink, std::size_t budget_bytes, int* more) {
  PortHistory* const history = history_of(sink);
  if (history == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  const bool again = history->keeping.hand_on_some(budget_bytes);
  if (more != nullptr) *more = again ? 1 : 0;
  return OPDUMP_OK;
}

opdump_status opdump_history_sink_counts(opdump_sink* sink, opdump_history_counts* counts,
                                         std::size_t bytes) {
  const PortHistory* const history = history_of(sink);
  if (history == nullptr || counts == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  const opdump_history_counts all = {.triggers = history->keeping.triggers(),
                                     .let_go = history->keeping.let_go(),
                                     .lost = history->keeping.lost()};
  return c_api::to_c(c_api::give_struct(all, counts, bytes));
}

}  // extern "C"
