#pragma once
#include <concepts>
#include <cstddef>

#include "opdump/config/blob.hpp"
#include "opdump/config/sealed_plan.hpp"
#include "opdump/session.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A sink that can follow the options of a config. `journal` is how much the session's journal says. `follow`
/// returns `not_supported`, and changes nothing, when the sink cannot do all that `options` ask of it;
/// options that are absent leave the sink as it was made. Called while no object is open.
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

/// The ring that the config's `ring_bytes` asks for, at the beginning of `room`; all of `room` when the
/// config does not say. `no_memory` when the config asks for more.
inline Result<MutableBytes> ring_for(MutableBytes room, const DumpOptions& options) {
  const std::size_t bytes = build::kEnabled && options.ring_bytes ? *options.ring_bytes : room.size();
  if (bytes > room.size()) return Status::no_memory;
  return room.first(bytes);
}

/// Boots a session that is not initialised: the config's "opdump" object counts, for the session and for `sink`,
/// which is the session's own, and `config` is in force. Load the models next. The rings are the caller's, see
/// `ring_for`; the memory of a history would be too, so `history_steps` is `not_supported` here. Errors as
/// `BasicSession::configure`, `init` and `set_config`, and `not_supported` when the sink cannot do what the config
/// asks of it: the session is then not initialised, captures nothing and can be booted again.
template <class Memory, class To>
[[nodiscard]] Status boot(BasicSession<Memory>& session, To& sink, const DumpConfig& config) {
  if (!build::kEnabled) return Status::ok;
  Status status = session.configure(config.options);
  if (status != Status::ok) return status;
  status = follow_options(sink, config.options, session.journal());
  if (status == Status::ok) status = session.init();
  if (status == Status::ok) status = session.set_config(config, true);
  if (status != Status::ok && session.initialised()) static_cast<void>(session.finalize());
  return status;
}

/// As above, from a plan that `opdump compile` has made. The session refers to `plan`, which may lie in flash, and to
/// `lists`, which hold what `load_plan` makes of it; both stay until `finalize`. Errors also as `load_plan`.
template <class Memory, class To>
[[nodiscard]] Status boot(BasicSession<Memory>& session, To& sink, Bytes plan, Arena& lists) {
  DumpConfig config;
  const Status status = load_plan(plan, lists, config);
  return status == Status::ok ? boot(session, sink, config) : status;
}

/// As above, from a plan with a seal behind it, which `verify` checks first: see `load_plan` in
/// config/sealed_plan.hpp.
template <class Memory, class To, PlanVerifier Verify>
[[nodiscard]] Status boot(BasicSession<Memory>& session, To& sink, Bytes sealed, Verify&& verify,
                          Arena& lists) {
  if (!build::kEnabled) return Status::ok;
  DumpConfig config;
  const Status status = load_plan(sealed, verify, lists, config);
  return status == Status::ok ? boot(session, sink, config) : status;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
