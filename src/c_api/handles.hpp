#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "opdump/base/arena.hpp"
#include "opdump/opdump.h"
#include "opdump/parts/history_sink.hpp"
#include "opdump/parts/overflow_scan.hpp"
#include "opdump/parts/statistics.hpp"
#include "opdump/parts/text_log.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/session.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/plan.hpp"
#include "opdump/types/watch.hpp"
#include "src/c_api/c_port.hpp"

#if OPDUMP_SMALL_CODE == 0
#include "opdump/parts/bin.hpp"
#include "opdump/parts/format_restorer.hpp"
#include "opdump/parts/npy.hpp"
#include "opdump/parts/protobuf.hpp"
#include "opdump/port/listeners.hpp"
#endif

/// What the handles of opdump.h stand for.

struct opdump_sink {
  opdump::Sink& sink;
  void (*destroy)(opdump_sink* self) = nullptr;  ///< null: nothing to be done
  bool is_flash_log = false;
  void* crash_sink = nullptr;  ///< a posix::CrashSink, which `sink` is; null: it is none
  /// As ConfigurableSink; null: the sink can do nothing of the kind.
  opdump::Status (*follow)(opdump_sink* self, const opdump::DumpOptions& options,
                           opdump::JournalDetail journal) = nullptr;
  /// Makes the place that `config` dumps to, where that is not the program's; null: there is none to make.
  opdump::Status (*make_place)(opdump::DumpConfig& config) = nullptr;
  /// Whether the sink does, since `follow`, what `config` asks for besides files: a history, a seal. Null: it
  /// does neither.
  [[no_unique_address]] opdump::Maybe<
      !opdump::build::kLean, opdump::Status (*)(const opdump_sink& self, const opdump::DumpConfig& config)>
      check{};
  /// Between the session and `crash_sink`; null: there is none.
  [[no_unique_address]] opdump::Maybe<!opdump::build::kLean, opdump::HistorySink*> history{};
  /// For the session; null: it has no triggers.
  [[no_unique_address]] opdump::Maybe<!opdump::build::kLean, opdump::TriggerWatch<opdump::c_api::PortMemory>*>
      triggers{};
};

struct opdump_config {
  opdump::DumpConfig config;
};

struct opdump_extras {
  explicit opdump_extras(const opdump_memory& port);

  opdump::c_api::PortMemory memory;
#if OPDUMP_STATISTICS
  opdump::StatisticsReduction<opdump::c_api::PortMemory> reduction;
#endif
#if OPDUMP_SMALL_CODE == 0
  opdump::ProtobufFormat protobuf;
  opdump::NpyFormat npy;
  opdump::BinFormat bin;
  opdump::FormatRestorer<opdump::c_api::PortMemory, OPDUMP_MAX_RECORDERS, 4096> restorer;
#endif
};

#if OPDUMP_FAULTS == 2
namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {

/// The port's memory, and its device where that tells of overflows.
class FaultMemory {
 public:
  FaultMemory(const opdump_memory& port, const opdump_faults_options& options)
      : memory_(port), options_(options) {}

  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) {
    return memory_.copy(to, from, bytes);
  }
  Bytes view(Address from, std::uint64_t bytes) const { return memory_.view(from, bytes); }
  CopyRules copy_rules() const { return memory_.copy_rules(); }
  void will_read(Address from, std::uint64_t bytes) { memory_.will_read(from, bytes); }

  Result<bool> overflowed(std::uint32_t stream_id) { return ask_overflowed(options_, stream_id); }

 private:
  PortMemory memory_;
  const opdump_faults_options& options_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api

struct opdump_faults final : opdump::WatchListener {
  opdump_faults(const opdump_memory& port, const opdump_faults_options& from, opdump::MutableBytes watch);

  void overwritten(const opdump::Overwrite& overwrite) override;

  opdump_faults_options options;
  opdump::c_api::FaultMemory memory;
  opdump::OverflowScan<opdump::c_api::FaultMemory> overflow;
  opdump::MutableBytes watch_memory;
};
#endif

struct opdump_log {
  opdump_say say;
  void* context;
  opdump::TextLog log;
};

struct opdump_session {
  /// Where the libraries are one program's, a handle may stand for a session that lies elsewhere.
  static constexpr bool kMayLieElsewhere = !opdump::build::kLean;

  opdump_session(const opdump_session_options& options, const opdump_memory& memory_port,
                 const opdump_clock& clock_port, opdump::MutableBytes scratch);
  template <class Session>
  opdump_session(Session& elsewhere, opdump_sink& its_sink)
      : session(elsewhere), memory(opdump_memory{}), clock(opdump_clock{}), sink(its_sink), log(nullptr) {}

  [[no_unique_address]] opdump::Maybe<kMayLieElsewhere, std::optional<opdump::c_api::PortSession>> own;
  std::conditional_t<kMayLieElsewhere, opdump::c_api::PortSession&, opdump::c_api::PortSession> session;
  opdump::c_api::PortMemory memory;
  opdump::c_api::PortClock clock;
  opdump_sink& sink;
  opdump_log* log;  ///< null: nothing is told
  bool configured = false;
};

struct opdump_model {
  opdump::c_api::PortSession* session = nullptr;
  opdump::ModelDesc desc;
  opdump::ModelPlan plan;
};

struct opdump_recorder {
  opdump_recorder(opdump::c_api::PortSession& its_session, opdump::c_api::PortRecorder& its_recorder,
                  std::span<opdump::TensorView> its_tensors)
      : session(its_session), recorder(its_recorder), tensors(its_tensors) {}

  opdump::c_api::PortSession& session;
  opdump::c_api::PortRecorder& recorder;
  std::span<opdump::TensorView> tensors;  ///< those of one operator, while it is captured
  bool gone = false;                      ///< taken back; `recorder` may be another handle's
  /// The caller's; null: none.
  [[no_unique_address]] opdump::Maybe<opdump::build::kFaults, const opdump_running_op*> running{};
  [[no_unique_address]] opdump::Maybe<opdump::build::kFaults, opdump::OpMemory> memory{};  ///< of that
};

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {

/// The sink behind one of opdump_history_sink_create; null for a sink of another kind.
opdump_sink* behind_history(opdump_sink* sink);

/// Adds what `faults` has. Not there without OPDUMP_FAULTS == 2.
void add_faults(opdump_faults& faults, SessionParts<PortMemory>& parts);

/// Tells the recorder of the operator that has begun. Not there without OPDUMP_FAULTS == 2.
void announce_running(opdump_recorder& recorder);

/// As `follow_options` of boot.hpp.
inline Status follow_options(opdump_sink& sink, const DumpOptions& options, JournalDetail journal) {
  if (sink.follow != nullptr) return sink.follow(&sink, options, journal);
  return asks_sink(options) ? Status::not_supported : Status::ok;
}

/// `opdump_sink::check`.
template <class Handle>
Status check_sink(const Handle& sink, const DumpConfig& config) {
  if constexpr (!build::kLean && kAlways<Handle>) {
    if (sink.check != nullptr) return sink.check(sink, config);
  }
  return config.options.history_steps != 0 || !seal_key(config.options).empty() ? Status::not_supported
                                                                                : Status::ok;
}

/// Whether there is nothing behind the handle.
inline bool is_gone(const opdump_recorder* recorder) {
  return recorder == nullptr || recorder->gone;
}

/// Makes the recorder's tensors those of an operator: its inputs, and its outputs behind them.
Status take_tensors(const opdump_recorder& recorder, const opdump_tensor* inputs, std::uint32_t input_count,
                    const opdump_tensor* outputs, std::uint32_t output_count);

/// Room for `count` objects of type T in an arena that begins at any address.
template <class T>
constexpr std::size_t room_for(std::size_t count = 1) {
  return count * sizeof(T) + alignof(T) - 1;
}

/// Whether the bounds of opdump.h, "Static memory", hold for these knobs.
inline constexpr bool kBounded = OPDUMP_MAX_RECORDERS <= OPDUMP_BYTES_(8, 8, 1, 1, 1) &&
                                 OPDUMP_MAX_CONFIGS <= OPDUMP_BYTES_(4, 4, 1, 1, 1) &&
                                 OPDUMP_CACHE_LINE_BYTES <= OPDUMP_BYTES_(64, 64, 64, 64, 4) &&
                                 (OPDUMP_BYTES_(true, true, false, false, false) ||
                                  (build::kLean && !build::kOverflow && !build::kStatistics));

/// The memory that a program gives for a handle; null has no bytes.
class HandleMemory {
 public:
  OPDUMP_APART_IF_LEAN HandleMemory(void* memory, std::size_t bytes)
      : arena_({static_cast<std::byte*>(memory), memory == nullptr ? 0 : bytes}) {}

  /// Room for `count` objects that are still to be made; null when they do not fit.
  template <class T>
  T* take(std::size_t count = 1) {
    return reinterpret_cast<T*>(take(count, sizeof(T), alignof(T)));
  }

  std::byte* bytes(std::size_t count, std::size_t alignment = 1) { return take(count, 1, alignment); }

  /// Whether something did not fit.
  bool full() const { return full_; }

  /// What is left.
  Arena& arena() { return arena_; }

 private:
  OPDUMP_APART_IF_LEAN std::byte* take(std::size_t count, std::size_t size, std::size_t alignment) {
    std::byte* const first = arena_.take(count, size, alignment);
    if (first == nullptr) full_ = true;
    return first;
  }

  Arena arena_;
  bool full_ = false;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api
