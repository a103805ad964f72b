#include "src/attach/dump_object.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "platform/posix/build_id.hpp"
#include "platform/posix/config_file.hpp"
#include "src/attach/model_object.hpp"
#include "src/c_api/provenance.hpp"

using namespace opdump;
using attaching::ThreadTable;

opdump_attach::opdump_attach(const opdump_attach_options& options)
    : options_(options), threads_(std::make_shared<ThreadTable>(slots_of(options))) {}

opdump_attach::~opdump_attach() {
  if (on()) static_cast<void>(stop());
}

unsigned opdump_attach::slots_of(const opdump_attach_options& options) {
  return options.max_threads == 0 ? ThreadTable::kMost : std::min(ThreadTable::kMost, options.max_threads);
}

void opdump_attach::make_files() {
  if (files_ != nullptr) return;
  files_ = std::make_unique<FileDump>(memory_, options_.device_id);
  if (options_.say != nullptr) files_->log_to(pass_line, this);
  slots_[0].recorder = &files_->recorder();
}

Status opdump_attach::set_provenance(const opdump_provenance* provenance) {
  const std::lock_guard control(control_);
  if (on()) return fail(Status::already_initialised, [&] { return "a provenance after the start"; });
  const auto slots = lock_all();
  make_files();
  Provenance told;
  char build_id[kMostBuildIdDigits];
  Status status = c_api::take_provenance(provenance, told);
  if (status == Status::ok && told.build_id.empty()) told.build_id = posix::program_build_id(build_id);
  if (status == Status::ok) status = files_->set_provenance(told);
  if (status == Status::ok) return status;
  return fail(status, [&] {
    return "the provenance (150 bytes at most, no control characters, a comma only in the runtime)";
  });
}

Status opdump_attach::start(const char* config) {
  const std::lock_guard control(control_);
  error_.clear();
  if (on()) return fail(Status::already_initialised, [&] { return "start"; });
  for (const opdump_attach_model* model : models_) {
    if (model->is_open()) return fail(Status::step_open, [&] { return "start"; });
  }
  config = posix::find_config(config).path;
  if (config == nullptr || *config == '\0') return Status::ok;
  const auto slots = lock_all();
  make_files();
  Status status = files_->start(config);
  if (status != Status::ok) {
    error_ = files_->error();
    say("no dump: " + error_);
    static_cast<void>(count_failure(status));
    return status;
  }
  if (!files_->active()) return files_->stop();
  one_context_ = files_->kit().session().when_full() == WhenFull::inline_drain;
  on_.store(true, std::memory_order_release);
  tell_callers();
  return Status::ok;
}

/// What the program has to tell, since no operator shows it.
void opdump_attach::tell_callers() const {
  const std::span<const TriggerRule> rules = triggers_of(files_->kit().config().options);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const TriggerCause cause = rules[i].cause();
    if (cause != TriggerCause::failure && cause != TriggerCause::call) continue;
    say("trigger " + std::to_string(i) + " never fires but where the program calls " +
        (cause == TriggerCause::failure ? "opdump_attach_fail"
                                        : "opdump_attach_fire(\"" + std::string(rules[i].call) + "\")"));
  }
}

Status opdump_attach::stop() {
  const std::lock_guard control(control_);
  error_.clear();
  return on() ? end() : Status::ok;
}

Status opdump_attach::end() {
  for (opdump_attach_model* model : models_) {
    // So that the account names what such a model was asked for.
    model->load();
    model->shut();
  }
  on_.store(false, std::memory_order_release);
  const auto slots = lock_all();
  std::vector<std::pair<opdump_attach_model*, attaching::CardPlace>> cards;
  for (opdump_attach_model* model : models_) {
    if (model->lacks_card()) cards.emplace_back(model, card_place(model->id()));
  }
  const Status status = files_->stop();
  if (status != Status::ok) {
    error_ = files_->error();
    say("the dump is not whole: " + error_);
  }
  // Behind all records, so that none has to make room for a card.
  for (const auto& [model, place] : cards) model->write_card(place, true);
  for (opdump_attach_model* model : models_) model->unload();
  return status;
}

Status opdump_attach::describe(const char* path) {
  if (path == nullptr) return fail(Status::invalid_argument, [&] { return "describe"; });
  const std::lock_guard control(control_);
  std::vector<const ModelDesc*> models;
  std::vector<std::unique_lock<std::mutex>> locks;
  for (opdump_attach_model* model : models_) {
    locks.emplace_back(model->mutex());
    models.push_back(&model->described());
  }
  const Status status = posix::describe_models(path, models, options_.device_id);
  return status == Status::ok ? status : fail(status, [&] { return std::string("describe in ") + path; });
}

opdump_attach_counts opdump_attach::counts() const {
  return {.failed_calls = failed_.load(std::memory_order_relaxed),
          .first_failure = first_failure_.load(std::memory_order_relaxed),
          .threads = threads_->threads(),
          .shared_threads = threads_->shared(),
          .repeated_names = repeated_.load(std::memory_order_relaxed)};
}

DumpCounts opdump_attach::records() const {
  return files_ == nullptr ? DumpCounts{} : files_->counts();
}

void opdump_attach::add(opdump_attach_model& model) {
  const std::lock_guard control(control_);
  models_.push_back(&model);
}

void opdump_attach::remove(opdump_attach_model& model) {
  const std::lock_guard control(control_);
  if (on()) {
    model.load();
    model.shut();
    const auto slots = lock_all();
    if (model.lacks_card()) model.write_card(card_place(model.id()), false);
    model.unload();
  }
  std::erase(models_, &model);
}

opdump_attach::Slot& opdump_attach::lock_slot(std::unique_lock<std::mutex>& lock) {
  const unsigned number = threads_->slot();
  if (threads_->shared() != 0 && !told_shared_.exchange(true, std::memory_order_relaxed))
    say("more threads capture at once than have a ring of their own; the others share one, and may wait for "
        "each other");
  Slot* slot = &slots_[one_context_.load(std::memory_order_relaxed) ? 0 : number];
  lock = std::unique_lock(slot->mutex);
  if (slot->recorder != nullptr || !on() || add_recorder(*slot) != nullptr) return *slot;
  lock.unlock();
  slot = &slots_[0];
  lock = std::unique_lock(slot->mutex);
  return *slot;
}

opdump_attach::Recorder* opdump_attach::add_recorder(Slot& slot) {
  constexpr std::size_t kRingBytes = std::size_t{64} * 1024;
  constexpr std::size_t kHeadBytes = head_memory_bytes(16);
  const std::lock_guard recorders(recorders_);
  const std::size_t bytes = files_->kit().config().options.ring_bytes.value_or(kRingBytes);
  slot.ring.reset(new (std::nothrow) std::uint64_t[(bytes + 7) / 8]);
  slot.heads.reset(new (std::nothrow) std::uint64_t[(kHeadBytes + 7) / 8]);
  if (slot.ring == nullptr || slot.heads == nullptr) {
    static_cast<void>(
        fail(Status::no_memory, [&] { return "a ring for one more thread, which shares the first one"; }));
    return nullptr;
  }
  const auto as_bytes = [](std::uint64_t* memory, std::size_t size) {
    return std::as_writable_bytes(std::span(memory, (size + 7) / 8)).first(size);
  };
  const Result<Recorder*> added = files_->kit().session().add_recorder(
      as_bytes(slot.ring.get(), bytes), as_bytes(slot.heads.get(), kHeadBytes));
  if (!added.ok()) {
    static_cast<void>(
        fail(added.status(), [&] { return "a recorder for one more thread, which shares the first one"; }));
    return nullptr;
  }
  slot.recorder = added.value();
  return slot.recorder;
}

std::vector<std::unique_lock<std::mutex>> opdump_attach::lock_all() {
  std::vector<std::unique_lock<std::mutex>> locks;
  for (Slot& slot : slots_) locks.emplace_back(slot.mutex);
  return locks;
}

Status opdump_attach::fire(std::string_view name) {
  // So that the dump does not end meanwhile.
  std::unique_lock<std::mutex> lock;
  static_cast<void>(lock_slot(lock));
  const Status status = on() ? files_->kit().triggers().fire(name) : Status::invalid_argument;
  if (status == Status::ok) return status;
  return fail(status, [name] { return "the call \"" + std::string(name) + "\", which no trigger has"; });
}

void opdump_attach::say(std::string_view line) const {
  if (files_ != nullptr) files_->kit().say(line);
}

bool opdump_attach::count_failure(Status status) {
  std::uint32_t none = 0;
  first_failure_.compare_exchange_strong(none, static_cast<std::uint32_t>(status), std::memory_order_relaxed);
  failed_.fetch_add(1, std::memory_order_relaxed);
  return !told_[static_cast<std::size_t>(status)].exchange(true, std::memory_order_relaxed);
}

void opdump_attach::pass_line(void* self, std::string_view line) {
  const opdump_attach_options& options = static_cast<const opdump_attach*>(self)->options_;
  options.say(options.context, line.data(), line.size());
}
