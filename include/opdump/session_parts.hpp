#pragma once
#include <cstdint>

#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/port/clock.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/port/listeners.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/config.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a session is made of. Everything is referred to and must outlive it.
template <class Memory>
struct SessionParts {
  Memory& memory;
  Sink& sink;
  Clock& clock;
  MutableBytes scratch;  ///< for the drainer; see `drain_scratch_bytes`
  std::uint32_t device_id = 0;
  WhenFull when_full = WhenFull::block;  ///< of recorders that are not given one of their own
  /// Longest wait without progress: of a recorder for room under WhenFull::block and for a copy in the
  /// background, of the control context for the drainer. While a recorder waits for room, the longest time
  /// between two of its looks counts as no more than an eighth of this, as the process may have been stopped
  /// in it (with OPDUMP_SMALL_CODE it counts whole).
  std::uint32_t block_limit_ms = 1000;
  JournalDetail journal = JournalDetail::records;
  /// For configs that want statistics, and WhenFull::degrade, which without it is WhenFull::drop.
  Reduction* reduction = nullptr;
  RecordFormats formats{};            ///< that configs may ask for
  SessionLog* log = nullptr;          ///< is told what configs and models come to; null: nobody
  OverflowCheck* overflow = nullptr;  ///< for configs that want overflow dumps
  MutableBytes watch_memory{};        ///< for configs that watch, 8-byte aligned; see `watch_bytes`
  WatchListener* watch_listener = nullptr;
  /// For configs in use at once beyond OPDUMP_MAX_CONFIGS, 8-byte aligned; see `more_config_bytes`. 254 may be
  /// in use in all. Without a journal, with OPDUMP_SMALL_CODE, OPDUMP_SURVIVE_RESET or OPDUMP_MAX_CONFIGS=1
  /// it stays unused.
  MutableBytes more_configs{};
  Restorer* restorer = nullptr;  ///< for configs that want the framework's formats; null: tensors keep theirs
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
