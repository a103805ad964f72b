#pragma once
#include <concepts>
#include <cstddef>

#include "opdump/config/blob.hpp"
#include "opdump/session.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A sink that can do as a config's options say. `journal` is what the session's journal tells. `follow`
/// returns `not_supported`, and changes nothing, when the sink cannot do all that `options` ask of it; what
/// they do not say is as the sink was made. While no object is open.
template <class To>
concept ConfigurableSink = requires(To& sink, const DumpOptions& options, JournalDetail journal) {
  { sink.follow(options, journal) } -> std::same_as<Status>;
};

/// Makes `options` count for `sink`. `not_supported`, with nothing changed, when the sink cannot do all that
/// they ask of it.
template <class To>
[[nodiscard]] Status follow_options(To& sink, const DumpOptions& options, JournalDetail journal) {
  if constexpr (ConfigurableSink<To>) {
    return sink.follow(options, journal);
  } else {
    return asks_sink(options) ? Status::not_supported : Status::ok;
  }
}

/// The ring that the config's `ring_bytes` asks for, at the beginning of `room`; all of `room` when it does
/// not say. `no_memory` when it asks for more.
inline Result<MutableBytes> ring_for(MutableBytes room, const DumpOptions& options) {
  const std::size_t bytes = options.ring_bytes ? *options.ring_bytes : room.size();
  if (bytes > room.size()) return Status::no_memory;
  return room.first(bytes);
}

/// Boots a session that is not initialised: all that the config's "opdump" object says counts, for the
/// session and for `sink`, which is the session's own, and `config` is in force. Models are loaded next.
/// Rings are the caller's, see `ring_for`; so is the memory of a history, so that `history_steps` is
/// `not_supported` here. Errors as `BasicSession::configure`, `init` and `set_config`, and `not_supported`
/// when the sink cannot do what is asked of it: the session is not initialised then, captures nothing and can
/// be booted again.
template <class Memory, class To>
[[nodiscard]] Status boot(BasicSession<Memory>& session, To& sink, const DumpConfig& config) {
  Status status = session.configure(config.options);
  if (status != Status::ok) return status;
  status = follow_options(sink, config.options, session.journal());
  if (status == Status::ok) status = session.init();
  if (status == Status::ok) status = session.set_config(config);
  if (status != Status::ok && session.initialised()) static_cast<void>(session.finalize());
  return status;
}

/// As above, from a plan that `opdump compile` has made. `plan` is referred to, in flash for instance, and
/// `lists` hold what `load_plan` makes of it; both stay until `finalize`. Errors also as `load_plan`.
template <class Memory, class To>
[[nodiscard]] Status boot(BasicSession<Memory>& session, To& sink, Bytes plan, Arena& lists) {
  DumpConfig config;
  const Status status = load_plan(plan, lists, config);
  return status == Status::ok ? boot(session, sink, config) : status;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
