#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "opdump/knobs.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a recorder does when its ring has no room.
enum class WhenFull : std::uint8_t {
  drop,   ///< lose the record at once, counted; for interrupts and hard real time
  block,  ///< wait for the drainer up to a limit without progress, then lose the record. After that, lose
          ///< records at once until there is room again, so that a dead sink costs one limit and not one per
          ///< operator
  inline_drain,  ///< "inline": drain its own ring in the caller; for systems without threads: recorders,
                 ///< `drain_some` and `flush` are then one context, and no drain thread can be attached
  degrade,  ///< keep what the session's Reduction makes of the record, at once; if there is no room for that
            ///< either, lose it
};

/// What `policy` is in this build: OPDUMP_WAIT may rule it out.
constexpr WhenFull possible(WhenFull policy) {
  const bool waits = policy == WhenFull::block || policy == WhenFull::inline_drain;
  return OPDUMP_WAIT == 0 && waits ? WhenFull::drop : policy;
}

/// The words for `WhenFull` in configs and on command lines, in its order.
inline constexpr std::string_view kWhenFullWords[] = {"drop", "block", "inline", "degrade"};

/// How much a dump's journal tells.
enum class JournalDetail : std::uint8_t {
  none,     ///< no journal: losses are only counted
  gaps,     ///< what was lost, and the totals
  records,  ///< every record besides
};

/// The words for `JournalDetail`, in its order.
inline constexpr std::string_view kJournalWords[] = {"none", "gaps", "records"};

/// What goes when a dump has all the room it may take.
enum class Keep : std::uint8_t {
  oldest,  ///< new records are refused
  newest,  ///< old dumps and records are removed
};

/// The words for `Keep`, in its order.
inline constexpr std::string_view kKeepWords[] = {"oldest", "newest"};

/// When what was written has to survive a loss of power.
enum class Fsync : std::uint8_t {
  never,     ///< when the system comes to it
  finalize,  ///< when `finalize` has returned
  record,    ///< each record when it is committed, which waits for the medium
};

/// The words for `Fsync`, in its order.
inline constexpr std::string_view kFsyncWords[] = {"never", "finalize", "record"};

inline constexpr std::uint32_t kDefaultHistoryBytes = 1024 * 1024;

/// How to dump, as far as a config says: its "opdump" object. What is absent is up to the program.
struct DumpOptions {
  std::optional<std::uint32_t> ring_bytes{};  ///< of each recorder's ring
  std::optional<WhenFull> when_full{};
  std::optional<std::uint32_t> block_limit_ms{};
  std::optional<JournalDetail> journal{};
  std::uint64_t max_bytes = 0;      ///< of all dumps below `dump_path`; 0: absent
  std::uint64_t max_files = 0;      ///< likewise
  std::uint64_t reserve_bytes = 0;  ///< of the file system, left free; 0: absent
  std::optional<Keep> keep{};
  std::optional<Fsync> fsync{};
  /// Steps that are kept in memory until something happens, see HistorySink; 0: everything is written at
  /// once.
  std::uint32_t history_steps = 0;
  std::uint32_t after_steps = 0;    ///< that are written afterwards
  std::uint32_t history_bytes = 0;  ///< of that memory; 0: kDefaultHistoryBytes
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
