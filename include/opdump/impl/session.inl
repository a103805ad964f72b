#pragma once
// The bodies of session.hpp, which includes this file at its end. `inline` as in the class: size depends on it.
#if OPDUMP_ENABLED
namespace opdump {
inline namespace OPDUMP_NAMESPACE {

template <class Memory>
BasicSession<Memory>::BasicSession(const SessionParts<Memory>& parts)
    : when_full_(possible(parts.when_full)),
      journal_(parts.journal),
      device_id_(parts.device_id),
      block_limit_ms_(parts.block_limit_ms),
      log_(parts.log),
      drainer_(parts.sink, targets_, plans_, parts.scratch, parts.journal, parts.reduction),
      formats_(parts.formats),
      watch_(parts.watch_memory) {
  targets_.grow(parts.more_configs);
  context_.memory = &parts.memory;
  context_.clock = &parts.clock;
  context_.drainer = &drainer_;
  context_.targets = &targets_;
  if constexpr (build::kStatistics) context_.reduction = parts.reduction;
  if constexpr (!build::kLean) {
    context_.restorer = parts.restorer;
    context_.kept = parts.kept;
    context_.triggers = parts.triggers;
    drainer_.write_kept_by(parts.kept);
    context_.log = parts.log;
  }
  if constexpr (build::kOverflow) context_.overflow = parts.overflow;
  if constexpr (build::kOverflow && OPDUMP_MAX_RECORDERS != 1) context_.recorders = recorders_;
  if constexpr (build::kFaults) context_.watch_listener = parts.watch_listener;
  context_.when_full = possible(parts.when_full);
  context_.block_limit_ms = parts.block_limit_ms;
}

template <class Memory>
inline Status BasicSession<Memory>::configure(const DumpOptions& options) {
  if (initialised_) return Status::already_initialised;
  context_.when_full = possible(options.when_full.value_or(when_full_));
  for (Recorder& recorder : recorders_) recorder.sender().feed().follow(context_.when_full);
  context_.block_limit_ms = options.block_limit_ms.value_or(block_limit_ms_);
  journal_now_ = options.journal.value_or(journal_);
  // A journal would tell of what a history has let go; beside triggers it names no file.
  if (options.history_steps != 0) {
    const bool tells = !triggers_of(options).empty() && journal_now_ != JournalDetail::none;
    journal_now_ = tells ? JournalDetail::gaps : JournalDetail::none;
  }
  if constexpr (!build::kLean) configured_ = true;
  return Status::ok;
}

template <class Memory>
inline Status BasicSession<Memory>::init() {
  if (initialised_) return Status::already_initialised;
  if (!crc_unit_works()) return Status::driver_failed;
  if constexpr (IdentifiedMemory<Memory>) {
    if (context_.memory->device_id() != device_id_) return Status::wrong_device;
  }
  initialised_ = true;
  // 0 stands for plans that belong to no session.
  if (++generation_ == 0) ++generation_;
  context_.generation = generation_;
  drainer_.begin(journal_now_);
  return Status::ok;
}

template <class Memory>
inline Status BasicSession<Memory>::set_config(const DumpConfig& config, bool sink_follows) {
  if (!initialised_) return Status::not_initialised;
  if (log_ != nullptr) log_->config_set(config, device_id_);
  if (!build::kLean && log_ != nullptr && !configured_ && asks_anything(config.options))
    log_->options_ignored();
  if (!config.active || !dumps_on(config, device_id_)) return Status::ok;
  if (!sink_follows && !seal_key(config.options).empty()) return Status::not_supported;
  if constexpr (!build::kLean && kAlways<Memory>) {
    const TriggerWatch<Memory>* const triggers = context_.triggers;
    if (!triggers_of(config.options).empty() && (triggers == nullptr || !triggers->follows(config)))
      return Status::not_supported;
  }
  const std::uint64_t now = context_.clock->unix_us();
  Status status = Status::ok;
  const auto has_target = [&] {
    status = take_target(config, now);
    return status != Status::too_many_configs;
  };
  static_cast<void>(wait_for_drainer(has_target, context_.block_limit_ms));
  if (status != Status::ok) return status;
  config_.emplace(config);
  begin_config_account();
  if constexpr (build::kOverflow) context_.overflow_number = config.overflow_number;
  if constexpr (build::kFaults) {
    context_.watch_changes_only = config.watch_changes_only;
    context_.failures = config.exception != ExceptionDump::none;
  }
  // Without a step counter a step filter can never hold for a single operator.
  context_.single_ops = config.single_ops && config.steps.every_step();
  context_.single_bits = capture_bits(config.mode);
  return Status::ok;
}

template <class Memory>
inline Status BasicSession<Memory>::tell_provenance(const Provenance& provenance) {
  if (!build::kJournal) return Status::not_supported;
  if (!initialised_) return Status::not_initialised;
  if (const Status status = check(provenance); status != Status::ok) return status;
  if (context_.target == Targets::kNone) return Status::ok;
  if constexpr (build::kLeanJournal && kAlways<Memory>) {
    drainer_.tell(context_.target, [&provenance](auto& journal, const DumpTarget& target) {
      journal.provenance(target, provenance);
    });
  } else {
    targets_[context_.target].provenance = &provenance;
  }
  return Status::ok;
}

template <class Memory>
inline Status BasicSession<Memory>::tell_clock(const ClockStep& step) {
  if (const Status status = check(step); status != Status::ok) return status;
  if (!build::kJournal || journal_now_ == JournalDetail::none) return Status::not_supported;
  if (!initialised_) return Status::not_initialised;
  if (is_drained_here()) return Status::drainer_attached;
  const auto tell = [this, &step] { tell_journals(step); };
  if constexpr (build::kLean) {
    tell();
    return Status::ok;
  } else {
    return on_drain_context(tell) ? Status::ok : Status::timeout;
  }
}

template <class Memory>
inline Status BasicSession<Memory>::tell_clock_between_drains(const ClockStep& step) {
  if (const Status status = check(step); status != Status::ok) return status;
  if (!build::kJournal || journal_now_ == JournalDetail::none) return Status::not_supported;
  if (!initialised_) return Status::not_initialised;
  if (!drainer_.enter()) return Status::drainer_attached;
  plans_.enter();
  // seq_cst: as in `drain_some`.
  const bool tells = !build::kFaults || !context_.crashed.load(std::memory_order_seq_cst);
  if (tells) tell_journals(step);
  leave_drain();
  return tells ? Status::ok : Status::drainer_attached;
}

template <class Memory>
inline void BasicSession<Memory>::tell_journals(const ClockStep& step) {
  for (std::uint8_t target = 0; target < targets_.size(); ++target) {
    if (targets_.state(target) == Targets::State::free) continue;
    drainer_.tell(target, [&step](auto& journal, const DumpTarget& of) {
      journal.clock(of, step);
      journal.flush();
    });
  }
}

template <class Memory>
OPDUMP_APART_IF_LEAN inline Status BasicSession<Memory>::take_target(const DumpConfig& config,
                                                                     std::uint64_t now) {
  std::uint64_t seconds = now;
  divide(seconds, 1000);
  divide(seconds, 1000);
  DumpTarget target = {.root = config.dump_path.empty() ? std::string_view(".", 1) : config.dump_path,
                       .time = local_time_number(seconds, context_.clock->utc_offset_seconds()),
                       .id = now > last_target_id_ ? now : last_target_id_ + 1,
                       .device_id = device_id_,
                       .sample_number = config.sample_number,
                       .columns = config.statistic_columns,
                       .privacy = privacy_rules(config),
                       .form = config.form};
  if constexpr (!build::kLean) target.form.rank = folder_rank(config, device_id_);
  if (const Status status = means().choose_form(config, target); status != Status::ok) return status;
  leave_config();
  const std::uint8_t taken = targets_.take(target);
  if (taken == Targets::kNone) return Status::too_many_configs;
  settle_config();
  context_.target = taken;
  last_target_id_ = target.id;
  return Status::ok;
}

template <class Memory>
inline Status BasicSession<Memory>::load_model(ModelPlan& plan, const ModelDesc& model,
                                               std::span<std::uint8_t> bits, const OpIndex& index) {
  if (plan.model != nullptr) return Status::model_already_loaded;
  Status status = Status::ok;
  if (config_) {
    status = resolve_new_plan(*config_, model, bits, plan, index);
    if (status == Status::ok && !plan.bits.empty()) status = check_names(plan, model);
    if (status == Status::ok && !plan.bits.empty()) status = meet_privacy(plan, model);
    if (status == Status::ok && !plan.bits.empty()) status = place_watch(plan, model);
    if (status == Status::ok) status = load_triggers(plan, model, bits);
    if (status != Status::ok) plan = ModelPlan{};
  }
  plan.model = &model;
  plan.session = &context_;
  if (log_ != nullptr && config_ && status == Status::ok) log_->model_loaded(*config_, plan);
  if (!plan.bits.empty()) enter(plan);
  // A model that a config refuses was loaded all the same.
  if (status == Status::ok || (!build::kLean && status == Status::config_refused)) open_account(plan, index);
  return tell_refused(status, model);
}

template <class Memory>
inline Status BasicSession<Memory>::load_growing_model(ModelPlan& plan, const ModelDesc& model,
                                                       std::span<std::uint8_t> bits, std::size_t most_ops) {
  if (plan.model != nullptr) return Status::model_already_loaded;
  if (model.ops.empty()) return Status::invalid_argument;
  Status status = Status::ok;
  if (config_) {
    // Which operators come is not known yet.
    const bool strict = !build::kLean && !privacy_rules(*config_).empty() && !config_->privacy_tells;
    status = config_->watch || strict ? Status::not_supported : resolve_plan(*config_, model, bits, plan);
    const bool asked = !RulesOfModel(config_->models, model).none() || bits_of_all(*config_) != 0;
    // Also when none of the first operators is asked for.
    if (status == Status::ok && config_->active && asked) plan.bits = bits.first(model.ops.size());
    if (status == Status::ok && !plan.bits.empty() && !can_be_directory(plan)) status = Status::name_too_long;
    if (status == Status::ok) static_cast<void>(refuse_unfit(plan, model, 0, most_ops));
    if (status == Status::ok) status = load_triggers(plan, model, bits);
  }
  if (!config_ || status != Status::ok) plan = ModelPlan{};
  plan.model = &model;
  plan.session = &context_;
  if (plan.bits.empty()) return tell_refused(status, model);
  enter(plan);
  if constexpr (!build::kLean) {
    if (wants_listed(*config_)) begin_plan_account(plan);
  }
  return status;
}

template <class Memory>
inline Status BasicSession<Memory>::tell_refused(Status status, [[maybe_unused]] const ModelDesc& model) {
  if constexpr (!build::kLean) {
    if (status != Status::ok && status != Status::config_refused && context_.target != Targets::kNone)
      tell_never(context_.target, [&model](const auto& use) {
        use(NeverCaptured{.cause = NeverCause::refused, .model_id = model.id, .model = model.name});
      });
  }
  return status;
}

template <class Memory>
inline Status BasicSession<Memory>::grow_model(ModelPlan& plan, std::span<std::uint8_t> bits,
                                               std::span<std::uint8_t> scratch, std::size_t most_ops) {
  if (plan.model == nullptr) return Status::model_not_loaded;
  if (plan.session != &context_) return Status::invalid_argument;
  if (plan.bits.empty()) return Status::ok;
  const std::size_t known = plan.bits.size();
  const std::size_t count = plan.model->ops.size();
  if (bits.size() < count || scratch.size() < count) return Status::no_memory;
  for (std::size_t i = known; i < count; ++i) bits[i] = 0;
  Status status = Status::ok;
  const bool in_force = config_ && plan.generation == generation_ && plan.target == context_.target;
  if (in_force) {
    ModelPlan grown;
    status = resolve_plan(*config_, *plan.model, scratch, grown);
  }
  plan.bits = bits.first(count);
  if (!in_force || status != Status::ok) return status;
  for (std::size_t i = known; i < count; ++i) {
    bits[i] = scratch[i];
    plan.matched_ops += bits[i] != 0 ? 1 : 0;
  }
  status = refuse_unfit(plan, *plan.model, known, most_ops);
  if constexpr (!build::kLean && kAlways<Memory>) {
    TriggerWatch<Memory>* const triggers = context_.triggers;
    if (triggers != nullptr && status == Status::ok) status = triggers->grow(*config_, plan, bits, known);
  }
  if constexpr (!build::kLean) {
    if (wants_listed(*config_)) begin_account(plan, known);
  }
  return status;
}

template <class Memory>
inline Status BasicSession<Memory>::refuse_unfit(ModelPlan& plan, const ModelDesc& model, std::size_t from,
                                                 std::size_t most_ops) const {
  Status status = Status::ok;
  for (std::size_t i = from; i < plan.bits.size(); ++i) {
    if (plan.bits[i] == 0) continue;
    const Status fits = i < most_ops ? check_name(plan, model, i) : Status::too_many_objects;
    if (fits == Status::ok) continue;
    status = fits;
    plan.bits[i] = 0;
    --plan.matched_ops;
  }
  return status;
}

template <class Memory>
inline void BasicSession<Memory>::finish_growing(const ModelPlan& plan, std::span<std::uint8_t> scratch,
                                                 std::size_t most_ops) {
  if constexpr (!build::kLean) {
    if (plan.session != &context_ || plan.bits.empty() || plan.generation != generation_) return;
    if (!config_ || plan.target != context_.target || !wants_listed(*config_)) return;
    // Behind those that have bits, operators came without a name.
    meet(plan, {}, !scratch.empty() && plan.bits.size() == scratch.size());
    constexpr std::uint8_t kWanted = kCaptureInputs | kCaptureOutputs;
    ModelPlan asked;
    if (scratch.size() < plan.bits.size() ||
        resolve_plan(*config_, *plan.model, scratch, asked) != Status::ok)
      return;
    tell_never(plan.target, [&](const auto& use) {
      for (std::size_t i = 0; i < plan.bits.size(); ++i) {
        const OpDesc& op = plan.model->ops[i];
        if ((scratch[i] & kWanted) == 0 || (plan.bits[i] & kWanted) != 0) continue;
        use(NeverCaptured{.cause = i < most_ops ? NeverCause::long_name : NeverCause::most_ops,
                          .model_id = plan.model->id,
                          .model = plan.directory_name,
                          .type = op.type,
                          .name = op.name});
      }
    });
  }
}

template <class Memory>
template <std::size_t Ops>
inline Status BasicSession<Memory>::load_model(ModelPlanFor<Ops>& plan, const ModelDesc& model) {
  return load_model(plan, model, plan.op_bits);
}

template <class Memory>
inline Status BasicSession<Memory>::count_ops(ModelPlan& plan, std::span<OpCounts> counts) {
  if (build::kLean) return Status::not_supported;
  if (const Status status = at_rest(plan); status != Status::ok) return status;
  if (!plan.op_counts.empty()) return Status::invalid_argument;
  if (counts.size() < plan.model->ops.size()) return Status::no_memory;
  plan.op_counts = counts.first(plan.model->ops.size());
  if (plan.op_counts.empty()) return Status::ok;
  plans_.add(plan);
  return restart_counts(plan);
}

template <class Memory>
inline Status BasicSession<Memory>::restart_counts(ModelPlan& plan) {
  if (const Status status = at_rest(plan); status != Status::ok) return status;
  if (plan.op_counts.empty()) return Status::invalid_argument;
  plan.steps_seen = plan.steps_wanted = 0u;
  for (OpCounts& counts : plan.op_counts) counts = {};
  return Status::ok;
}

template <class Memory>
inline Status BasicSession<Memory>::unload_model(ModelPlan& plan) {
  if (const Status status = at_rest(plan); status != Status::ok) return status;
  settle(plan, true);
  release_watch(plan);
  if constexpr (!build::kLean && kAlways<Memory>) {
    if (plan.triggers != nullptr) context_.triggers->unload(plan);
  }
  detach_missing_drainer();
  plans_.remove(plan, *context_.clock);
  if (initialised_ && plan.generation == generation_) {
    --targets_[plan.target].plans;
    if (plan.target != context_.target) retire_if_unused(plan.target);
  }
  plan = ModelPlan{};
  return Status::ok;
}

template <class Memory>
inline Status BasicSession<Memory>::finalize() {
  Status status;
  do {
    status = finalize_some(SIZE_MAX);
  } while (status == Status::unfinished);
  return status;
}

template <class Memory>
inline Status BasicSession<Memory>::finalize_some(std::size_t budget_bytes) {
  if (!initialised_) return Status::not_initialised;
  if (drainer_attached_) return Status::drainer_attached;
  if (drainer_.is_busy()) return Status::drainer_attached;
  for (const Recorder& recorder : recorders_) {
    if (recorder.open_plan() != nullptr) return Status::step_open;
  }
  context_.generation = 0;
  context_.single_ops = false;
  if constexpr (build::kFaults) context_.crashed.store(false, std::memory_order_relaxed);
  if (drain_some(budget_bytes) != 0) return Status::unfinished;
  static_cast<void>(drainer_.enter());
  for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS; ++slot) {
    if (is_drained(slot_state(slot))) finish(slot);
  }
  settle_all();
  if constexpr (!build::kLean && kAlways<Memory>) {
    if (context_.triggers != nullptr) context_.triggers->drained();
  }
  initialised_ = false;
  config_.reset();
  context_.target = Targets::kNone;
  passing_ = false;
  plans_.let_go([this](const ModelPlan& plan) {
    if (plan.generation == generation_) drainer_.tell_ops(plan);
  });
  for (std::uint8_t target = 0; target < targets_.size(); ++target) {
    if (targets_.state(target) != Targets::State::free) close(target);
  }
  const Status synced = drainer_.sync();
  drainer_.leave();
  return synced == Status::ok ? drainer_.journal_failure() : synced;
}

template <class Memory>
inline Status BasicSession<Memory>::remove_recorder(Recorder& recorder) {
  const std::size_t slot = recorder.sender().slot();
  if (slot >= OPDUMP_MAX_RECORDERS || &recorders_[slot] != &recorder || slot_state(slot) == SlotState::free) {
    return Status::invalid_argument;
  }
  if (slot_state(slot) == SlotState::open) {
    if (recorder.open_plan() != nullptr || !recorder.sender().feed().at_rest()) return Status::recorder_busy;
    recorder.sender().feed().detach();
    set_slot_state(slot, SlotState::leaving);
  }
  const auto has_left = [&] { return slot_state(slot) == SlotState::left; };
  if (wait_for_drainer(has_left, context_.block_limit_ms) != Status::ok) return Status::recorder_busy;
  set_slot_state(slot, SlotState::free);
  return Status::ok;
}

template <class Memory>
inline Status BasicSession<Memory>::flush(std::uint32_t limit_ms) {
  if (is_drained_here()) return Status::drainer_attached;
  // release: what was captured before is seen by the drain context; pairs with the acquire in `mark_rings`.
  const std::uint32_t asked = flushes_asked_.load(std::memory_order_relaxed) + 1;
  flushes_asked_.store(asked, std::memory_order_release);
  const auto all_passed = [this, asked] {
    // acquire: it is in the sink; pairs with the release in `drain_some`.
    if (flushes_passed_.load(std::memory_order_acquire) == asked) return true;
    if (drainer_.holds_digests()) return false;
    for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS; ++slot) {
      if (is_drained(slot_state(slot)) && !recorders_[slot].sender().ring().drained()) return false;
    }
    return true;
  };
  return wait_for_drainer(all_passed, limit_ms);
}

template <class Memory>
inline Status BasicSession<Memory>::attach_drainer(Waker* waker) {
  if (!build::kWait && waker != nullptr) return Status::not_supported;
  if (drainer_attached_) return Status::drainer_attached;
  if (context_.when_full == WhenFull::inline_drain) return Status::invalid_argument;
  drainer_attached_ = true;
  context_.waker.store(waker, std::memory_order_release);  // partner: `RingWriter::wake`
  return Status::ok;
}

template <class Memory>
inline void BasicSession<Memory>::detach_drainer() {
  context_.waker.store(nullptr, std::memory_order_release);  // partner: `RingWriter::wake`
  drainer_attached_ = false;
  leave_drain();  // in a child after fork() it may be missing in the midst of its work
}

template <class Memory>
inline std::size_t BasicSession<Memory>::drain_some(std::size_t budget_bytes) {
  if (!drainer_.enter()) return 0;
  plans_.enter();
  if constexpr (build::kFaults) {
    // seq_cst: either this is seen, or `is_draining` sees the turn that has just begun.
    if (context_.crashed.load(std::memory_order_seq_cst)) {
      leave_drain();
      return 0;
    }
  }
  do_job();
  if (!passing_) mark_rings();
  std::size_t moved = 0;
  bool passed = true;
  for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS; ++slot) {
    const SlotState state = slot_state(slot);
    if (!is_drained(state)) continue;
    const std::size_t bytes = drainer_.drain(slot, recorders_[slot].sender().ring(), budget_bytes);
    // Not at each look, which would take the recorder's line away from its core.
    if (bytes == 0 || passing_)
      drainer_.tell_untold(slot, recorders_[slot].sender().ring(), recorders_[slot].sender().untold());
    moved += bytes;
    // Seen leaving before the ring was looked at, it has nothing left once that is empty; a budget of 0
    // does not tell.
    if (state == SlotState::leaving && recorders_[slot].sender().ring().drained()) {
      finish(slot);
      set_slot_state(slot, SlotState::left);
    }
    passed = passed && drainer_.passed(slot);
  }
  for (std::uint8_t target = 0; target < targets_.size() && passed && passing_; ++target) {
    if (targets_.state(target) == Targets::State::closing) close(target);
  }
  // release: as in `flush`.
  if (passed && passing_) flushes_passed_.store(flush_marked_, std::memory_order_release);
  passing_ = passing_ && !passed;
  drainer_.tell_certain(Drainer::kBytesToCertain);
  leave_drain();
  return moved;
}

template <class Memory>
inline Status BasicSession<Memory>::tell_certain(bool syncs) {
  if (!drainer_.enter()) return Status::drainer_attached;
  plans_.enter();
  Status status = Status::drainer_attached;
  // seq_cst: as in `drain_some`.
  if (!build::kFaults || !context_.crashed.load(std::memory_order_seq_cst)) {
    drainer_.flush_digests();
    drainer_.tell_certain(1);
    status = syncs ? drainer_.sync() : Status::ok;
  }
  leave_drain();
  return status;
}

template <class Memory>
inline void BasicSession<Memory>::crash_flush(Recorder* failed) {
  if constexpr (build::kFaults) {
    // It may have interrupted a call that drains.
    static_cast<void>(drainer_.enter());
    drain_rings();
    if (failed != nullptr && failed->open_plan() != nullptr) {
      static_cast<void>(failed->capture_failure());
      drain_rings();
    }
    drainer_.leave();
  }
}

template <class Memory>
inline void BasicSession<Memory>::crash_wrote([[maybe_unused]] std::uint32_t records,
                                              [[maybe_unused]] std::uint32_t lost) {
  if constexpr (build::kFaults && !build::kLean) {
    if (!config_ || context_.target == Targets::kNone || config_->options.journal == JournalDetail::none)
      return;
    static_cast<void>(drainer_.enter());
    drainer_.tell(context_.target, [&](auto& journal, const DumpTarget& target) {
      journal.wrote(target, config_->options, records, lost);
    });
    drainer_.leave();
  }
}

template <class Memory>
inline Status BasicSession<Memory>::begin_crash() {
  if constexpr (build::kFaults) {
    // partner: `drain_some`.
    context_.crashed.store(true, std::memory_order_seq_cst);
    return Status::ok;
  }
  return Status::not_supported;
}

template <class Memory>
inline DumpCounts BasicSession<Memory>::counts() const {
  DumpCounts counts;
  if constexpr (build::kJournal) closed_counts_.add_to(counts);
  for (std::size_t group = 0; group < Targets::kCounted; ++group) {
    // In this order, so that no record is seen written before it is seen wanted.
    drainer_.add_counts(group, counts);
    for (const Recorder& recorder : recorders_) recorder.sender().add_counts(group, counts);
  }
  if constexpr (Targets::kGrows) {
    for (const MoreTarget& more : targets_.more()) {
      more.drained.add_to(counts);
      for (const RecorderCounts& recorded : more.recorded) recorded.add_to(counts);
    }
  }
  return counts;
}

template <class Memory>
inline std::uint32_t BasicSession<Memory>::overflows() const {
  std::uint32_t sum = 0;
  if constexpr (build::kOverflow) {
    for (const Recorder& recorder : recorders_) sum += recorder.overflows();
  }
  return sum;
}

template <class Memory>
inline FirstBadOp BasicSession<Memory>::first_bad_op() const {
  FirstBadOp first;
  if constexpr (build::kFaults) {
    for (const Recorder& recorder : recorders_) {
      const FirstBadOp& bad = recorder.first_bad_op();
      if (bad.unix_us != 0 && (first.unix_us == 0 || bad.unix_us < first.unix_us)) first = bad;
    }
  }
  return first;
}

template <class Memory>
inline std::uint32_t BasicSession<Memory>::overwrites() const {
  std::uint32_t sum = 0;
  if constexpr (build::kFaults) {
    for (const Recorder& recorder : recorders_) sum += recorder.overwrites();
  }
  return sum;
}

template <class Memory>
inline Overwrite BasicSession<Memory>::first_overwrite() const {
  if constexpr (build::kFaults) {
    for (const Recorder& recorder : recorders_) {
      if (recorder.overwrites() != 0) return recorder.first_overwrite();
    }
  }
  return {};
}

template <class Memory>
inline void BasicSession<Memory>::leave_drain() {
  plans_.leave();
  drainer_.leave();
}

template <class Memory>
inline void BasicSession<Memory>::detach_missing_drainer() {
  if (build::kLean) return;
  // relaxed: this context has stored it.
  const Waker* waker = context_.waker.load(std::memory_order_relaxed);
  if (waker != nullptr && !waker->is_there()) detach_drainer();
}

template <class Memory>
inline bool BasicSession<Memory>::is_open(const ModelPlan& plan) const {
  for (const Recorder& recorder : recorders_) {
    if (recorder.open_plan() == &plan) return true;
  }
  return false;
}

template <class Memory>
inline void BasicSession<Memory>::do_job() {
  if constexpr (!build::kLean) {
    // seq_cst: see `on_drain_context`, whose partner this is.
    Job* const job = job_.load(std::memory_order_seq_cst);
    if (job == nullptr) return;
    job->run(job->use);
    job->done = true;
    job_.store(nullptr, std::memory_order_release);
  }
}

template <class Memory>
template <class Use>
inline bool BasicSession<Memory>::on_drain_context(const Use& use) {
  detach_missing_drainer();
  if (!drainer_attached_) {
    use();
    return true;
  }
  Job job = {[](const void* of) { (*static_cast<const Use*>(of))(); }, &use};
  job_.store(&job, std::memory_order_seq_cst);
  // A turn that began before does not see the job, however long its sink takes.
  plans_.wait_for_turn(*context_.clock);
  // acquire: what the job did comes before; pairs with the release in `do_job`.
  const auto is_done = [this] { return job_.load(std::memory_order_acquire) == nullptr; };
  const std::uint32_t limit_ms = context_.block_limit_ms < 1000 ? 1000 : context_.block_limit_ms;
  if (wait_for_drainer(is_done, limit_ms) == Status::ok) return true;
  job_.store(nullptr, std::memory_order_seq_cst);
  plans_.wait_for_turn(*context_.clock);
  return job.done;
}

template <class Memory>
inline void BasicSession<Memory>::mark_rings() {
  for (std::uint8_t target = 0; target < targets_.size(); ++target) {
    if (targets_.state(target) != Targets::State::retired) continue;
    targets_.set_state(target, Targets::State::closing);
    passing_ = true;
  }
  // acquire: as in `flush`.
  const std::uint32_t asked = flushes_asked_.load(std::memory_order_acquire);
  passing_ = passing_ || asked != flush_marked_;
  flush_marked_ = asked;
  for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS && passing_; ++slot) drainer_.mark(slot);
}

template <class Memory>
inline void BasicSession<Memory>::close(std::uint8_t target) {
  drainer_.leave(target);
  DumpCounts counts;
  if constexpr (build::kJournal) {
    if (Targets::is_more(target)) {
      for (RecorderCounts& recorded : targets_.more_at(target).recorded) {
        recorded.add_to(counts);
        recorded.clear();
      }
    } else {
      for (Recorder& recorder : recorders_) {
        recorder.sender().add_counts(Targets::counted(target), counts);
        recorder.sender().clear_counts(Targets::counted(target));
      }
    }
  }
  if constexpr (build::kFullJournal && ExplainingMemory<Memory>) {
    const DriverError said = context_.memory->driver_error();
    const bool has_journal = !holds_failures(targets_[target]) || counts.wanted != 0;
    if (said.call != nullptr && has_journal) drainer_.tell_driver(target, said);
  }
  drainer_.close(target, counts);
  if constexpr (build::kJournal) closed_counts_.add(counts);
  targets_.set_state(target, Targets::State::free);
}

template <class Memory>
inline void BasicSession<Memory>::drain_rings() {
  for (std::size_t slot = 0; slot < OPDUMP_MAX_RECORDERS; ++slot) {
    if (!is_drained(slot_state(slot))) continue;
    while (drainer_.drain(slot, recorders_[slot].sender().ring(), SIZE_MAX) != 0) {
    }
    drainer_.tell_untold(slot, recorders_[slot].sender().ring(), recorders_[slot].sender().untold());
  }
}

template <class Memory>
template <class Done>
inline Status BasicSession<Memory>::wait_for_drainer(Done done, std::uint32_t limit_ms) {
  constexpr std::size_t kBudgetBytes = 64 * 1024;
  const std::uint32_t start = context_.clock->monotonic_ms();
  for (bool last = false; !done();) {
    if (last) return Status::timeout;
    if (!drainer_attached_) {
      last = drain_some(kBudgetBytes) == 0;
    } else {
      // relaxed: this context has stored it.
      if (Waker* waker = context_.waker.load(std::memory_order_relaxed)) waker->wake();
      context_.clock->pause();
    }
    last = last || context_.clock->monotonic_ms() - start >= limit_ms;
  }
  return Status::ok;
}

template <class Memory>
inline Status BasicSession<Memory>::at_rest(const ModelPlan& plan) const {
  if (plan.model == nullptr) return Status::model_not_loaded;
  if (plan.session != &context_) return Status::invalid_argument;
  return is_open(plan) ? Status::step_open : Status::ok;
}

template <class Memory>
inline TargetMeans BasicSession<Memory>::means() const {
  TargetMeans means = {.clock = *context_.clock,
                       .formats = formats_,
                       .reduction = context_.reduction,
                       .overflow = nullptr,
                       .kept = context_.kept,
                       .watches = false};
  if constexpr (build::kOverflow) means.overflow = context_.overflow;
  if constexpr (build::kFaults) means.watches = !watch_.memory.empty();
  return means;
}

template <class Memory>
inline Status BasicSession<Memory>::place_in(MutableBytes& rest, ModelPlan& plan, const ModelDesc& model) {
  WatchState watch = plan.watch;
  const Status status = watch.place(plan.bits, model.ops, rest);
  plan.watch = watch;
  return status;
}

template <class Memory>
inline Status BasicSession<Memory>::place_watch([[maybe_unused]] ModelPlan& plan,
                                                [[maybe_unused]] const ModelDesc& model) {
  if constexpr (build::kFaults) {
    if (!config_->watch) return Status::ok;
    if (const Status status = place_in(watch_.rest, plan, model); status != Status::ok) return status;
    ++watch_.plans;
  }
  return Status::ok;
}

template <class Memory>
inline void BasicSession<Memory>::release_watch([[maybe_unused]] const ModelPlan& plan) {
  if constexpr (build::kFaults) {
    const WatchState& watch = plan.watch;
    if (!watch.ops.empty() && --watch_.plans == 0) watch_.rest = watch_.memory;
  }
}

template <class Memory>
inline void BasicSession<Memory>::leave_config() {
  if (context_.target == Targets::kNone || targets_[context_.target].plans != 0) return;
  settle_config();
  retire_if_unused(context_.target);
  context_.target = Targets::kNone;
  context_.single_ops = false;
  config_.reset();
}

template <class Memory>
template <class ForEach>
inline void BasicSession<Memory>::tell_never(std::uint8_t target, const ForEach& for_each) {
  bool any = false;
  for_each([&](const NeverCaptured& what) {
    any = true;
    if (log_ != nullptr) log_->never_captured(what);
  });
  if (!any || !build::kJournal) return;
  const auto tell = [&] { for_each([&](const NeverCaptured& what) { drainer_.tell_never(target, what); }); };
  if (!on_drain_context(tell)) drainer_.fail_journal(Status::timeout);
}

template <class Memory>
inline void BasicSession<Memory>::begin_config_account() {
  if constexpr (!build::kLean) {
    account_.asked.clear();
    account_.held_rules = {};
    account_.config_settled = false;
    account_.single_ops_before = count_single_ops();
  }
}

template <class Memory>
inline std::uint32_t BasicSession<Memory>::count_single_ops() const {
  std::uint32_t count = 0;
  for (const Recorder& recorder : recorders_) count += recorder.single_ops();
  return count;
}

template <class Memory>
inline void BasicSession<Memory>::open_account(ModelPlan& plan, const OpIndex& index) {
  if constexpr (!build::kLean) {
    if (!config_ || !wants_listed(*config_)) return;
    meet(plan, index);
    if (!plan.bits.empty()) begin_plan_account(plan);
  }
}

template <class Memory>
inline void BasicSession<Memory>::begin_plan_account([[maybe_unused]] ModelPlan& plan) {
  if constexpr (!build::kLean) {
    begin_account(plan);
    plan.next_loaded = account_.loaded;
    account_.loaded = &plan;
  }
}

template <class Memory>
inline void BasicSession<Memory>::meet([[maybe_unused]] const ModelPlan& plan,
                                       [[maybe_unused]] const OpIndex& index,
                                       [[maybe_unused]] bool lacks_ops) {
  if constexpr (!build::kLean) {
    account_.asked.meet(*config_, *plan.model, index);
    tell_never(context_.target, [&](const auto& use) {
      for_each_unknown_name(*config_, *plan.model, plan.directory_name, index, [&](NeverCaptured what) {
        if (lacks_ops && what.cause == NeverCause::no_op) what.cause = NeverCause::most_ops;
        use(what);
      });
    });
  }
}

template <class Memory>
inline Status BasicSession<Memory>::meet_privacy([[maybe_unused]] const ModelPlan& plan,
                                                 [[maybe_unused]] const ModelDesc& model) {
  if constexpr (!build::kLean) {
    if (privacy_rules(*config_).empty()) return Status::ok;
    const KeptTable* const table = context_.kept;
    if (table == nullptr) return Status::not_supported;
    table->hold(*config_, model, account_.held_rules);
    bool unmet = false;
    tell_never(context_.target, [&](const auto& use) {
      table->for_each_unmet(*config_, model, plan.directory_name, [&](const NeverCaptured& what) {
        unmet = true;
        use(what);
      });
    });
    if (unmet && !config_->privacy_tells) return Status::config_refused;
  }
  return Status::ok;
}

template <class Memory>
inline Status BasicSession<Memory>::load_triggers([[maybe_unused]] ModelPlan& plan,
                                                  [[maybe_unused]] const ModelDesc& model,
                                                  [[maybe_unused]] std::span<std::uint8_t> bits) {
  if constexpr (!build::kLean && kAlways<Memory>) {
    TriggerWatch<Memory>* const triggers = context_.triggers;
    if (triggers == nullptr || !config_->active || triggers_of(config_->options).empty()) return Status::ok;
    plan.model = &model;
    const Status status = triggers->load(*config_, plan, model, bits);
    if (status == Status::ok)
      tell_never(context_.target, [&](const auto& use) { triggers->for_each_unmet(plan, use); });
    return status;
  }
  return Status::ok;
}

template <class Memory>
inline void BasicSession<Memory>::enter(ModelPlan& plan) {
  plan.generation = generation_;
  // 0 stands for none.
  if (++loads_ == 0) ++loads_;
  plan.load = loads_;
  plan.target = context_.target;
  ++targets_[plan.target].plans;
}

template <class Memory>
inline void BasicSession<Memory>::settle(ModelPlan& plan, bool may_come_again) {
  if constexpr (!build::kLean) {
    auto* link = &account_.loaded;
    while (*link != nullptr && *link != &plan) link = &(*link)->next_loaded;
    if (*link == nullptr) return;
    *link = plan.next_loaded;
    const std::uint32_t load = may_come_again || loads_ != 1 ? plan.load : 0;
    tell_never(plan.target, [&](const auto& use_as) {
      const auto use = [&](NeverCaptured what) {
        what.load = load;
        use_as(what);
      };
      if (is_watching(plan)) return for_each_unwatched(plan, context_.watch_changes_only, use);
      for_each_uncaptured(plan, use);
    });
  }
}

template <class Memory>
inline void BasicSession<Memory>::settle_config() {
  if constexpr (!build::kLean) {
    if (account_.config_settled || context_.target == Targets::kNone) return;
    account_.config_settled = true;
    if (!config_) return;
    const KeptTable* const table = context_.kept;
    if (table != nullptr && !privacy_rules(*config_).empty())
      tell_never(context_.target,
                 [&](const auto& use) { table->for_each_unheld(*config_, account_.held_rules, use); });
    if (!wants_listed(*config_)) return;
    const bool no_single_op = config_->single_ops && count_single_ops() == account_.single_ops_before;
    tell_never(context_.target, [&](const auto& use) {
      account_.asked.for_each_unmet(*config_, use);
      if (no_single_op) use(NeverCaptured{.cause = NeverCause::no_single_op});
    });
  }
}

template <class Memory>
inline void BasicSession<Memory>::settle_all() {
  if constexpr (!build::kLean) {
    while (account_.loaded != nullptr) settle(*account_.loaded, false);
    settle_config();
  }
}

template <class Memory>
inline std::size_t BasicSession<Memory>::longest_name([[maybe_unused]] const ModelPlan& plan,
                                                      const ModelDesc& model, std::size_t op) {
  std::size_t bytes = model.ops[op].name.size();
  if constexpr (build::kFaults) {
    std::size_t longest = 0;
    for (std::size_t i = 0; i < plan.bits.size() && is_suspect(plan.bits[op]); ++i) {
      if (is_watched(plan.bits[i]) && model.ops[i].name.size() > longest) longest = model.ops[i].name.size();
    }
    if (longest != 0) bytes += WatchState::kBetween.size() + longest;
  }
  return bytes;
}

template <class Memory>
inline Status BasicSession<Memory>::check_name(const ModelPlan& plan, const ModelDesc& model,
                                               std::size_t op) const {
  const std::size_t name_bytes = longest_name(plan, model, op);
  const std::size_t type_bytes = model.ops[op].type.size();
  const bool fits = type_bytes <= kMaxTextBytes && name_bytes <= kMaxTextBytes &&
                    drainer_.fits(plan.directory_name.size(), type_bytes, name_bytes);
  return fits ? Status::ok : Status::name_too_long;
}

template <class Memory>
inline Status BasicSession<Memory>::check_names(const ModelPlan& plan, const ModelDesc& model) const {
  if (!can_be_directory(plan)) return Status::name_too_long;
  for (std::size_t i = 0; i < plan.bits.size(); ++i) {
    if (plan.bits[i] != 0 && check_name(plan, model, i) != Status::ok) return Status::name_too_long;
  }
  return Status::ok;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
#endif
