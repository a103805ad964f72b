#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opdump/impl/stats/kernels.hpp"
#include "opdump/impl/stats/non_finite.hpp"
#include "opdump/parts/all.hpp"
#include "opdump/parts/history_sink.hpp"
#include "opdump/parts/sealed_sink.hpp"
#include "opdump/parts/text_log.hpp"
#include "opdump/parts/trigger_sink.hpp"
#include "opdump/parts/triggers.hpp"
#include "opdump/session.hpp"
#include "platform/posix/counter_clock.hpp"
#include "platform/posix/crash_dump.hpp"
#include "platform/posix/drain_thread.hpp"
#include "platform/posix/dump_store.hpp"
#include "platform/posix/host_sealer.hpp"
#include "platform/posix/impl/clock_watching_session.hpp"
#include "platform/posix/impl/make_directories.hpp"
#include "platform/posix/impl/op_index_memory.hpp"
#include "platform/posix/impl/room_for.hpp"
#include "platform/posix/impl/working_directory.hpp"
#include "platform/posix/mindspore/extras.hpp"
#include "platform/posix/mindspore/lite_runs.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// What a DumpKit is made with, besides its memory. The kit refers to all of it; it must outlive the kit.
struct KitOptions {
  MutableBytes scratch;         ///< see `drain_scratch_bytes`
  MutableBytes watch_memory{};  ///< see `watch_bytes`
  WatchListener* watch_listener = nullptr;
  MutableBytes more_configs{};  ///< see `more_config_bytes`
  std::uint32_t device_id = 0;
  WhenFull when_full = WhenFull::block;  ///< if the config does not say
  std::uint32_t drain_delay_us = DrainOptions{}.delay_us;
  std::optional<std::uint64_t> room_bytes{};     ///< for forecasts; absent: the free room of the file system
  ClockWatch::Times (*now)() = ClockWatch::now;  ///< for `watch_clock`
};

/// A session with everything that a config may ask for: every part, a sink that survives crashes and keeps a
/// history, a clock, a drain thread, a log, and the files of MindSpore's dumps besides tensors. Between session
/// and store stands only what the config asks for. FileDump, `opdump replay` and the ACL calls share it, so that
/// a config means the same to each. The program adds the recorders.
///
/// `Store` takes the files, and follows a config's options as ConfigurableSink says. One that goes to other
/// places than directories too has `open`, `close`, `is_raw`, `room`, `report` and `error` as DumpStore.
///
/// One control thread calls everything, while no step is open. `apply`, `load_model` and `ring_for` allocate.
template <class Memory, class Store = DumpStore, class KitClock = CounterClock>
class DumpKit {
 public:
  using Session = BasicSession<Memory>;

  DumpKit(Memory& memory, const KitOptions& options)
      : memory_(memory),
        triggers_(trigger_sink_, FullLook{&statistics_kernels()}, crc32c_kernel()),
        parts_(memory, &statistics_kernels(), non_finite_kernel(), crc32c_kernel()),
        drain_delay_us_(options.drain_delay_us),
        room_bytes_(options.room_bytes),
        session_(parts_.added_to({.memory = memory,
                                  .sink = store_,
                                  .clock = clock_,
                                  .scratch = options.scratch,
                                  .device_id = options.device_id,
                                  .when_full = options.when_full,
                                  .log = &log_,
                                  .watch_memory = options.watch_memory,
                                  .watch_listener = options.watch_listener,
                                  .more_configs = options.more_configs,
                                  .triggers = &triggers_})),
        watched_(session_, options.now) {}

  Session& session() { return session_; }
  const Session& session() const { return session_; }
  Store& store() { return store_; }
  const Store& store() const { return store_; }
  /// Where the session writes when the process has crashed, after `survive_crashes`.
  CrashSink& crash_sink() { return crash_sink_; }

  /// Whether the next `apply` puts `crash_sink` between the session and the store.
  void survive_crashes(bool survive) { survives_crashes_ = survive; }
  HistorySink& history() { return history_; }
  const HistorySink& history() const { return history_; }
  TriggerSink& triggers() { return trigger_sink_; }
  const TriggerSink& triggers() const { return trigger_sink_; }
  KitClock& clock() { return clock_; }

  /// The config in force; an inactive one if there is none.
  const DumpConfig& config() const { return config_; }

  /// Why the store refused the last config, or took nothing any more in the dump that ended last, in words;
  /// empty if it has nothing to say.
  const std::string& store_error() const { return store_error_; }

  /// Whether the dump goes to raw storage.
  bool is_raw() const {
    if constexpr (kPlacesDumps) return store_.is_raw();
    return false;
  }

  /// From now on, until `apply` or `end`, the drain thread looks every second whether the system's clock was set
  /// forward, and tells the journals. Not under WhenFull::inline_drain, which has no such thread.
  void watch_clock() { watched_.watch(); }

  /// Steps that the drain thread has told.
  std::uint32_t clock_steps() const { return watched_.steps_seen(); }

  /// As `BasicSession::tell_clock`; what the drain thread has told already is not told again.
  [[nodiscard]] Status tell_clock(const ClockStep& step) { return watched_.tell_clock(step); }

  /// Whether a config is in force that dumps something on this device.
  bool active() const { return session_.dump_time() != 0; }

  /// `hook` gets a line for each key without effect, each model's forecast cost, and whatever was asked for
  /// and never captured. Null: nobody gets them.
  void log_to(LogHook hook, void* context) {
    hook_ = hook;
    hook_context_ = context;
    log_ = TextLog(hook_, hook_context_, room_bytes_.value_or(0), true);
  }

  /// Passes `line` to the hook of `log_to`.
  void say(std::string_view line) const {
    if (hook_ != nullptr) hook_(hook_context_, line);
  }

  /// A ring of the kit's own, if `options` ask for a size, which stays until the next call; otherwise `ring`.
  /// `no_memory` leaves the ring of the last call as it was.
  Result<MutableBytes> ring_for(const DumpOptions& options, MutableBytes ring) {
    ring_bytes_ = options.ring_bytes.value_or(ring.size());
    told_bytes_ = 0;
    if (!options.ring_bytes) return ring;
    const std::size_t bytes = ring_bytes_;
    std::unique_ptr<std::uint64_t[]> own(new (std::nothrow) std::uint64_t[(bytes + 7) / 8]);
    if (own == nullptr) return Status::no_memory;
    own_ring_ = std::move(own);
    return std::as_writable_bytes(std::span(own_ring_.get(), (bytes + 7) / 8)).first(bytes);
  }

  /// Begins without a config; `apply` may give one later. Errors as `DrainThread::start` and
  /// `BasicSession::init`; after an error nothing runs.
  [[nodiscard]] Status begin() {
    Status status = check_drainer();
    if (status == Status::ok) status = session_.init();
    if (status == Status::ok) status = start_thread();
    if (status != Status::ok && session_.initialised()) static_cast<void>(session_.finalize());
    return status;
  }

  /// Begins if nothing has begun, and puts `config` in force. Its "opdump" object counts for the sink, the
  /// history and the log, and for the session if that begins now. A thread drains, unless the capturing
  /// threads do. A config that dumps nothing on this device leaves the previous one in force. `text` is the
  /// file that `config` was read from; without it MindSpore's layouts get only tensors and statistics. What
  /// `config` refers to must stay until `end`.
  ///
  /// A relative `dump_path` is resolved here: nothing of the dump moves when the working directory changes,
  /// and `config()` has the whole path.
  ///
  /// After any error everything is as before. Errors as `BasicSession::configure`, `init` and `set_config`,
  /// `DrainThread::start`, `MindSporeExtras::begin` and `DumpStore::open`; the system's error for a directory
  /// that MindSpore makes; `no_memory`; `not_supported` also for a history in a session that has begun without one.
  [[nodiscard]] Status apply(const DumpConfig& asked, std::string_view text = {}) {
    DumpConfig config = asked;
    const bool begins = !session_.initialised();
    const bool dumps = config.active && dumps_on(config, session_.device_id());
    const bool was_raw = is_raw();
    store_error_.clear();
    watched_.rest();
    if (begins) roots_.clear();
    Status status = dumps ? keep_root(config) : Status::ok;
    if (status == Status::ok && begins) status = prepare(config.options);
    if (!begins && config.options.history_steps != 0) status = Status::not_supported;
    if (status == Status::ok && dumps) status = move_store(config);
    if (status == Status::ok && dumps) status = make_place(config);
    if (dumps || begins) log_ = TextLog(hook_, hook_context_, room_of(config), true);
    if (status == Status::ok && begins) status = session_.init();
    if (status == Status::ok && dumps) status = start_thread();
    const DumpConfig placed = dumps ? behind_earlier_runs(config) : config;
    if (status == Status::ok) status = session_.set_config(placed, true);
    if (status == Status::ok && dumps) {
      config_ = placed;
      status = begin_extras(text);
      if (!is_raw() && is_full(config_.dump_path))
        say("dump_path: no space left there, not even for a journal: what is lost is told nowhere until the end; "
            "free some, and start again");
    }
    if (status == Status::ok) return status;
    if (begins && session_.initialised()) static_cast<void>(end());
    if (!was_raw && dumps) close_store();
    if (!begins && dumps && move_store(config_) == Status::ok) static_cast<void>(start_thread());
    return status;
  }

  /// As `BasicSession::load_model`, with an index of the operators. Also counts what becomes of each operator
  /// (`BasicSession::count_ops`), and writes what MindSpore's dumps hold of a model.
  [[nodiscard]] Status load_model(ModelPlan& plan, const ModelDesc& model, std::span<std::uint8_t> bits) {
    Status status = session_.load_model(plan, model, bits, OpIndexMemory(model.ops).index());
    if (status == Status::ok && !plan.bits.empty()) status = count_ops(plan, plan.bits.size());
    if (status == Status::ok) weigh_ring(plan);
    if (status == Status::ok && extras_ != nullptr) {
      status = extras_->loaded(plan);
      models_.push_back(&plan);
    }
    return status;
  }

  /// As `BasicSession::load_growing_model`. Otherwise as `load_model`, with two differences: what MindSpore's
  /// dumps hold of a model, and how many of its operators are asked for, is told when it ends.
  [[nodiscard]] Status load_growing_model(ModelPlan& plan, const ModelDesc& model,
                                          std::span<std::uint8_t> bits, std::size_t most_ops) {
    std::unique_ptr<std::uint8_t[]> scratch(new (std::nothrow) std::uint8_t[bits.size()]);
    if (scratch == nullptr) return Status::no_memory;
    Status status = session_.load_growing_model(plan, model, bits, most_ops);
    if (status == Status::ok && !plan.bits.empty()) status = count_ops(plan, bits.size());
    // Also of those that are still to come.
    if (!plan.op_counts.empty()) plan.op_counts = {plan.op_counts.data(), bits.size()};
    if (plan.model != nullptr) growing_.push_back({&plan, bits, std::move(scratch), most_ops});
    return status;
  }

  /// As `BasicSession::grow_model`, of a plan that `load_growing_model` has loaded.
  [[nodiscard]] Status grow_model(ModelPlan& plan) {
    for (const GrowingModel& growing : growing_) {
      if (growing.plan == &plan)
        return session_.grow_model(plan, growing.bits, growing.scratch_bytes(), growing.most_ops);
    }
    return Status::model_not_loaded;
  }

  /// Says of a ring that a wanted one of `tensors` passes in parts how large one is that holds several; again of a
  /// tensor twice as large. For operators whose tensors no model is described with; in any context.
  void weigh_ring(std::uint8_t bits, const CapturedTensors& tensors) {
    weigh_ring(most_wanted(bits, tensors));
  }

  /// Writes the constants of a loaded model as `MindSporeExtras::write_constants`.
  [[nodiscard]] Status write_constants(const ModelPlan& plan, std::span<const ConstantDesc> constants) {
    return extras_ == nullptr ? Status::ok
                              : extras_->write_constants(plan, constants, memory_, clock_.unix_us());
  }

  /// As `BasicSession::unload_model`. `extras` becomes what `MindSporeExtras::ended` said.
  [[nodiscard]] Status unload_model(ModelPlan& plan, Status& extras) {
    extras = end_extras(&plan);
    const auto is_of_plan = [&plan](const GrowingModel& growing) { return growing.plan == &plan; };
    const auto growing = std::find_if(growing_.begin(), growing_.end(), is_of_plan);
    if (growing != growing_.end()) finish(*growing);
    const Status status = session_.unload_model(plan);
    if (status == Status::ok) std::erase_if(growing_, is_of_plan);
    if (status == Status::ok)
      std::erase_if(op_counts_, [&plan](const CountedModel& counted) { return counted.plan == &plan; });
    return status;
  }

  /// For all loaded models, until one fails: writes what MindSpore's dumps get when a model ends.
  [[nodiscard]] Status end_extras() {
    for (GrowingModel& growing : growing_) finish(growing);
    Status status = Status::ok;
    while (!models_.empty() && status == Status::ok) status = end_extras(models_.back());
    return status;
  }

  /// Writes out what is left and ends the session, as `BasicSession::finalize`; then no config is in force.
  /// If the session cannot end, the thread goes on.
  [[nodiscard]] Status end() {
    for (GrowingModel& growing : growing_) finish(growing);
    drain_.stop();
    watched_.rest();
    const Status status = session_.finalize();
    if (session_.initialised()) {
      static_cast<void>(start_thread());
      return status;
    }
    close_store();
    extras_.reset();
    models_.clear();
    config_ = {};
    return status;
  }

 private:
  static constexpr bool kPlacesDumps = requires(Store & store, const DumpConfig& config) {
    store.open(config);
  };

  struct CountedModel {
    const ModelPlan* plan;
    std::unique_ptr<OpCounts[]> counts;
  };

  struct GrowingModel {
    ModelPlan* plan;
    std::span<std::uint8_t> bits;
    std::unique_ptr<std::uint8_t[]> scratch;
    std::size_t most_ops;
    bool finished = false;

    std::span<std::uint8_t> scratch_bytes() const { return {scratch.get(), bits.size()}; }
  };

  static constexpr std::size_t kTriggerPoints = 1024;
  static constexpr std::size_t kQueuedFirings = 256;
  static constexpr std::size_t kTriggeredPlans = 64;
  static constexpr std::size_t kMostBlocks = 1024;
  /// Has more points when models need them.
  class KitTriggers {
   public:
    KitTriggers() = default;
    KitTriggers(const KitTriggers&) = delete;
    KitTriggers& operator=(const KitTriggers&) = delete;
    ~KitTriggers() {
      for (const TriggerPoint* const block : blocks_) delete[] block;
    }

    TriggerRoom room() {
      TriggerRoom room = memory_.room();
      room.more = blocks_;
      room.make_block = [] { return new (std::nothrow) TriggerPoint[TriggerRoom::kBlockPoints]; };
      return room;
    }

   private:
    TriggerMemory<kMostTriggers, kTriggerPoints, kQueuedFirings> memory_;
    TriggerPoint* blocks_[kMostBlocks] = {};
  };
  using KitLooks = Triggers<Memory, FullLook, kTriggeredPlans>;

  static constexpr std::uint32_t kSealedChunkBytes = 4096;
  static constexpr std::size_t kSealBytes = SealedSink<>::bytes_for(kSealedChunkBytes);

  void finish(GrowingModel& growing) {
    if (growing.finished || !session_.initialised() || growing.plan->bits.empty()) return;
    growing.finished = true;
    session_.finish_growing(*growing.plan, growing.scratch_bytes(), growing.most_ops);
    if (extras_ != nullptr && extras_->loaded(*growing.plan) == Status::ok) models_.push_back(growing.plan);
    char memory[192];
    say(TextWriter(memory)
            .add("model \"")
            .add(growing.plan->model->name.substr(0, 64))
            .add("\": ")
            .add_decimal(growing.plan->matched_ops)
            .add(" of the ")
            .add_decimal(growing.plan->bits.size())
            .add(" operators that ran match")
            .text());
  }

  std::uint64_t room_of(const DumpConfig& config) const {
    if (room_bytes_) return *room_bytes_;
    if constexpr (kPlacesDumps) {
      if (store_.is_raw()) return store_.room();
    }
    return room_for(config);
  }

  Status start_thread() {
    // Under WhenFull::inline_drain the capturing threads drain, and no other thread may.
    return session_.when_full() == WhenFull::inline_drain
               ? Status::ok
               : drain_.start(watched_, {.delay_us = drain_delay_us_});
  }

  /// Fails if the session has a drainer of another owner: it could begin here, but never end.
  Status check_drainer() {
    if (session_.when_full() == WhenFull::inline_drain) return Status::ok;
    const Status status = session_.attach_drainer();
    if (status == Status::ok) session_.detach_drainer();
    return status;
  }

  /// Applies the `options` that count only before a session begins.
  Status prepare(const DumpOptions& options) {
    Status status = session_.configure(options);
    if (status == Status::ok) status = check_drainer();
    if (status == Status::ok) status = keep_history(options);
    link_sinks();
    return status;
  }

  /// The session writes to the store itself, but for what the config asks for in between.
  void link_sinks() {
    Sink* sink = &store_;
    if (survives_crashes_) sink = &crash_sink_;
    // Before `crash_sink_`, so that a crash writes nothing in clear either.
    if (!sealed_.passes()) sink = &sealed_;
    if (history_memory_ != nullptr) {
      history_.hand_on_to(*sink);
      trigger_sink_.hand_on_to(*sink);
      sink = &history_;
    }
    if (!trigger_sink_.rules().empty()) sink = &trigger_sink_;
    session_.write_to(*sink);
  }

  /// Makes the config's `dump_path` a whole path, which stays until the session begins anew.
  Status keep_root(DumpConfig& config) {
    std::string root;
    const Status status = make_absolute(config.dump_path, TreeSink::kMaxPathBytes, root);
    if (status != Status::ok) {
      store_error_ = "dump_path: \"" + std::string(config.dump_path) + "\" below the working directory: " +
                     (status == Status::name_too_long
                          ? "longer than " + std::to_string(TreeSink::kMaxPathBytes) + " bytes: shorten it"
                          : std::string(to_string(status)) + ": write the whole path");
      return status;
    }
    const auto known = std::find(roots_.begin(), roots_.end(), root);
    config.dump_path = known != roots_.end() ? *known : roots_.emplace_back(std::move(root));
    return Status::ok;
  }

  /// Stops draining, gets the place that `config` names ready, and lets the store follow its options, and the seal.
  Status move_store(const DumpConfig& config) {
    drain_.stop();
    if (const Status status = check_seal(config); status != Status::ok) return status;
    if constexpr (kPlacesDumps) {
      const bool was_raw = store_.is_raw();
      const Status status = store_.open(config);
      if (status != Status::ok) {
        store_error_ = store_.error();
        return status;
      }
      if (store_.is_raw() && !was_raw) say(store_.report());
    }
    DumpOptions options = config.options;
    options.history_steps = 0;      // `history_` keeps those.
    options.triggers = {};          // `trigger_sink_` follows them.
    options.seal = {};              // `sealed_` sees to it.
    options.dump_on_crash = false;  // The kit's owner handles signals, or refuses this.
    Status status = store_.follow(options, session_.journal());
    if (status == Status::ok) status = seal(config.options.seal);
    if (!config_.active) link_sinks();
    return status;
  }

  /// Whether `config` can be sealed as it asks; leaves a sealer and its memory, if it needs them.
  Status check_seal(const DumpConfig& config) {
    const std::string_view key = config.options.seal;
    // What is left of an earlier config would not be sealed as that one asks.
    if (config_.active && key != seal_key(config_.options))
      return refuse_seal("another config is in force that is sealed otherwise: end that first");
    if (key.empty()) return Status::ok;
    if (const std::string_view why = seal_conflict(config); !why.empty()) return refuse_seal(why);
    if (sealer_ == nullptr) sealer_ = make_host_sealer();
    if (sealer_ == nullptr)
      return refuse_seal(
          "libsodium, which seals a dump, is not on this system: install it (Debian's libsodium23)");
    if (seal_memory_ == nullptr) seal_memory_.reset(new (std::nothrow) std::byte[kSealBytes]);
    return seal_memory_ == nullptr ? Status::no_memory : Status::ok;
  }

  /// After `check_seal`.
  Status seal(std::string_view key) {
    if (config_.active) return Status::ok;  // as it is
    if (key.empty()) {
      sealed_.pass();
      return Status::ok;
    }
    sealed_.equip(*sealer_, {seal_memory_.get(), kSealBytes});
    return sealed_.seal(key);
  }

  Status refuse_seal(std::string_view why) {
    store_error_ = std::string("opdump.seal: ").append(why);
    return Status::not_supported;
  }

  /// While nothing is drained.
  void close_store() {
    if constexpr (kPlacesDumps) {
      if (store_.is_raw()) {
        store_error_ = store_.error();
        drain_.stop();
        store_.close();
      }
    }
  }

  Status keep_history(const DumpOptions& options) {
    const std::size_t bytes = options.history_bytes == 0 ? kDefaultHistoryBytes : options.history_bytes;
    history_.configure({}, 0, 0);
    history_memory_.reset();
    trigger_memory_.reset();
    trigger_sink_.equip({});
    if (options.history_steps == 0) return trigger_sink_.begin_triggers(options);
    history_memory_.reset(new (std::nothrow) std::uint64_t[bytes / 8]);
    if (history_memory_ == nullptr) return Status::no_memory;
    history_.configure(std::as_writable_bytes(std::span(history_memory_.get(), bytes / 8)),
                       options.history_steps, options.after_steps);
    if (!triggers_of(options).empty()) {
      trigger_memory_.reset(new (std::nothrow) KitTriggers);
      if (trigger_memory_ == nullptr) return Status::no_memory;
      trigger_sink_.equip(trigger_memory_->room());
    }
    return trigger_sink_.begin_triggers(options);
  }

  Status count_ops(ModelPlan& plan, std::size_t count) {
    if (build::kLean) return Status::ok;
    std::unique_ptr<OpCounts[]> counts(new (std::nothrow) OpCounts[count]);
    if (counts == nullptr) return Status::no_memory;
    op_counts_.push_back({&plan, std::move(counts)});
    return session_.count_ops(plan, {op_counts_.back().counts.get(), count});
  }

  /// By the tensors that the operators of a model are described with.
  void weigh_ring(const ModelPlan& plan) {
    const std::span<const CapturedTensors> tensors = plan.model->tensors;
    std::uint64_t most = 0;
    for (std::size_t op = 0; op < std::min(plan.bits.size(), tensors.size()); ++op)
      most = std::max(most, most_wanted(plan.bits[op], tensors[op]));
    weigh_ring(most);
  }

  /// The bytes of the largest tensor that `bits` want.
  static std::uint64_t most_wanted(std::uint8_t bits, const CapturedTensors& tensors) {
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto role = i < tensors.inputs.size() ? kCaptureInputs : kCaptureOutputs;
      if ((bits & role) != 0) most = std::max<std::uint64_t>(most, tensors[i].bytes);
    }
    return most;
  }

  void weigh_ring(std::uint64_t bytes) {
    constexpr std::uint64_t kTensors = 8;
    if (ring_bytes_ == 0 || bytes <= ring_bytes_ || bytes < 2 * told_bytes_.load(std::memory_order_relaxed) ||
        config_.form.data == DumpData::statistics || digest_bytes(config_.form) != 0)
      return;
    told_bytes_ = bytes;
    say("ring: a tensor of " + std::to_string(bytes) + " bytes passes a ring of " +
        std::to_string(ring_bytes_) + " in parts, which takes longer: \"ring_bytes\": " +
        std::to_string(std::min<std::uint64_t>(kTensors * bytes, Ring::kMaxBytes)) +
        " in \"opdump\" holds several");
  }

  Status begin_extras(std::string_view text) {
    models_.clear();
    extras_.reset();
    if (!MindSporeExtras::belong_to(config_.form.layout) || text.empty()) return Status::ok;
    extras_.reset(new (std::nothrow) MindSporeExtras);
    return extras_ == nullptr ? Status::no_memory : extras_->begin(config_, text, session_.device_id());
  }

  /// For one model, if it was loaded under the config in force.
  Status end_extras(const ModelPlan* plan) {
    const auto model = std::find(models_.begin(), models_.end(), plan);
    if (model == models_.end()) return Status::ok;
    models_.erase(model);
    return extras_->ended(*plan);
  }

  Memory& memory_;
  Store store_;
  std::string store_error_;
  std::list<std::string> roots_;  ///< of the configs since the session began
  CrashSink crash_sink_{store_};
  bool survives_crashes_ = false;
  SealedSink<> sealed_{crash_sink_};
  HistorySink history_{sealed_};
  std::unique_ptr<KitTriggers> trigger_memory_;  ///< null: there are no triggers
  KitClock clock_;
  TriggerSink trigger_sink_{history_, sealed_, clock_, {}};
  KitLooks triggers_;
  std::shared_ptr<Sealer> sealer_;                   ///< null: nothing was to be sealed yet
  std::unique_ptr<std::byte[]> seal_memory_;         ///< likewise
  std::unique_ptr<std::uint64_t[]> history_memory_;  ///< null: no history is kept
  DumpConfig config_;                                ///< the config in force
  std::unique_ptr<MindSporeExtras> extras_;          ///< null: none are asked for
  std::vector<const ModelPlan*> models_;             ///< loaded models, if there are extras
  std::vector<CountedModel> op_counts_;              ///< of each loaded model that has captured operators
  std::vector<GrowingModel> growing_;                ///< of load_growing_model
  std::unique_ptr<std::uint64_t[]> own_ring_;
  std::size_t ring_bytes_ = 0;                ///< 0: not known
  std::atomic<std::uint64_t> told_bytes_{0};  ///< of the largest tensor that was told
  AllParts<Memory> parts_;
  std::uint32_t drain_delay_us_;
  std::optional<std::uint64_t> room_bytes_;
  LogHook hook_ = nullptr;
  void* hook_context_ = nullptr;
  TextLog log_;
  Session session_;
  ClockWatchingSession<Session> watched_;
  DrainThread<ClockWatchingSession<Session>> drain_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
