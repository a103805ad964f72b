#include "opdump/session.hpp"

#include <new>
#include <string_view>

#include "opdump/parts/build_id.hpp"
#include "opdump/parts/config_digest.hpp"
#include "opdump/types/account.hpp"
#include "opdump/types/clock_step.hpp"
#include "opdump/types/overflow.hpp"
#include "src/c_api/handles.hpp"
#include "src/c_api/provenance.hpp"

using namespace opdump;
using c_api::to_c;

namespace {

std::size_t scratch_bytes(const opdump_session_options& options) {
  const std::size_t name = c_api::name_room(options.name_bytes);
  std::size_t op_name = name;
  // A watched operator's records have two names in one.
  if (build::kFaults && options.faults != nullptr) op_name = 2 * name + WatchState::kBetween.size();
  return drain_scratch_bytes(name, name, op_name);
}

/// C counts from the other end.
JournalDetail journal_detail(std::uint32_t journal) {
  constexpr auto kAll = static_cast<std::uint32_t>(JournalDetail::records);
  static_assert(OPDUMP_JOURNAL_RECORDS == kAll - static_cast<std::uint32_t>(JournalDetail::records) &&
                OPDUMP_JOURNAL_GAPS == kAll - static_cast<std::uint32_t>(JournalDetail::gaps) &&
                OPDUMP_JOURNAL_NONE == kAll - static_cast<std::uint32_t>(JournalDetail::none));
  return static_cast<JournalDetail>(kAll - journal);
}

/// Adds what the handle of extras has in this build.
void add_extras(opdump_extras& extras, SessionParts<c_api::PortMemory>& parts) {
#if OPDUMP_STATISTICS
  parts.reduction = &extras.reduction;
#endif
#if OPDUMP_SMALL_CODE == 0
  parts.formats = {.protobuf = &extras.protobuf, .npy = &extras.npy, .bin = &extras.bin};
  parts.restorer = &extras.restorer;
#endif
  static_cast<void>(extras);
  static_cast<void>(parts);
}

SessionParts<c_api::PortMemory> parts_of(const opdump_session_options& options, opdump_session& self,
                                         MutableBytes scratch) {
  SessionParts<c_api::PortMemory> parts = {.memory = self.memory,
                                           .sink = options.sink->sink,
                                           .clock = self.clock,
                                           .scratch = scratch,
                                           .device_id = options.device_id,
                                           .when_full = static_cast<WhenFull>(options.when_full),
                                           .block_limit_ms = options.block_limit_ms,
                                           .journal = journal_detail(options.journal),
                                           .log = options.log == nullptr ? nullptr : &options.log->log};
  if constexpr (!build::kLean) parts.triggers = options.sink->triggers;
  if (options.extras != nullptr) add_extras(*options.extras, parts);
  if constexpr (build::kFaults) {
    if (options.faults != nullptr) c_api::add_faults(*options.faults, parts);
  }
  return parts;
}

template <class Own>
decltype(auto) make_session(Own& own, const SessionParts<c_api::PortMemory>& parts) {
  if constexpr (opdump_session::kMayLieElsewhere) {
    return own.emplace(parts);
  } else {
    return c_api::PortSession(parts);
  }
}

Status configure(opdump_session& self, const DumpOptions& options) {
  const Status status = self.session.configure(options);
  if (status != Status::ok) return status;
  self.configured = true;
  return c_api::follow_options(self.sink, options, self.session.journal());
}

/// Tells the log of options that do not count.
void tell_ignored(const opdump_session& self, const DumpOptions& options) {
  if (self.configured || self.log == nullptr || options.history_steps != 0 || !asks_anything(options)) return;
  constexpr std::string_view kLine =
      "config: the options in its \"opdump\" object do not count, as opdump_session_configure was not called";
  self.log->say(self.log->context, kLine.data(), kLine.size());
}

Status set_config(opdump_session& self, const DumpConfig& config) {
  if (const Status status = c_api::check_sink(self.sink, config); status != Status::ok) return status;
  // A lean build knows no layout that has one made.
  if (build::kLean || self.sink.make_place == nullptr || !config.active)
    return self.session.set_config(config, true);
  DumpConfig placed = config;
  if (const Status status = self.sink.make_place(placed); status != Status::ok) return status;
  return self.session.set_config(placed, true);
}

static_assert(OPDUMP_WHEN_FULL_DROP == static_cast<int>(WhenFull::drop));
static_assert(OPDUMP_WHEN_FULL_BLOCK == static_cast<int>(WhenFull::block));
static_assert(OPDUMP_WHEN_FULL_INLINE == static_cast<int>(WhenFull::inline_drain));
static_assert(OPDUMP_WHEN_FULL_DEGRADE == static_cast<int>(WhenFull::degrade));

}  // namespace

// Called once.
[[gnu::always_inline]] inline opdump_session::opdump_session(const opdump_session_options& options,
                                                             const opdump_memory& memory_port,
                                                             const opdump_clock& clock_port,
                                                             MutableBytes scratch)
    : session(make_session(own, parts_of(options, *this, scratch))),
      memory(memory_port),
      clock(clock_port),
      sink(*options.sink),
      log(options.log) {}

extern "C" {

std::size_t opdump_session_size(const opdump_session_options* from) {
  static_assert(!c_api::kBounded ||
                c_api::room_for<opdump_session>() + drain_scratch_bytes(1000, 1000, 1000) <=
                    OPDUMP_SESSION_BYTES(1000));
  opdump_session_options options;
  if (c_api::take_struct(from, options) != Status::ok) return 0;
  return c_api::room_for<opdump_session>() + scratch_bytes(options);
}

opdump_status opdump_session_create(void* memory, std::size_t bytes, const opdump_session_options* from,
                                    opdump_session** session) {
  if (session == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *session = nullptr;
  opdump_session_options options;
  opdump_memory memory_port;
  opdump_clock clock_port;
  Status status = c_api::take_struct(from, options);
  if (status == Status::ok) status = c_api::take_memory(options.memory, memory_port);
  if (status == Status::ok) status = c_api::take_struct(options.clock, clock_port);
  if (status != Status::ok) return to_c(status);
  if (clock_port.unix_us == nullptr || clock_port.monotonic_ms == nullptr || options.sink == nullptr ||
      options.when_full > OPDUMP_WHEN_FULL_DEGRADE || options.journal > OPDUMP_JOURNAL_NONE)
    return OPDUMP_ERR_INVALID_ARGUMENT;
  c_api::HandleMemory room(memory, bytes);
  opdump_session* const at = room.take<opdump_session>();
  std::byte* const scratch = room.bytes(scratch_bytes(options));
  if (room.full()) return OPDUMP_ERR_NO_MEMORY;
  *session = ::new (at)
      opdump_session(options, memory_port, clock_port, MutableBytes(scratch, scratch_bytes(options)));
  return OPDUMP_OK;
}

opdump_status opdump_session_configure(opdump_session* session, const opdump_config* config) {
  if (session == nullptr || config == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return to_c(configure(*session, config->config.options));
}

opdump_status opdump_session_boot(opdump_session* session, const opdump_config* config) {
  if (session == nullptr || config == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  Status status = configure(*session, config->config.options);
  if (status != Status::ok) return to_c(status);
  status = session->session.init();
  if (status == Status::ok) status = set_config(*session, config->config);
  if (status != Status::ok && session->session.initialised()) static_cast<void>(session->session.finalize());
  return to_c(status);
}

opdump_status opdump_session_init(opdump_session* session) {
  return session == nullptr ? c_api::kInvalidArgument : to_c(session->session.init());
}

opdump_status opdump_session_set_config(opdump_session* session, const opdump_config* config) {
  if (session == nullptr || config == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  // Elsewhere the session says so.
  if (build::kLean) tell_ignored(*session, config->config.options);
  return to_c(set_config(*session, config->config));
}

opdump_status opdump_session_finalize(opdump_session* session) {
  return session == nullptr ? c_api::kInvalidArgument : to_c(session->session.finalize());
}

opdump_status opdump_session_finalize_some(opdump_session* session, std::size_t budget_bytes) {
  return session == nullptr ? c_api::kInvalidArgument : to_c(session->session.finalize_some(budget_bytes));
}

std::size_t opdump_session_drain(opdump_session* session, std::size_t budget_bytes) {
  return session == nullptr ? 0 : session->session.drain_some(budget_bytes);
}

opdump_status opdump_session_flush(opdump_session* session, std::uint32_t limit_ms) {
  return session == nullptr ? c_api::kInvalidArgument : to_c(session->session.flush(limit_ms));
}

opdump_status opdump_session_sync(opdump_session* session) {
  return session == nullptr ? c_api::kInvalidArgument : to_c(session->session.sync());
}

opdump_status opdump_session_counts(const opdump_session* session, opdump_counts* counts, std::size_t bytes) {
  if (session == nullptr || counts == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return to_c(c_api::give_struct(c_api::to_c(session->session.counts()), counts, bytes));
}

std::uint32_t opdump_session_overflows(const opdump_session* session) {
  return session == nullptr ? 0 : session->session.overflows();
}

std::uint32_t opdump_session_overwrites(const opdump_session* session) {
  return session == nullptr ? 0 : session->session.overwrites();
}

opdump_status opdump_session_first_bad_op(const opdump_session* session, opdump_bad_op* bad,
                                          std::size_t bytes) {
  if (!build::kFaults) return OPDUMP_ERR_NOT_SUPPORTED;
  if (session == nullptr || bad == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  const FirstBadOp first = session->session.first_bad_op();
  const opdump_bad_op all = {.unix_us = first.unix_us,
                             .step = first.step,
                             .status = first.status,
                             .model_id = first.model_id,
                             .op = first.op};
  return to_c(c_api::give_struct(all, bad, bytes));
}

opdump_status opdump_session_last_sink_failure(const opdump_session* session) {
  return session == nullptr ? c_api::kInvalidArgument : to_c(session->session.last_sink_failure());
}

opdump_status opdump_session_journal_failure(const opdump_session* session) {
  return session == nullptr ? c_api::kInvalidArgument : to_c(session->session.journal_failure());
}

opdump_status opdump_session_tell_clock(opdump_session* session, std::uint64_t shown_us,
                                        std::uint64_t unix_us) {
  if (session == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return opdump::c_api::to_c(session->session.tell_clock({shown_us, unix_us}));
}

std::size_t opdump_provenance_size(void) {
  return build::kLean ? 0 : c_api::room_for<Provenance>();
}

opdump_status opdump_session_tell_provenance(opdump_session* session, const opdump_provenance* provenance,
                                             void* memory, std::size_t bytes) {
  if (session == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  Provenance told;
  const Status status = c_api::take_provenance(provenance, told);
  if (status != Status::ok) return c_api::to_c(status);
  if (build::kLean) return c_api::to_c(session->session.tell_provenance(told));
  c_api::HandleMemory room(memory, bytes);
  auto* const own = room.take<Provenance>();
  if (own == nullptr) return OPDUMP_ERR_NO_MEMORY;
  return c_api::to_c(session->session.tell_provenance(*::new (own) Provenance(told)));
}

opdump_status opdump_note_build_id(const void* notes, std::size_t bytes, char text[65]) {
  if (text == nullptr || (notes == nullptr && bytes != 0)) return OPDUMP_ERR_INVALID_ARGUMENT;
  const std::string_view id = build_id_in({static_cast<const std::byte*>(notes), bytes},
                                          std::span<char, kMostBuildIdDigits>(text, kMostBuildIdDigits));
  text[id.size()] = '\0';
  return id.empty() ? OPDUMP_ERR_NOT_FOUND : OPDUMP_OK;
}

opdump_status opdump_config_digest(const void* config, std::size_t bytes, char text[9]) {
  if (text == nullptr || (config == nullptr && bytes != 0)) return OPDUMP_ERR_INVALID_ARGUMENT;
  static_cast<void>(config_digest({static_cast<const std::byte*>(config), bytes},
                                  std::span<char, kConfigDigestDigits>(text, kConfigDigestDigits)));
  text[kConfigDigestDigits] = '\0';
  return OPDUMP_OK;
}

}  // extern "C"
