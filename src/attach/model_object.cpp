#include "src/attach/model_object.hpp"

#include <algorithm>
#include <utility>

#include "src/attach/card_file.hpp"
#include "src/card/card_json.hpp"

using namespace opdump;
using attaching::AttachMemory;
using attaching::CardPlace;
using attaching::FlagWord;
using attaching::RuntimeTensors;
using attaching::TensorRefusal;

namespace {

constexpr std::uint32_t kDefaultMaxOps = 16384;
/// Of the operators beyond those that a dynamic model may have, whose names the dump tells.
constexpr std::size_t kToldBeyond = 64;

const unsigned char* bits_of(const opdump_attach_gate& gate) {
  return __atomic_load_n(&gate.bits, __ATOMIC_ACQUIRE);
}

}  // namespace

opdump_attach_model::opdump_attach_model(opdump_attach& dump, const opdump_attach_model_options& options)
    : dump_(dump),
      dynamic_(options.dynamic != 0),
      max_ops_(options.max_ops == 0 ? kDefaultMaxOps : options.max_ops) {
  desc_.name = keep(options.name);
  if (options.graph_name != nullptr) desc_.graph_name = keep(options.graph_name);
  desc_.id = options.id;
}

Status opdump_attach_model::add_op(const opdump_attach_op& op, std::uint32_t* index) {
  // The end of the dump, on any thread, loads what is there of a model.
  const std::lock_guard control(dump_.control());
  const std::lock_guard lock(mutex_);
  if (dynamic_ || loaded_.load(std::memory_order_relaxed))
    return dump_.fail(Status::model_already_loaded,
                      [&] { return "an operator for model \"" + texts_.front() + '"'; });
  const std::uint32_t added = append(op.op, op.flags);
  if (index != nullptr) *index = added;
  return Status::ok;
}

std::uint32_t opdump_attach_model::append(const opdump_op& op, std::uint32_t flags) {
  const std::uint32_t index = static_cast<std::uint32_t>(ops_.size());
  const std::string_view name = keep(op.name);
  const std::string_view own = keep(names_.add(name, index));
  std::vector<std::string_view>& originals = originals_.emplace_back();
  for (std::uint32_t i = 0; i < op.original_name_count; ++i) originals.push_back(keep(op.original_names[i]));
  if (own != name) {
    originals.push_back(name);
    dump_.count_repeated(1);
    tell_repeated(name, own);
  }
  std::vector<OpAttribute>& attributes = attributes_.emplace_back();
  for (std::uint32_t i = 0; i < op.attribute_count; ++i)
    attributes.push_back({keep(op.attributes[i].name), keep(op.attributes[i].value)});
  add_flags(flags, attributes);
  ops_.push_back({.name = own,
                  .type = keep(op.type),
                  .task_id = op.task_id,
                  .stream_id = op.stream_id,
                  .original_names = originals,
                  .level = static_cast<OpLevel>(op.level),
                  .attributes = attributes,
                  .marked = op.marked != 0});
  desc_.ops = ops_;
  return index;
}

void opdump_attach_model::add_flags(std::uint32_t flags, std::vector<OpAttribute>& attributes) {
  for (const FlagWord& flag : attaching::kFlagWords) {
    const auto has_name = [&](const OpAttribute& attribute) { return attribute.name == flag.word; };
    if ((flags & flag.flag) != 0 && std::none_of(attributes.begin(), attributes.end(), has_name))
      attributes.push_back({flag.word, "True"});
  }
}

Status opdump_attach_model::flag_op(std::uint32_t op, std::uint32_t flags) {
  const std::lock_guard control(dump_.control());
  const std::lock_guard lock(mutex_);
  const auto what = [&] { return "flags of operator " + std::to_string(op); };
  if (is_open()) return dump_.fail(Status::step_open, what);
  if (op >= ops_.size()) return dump_.fail(Status::no_such_op, what);
  add_flags(flags, attributes_[op]);
  ops_[op].attributes = attributes_[op];
  return Status::ok;
}

void opdump_attach_model::tell_repeated(std::string_view name, std::string_view own) {
  if (std::exchange(told_repeated_, true)) return;
  dump_.say("model \"" + texts_.front() + "\": operators share a name, as \"" + std::string(name) +
            "\": the next one is \"" + std::string(own) + "\" in the dump, and \"" + std::string(name) +
            "\" in a config stands for all of them");
}

std::uint32_t opdump_attach_model::find_op(const char* name) const {
  const std::lock_guard lock(mutex_);
  return names_.find(name);
}

void opdump_attach_model::load() {
  if (dynamic_ || ops_.empty() || !dump_.on() || loaded_.load(std::memory_order_relaxed)) return;
  bits_.assign(ops_.size(), 0);
  gate_.op_count = static_cast<std::uint32_t>(ops_.size());
  Status status = Status::ok;
  {
    const std::lock_guard loading(dump_.loading());
    status = dump_.files().load_model(plan_, desc_, bits_);
  }
  if (status != Status::ok)
    static_cast<void>(dump_.fail(status, [&] { return "loading model \"" + texts_.front() + '"'; }));
  card_due_ = !plan_.bits.empty() && writes_cards(dump_.files().kit().config().options);
  card_at_step_ = card_due_ && !attaching::waits_for_failure(dump_.files().kit().config());
  loaded_.store(true, std::memory_order_release);
}

bool opdump_attach_model::lacks_card() {
  const bool is_captured = loaded_.load(std::memory_order_relaxed) && !plan_.bits.empty();
  if (!is_captured || !(card_due_ || dynamic_)) return false;
  const CardPlace place = dump_.card_place(desc_.id);
  if (!writes_cards(place.config.options)) return false;
  return !attaching::waits_for_failure(place.config) || attaching::has_directory(place);
}

void opdump_attach_model::write_card(const CardPlace& place, bool sync) {
  card_at_step_ = false;
  card_due_ = false;
  constexpr std::size_t kMostCardBytes = std::size_t{64} << 20;
  Status status = Status::no_memory;
  try {
    const std::lock_guard lock(mutex_);
    card_written_ = true;
    std::string text;
    status = cards::write_card(notes_.card(desc_), kMostCardBytes, text);
    if (status == Status::ok) status = attaching::write_card_file(place, text, sync);
  } catch (...) {
  }
  if (status != Status::ok)
    static_cast<void>(dump_.fail(status, [&] { return "the card of model \"" + texts_.front() + '"'; }));
}

Status opdump_attach_model::describe_op(std::uint32_t op, const opdump_attach_op_info& info) {
  const std::lock_guard lock(mutex_);
  Status status = op < ops_.size() ? Status::ok : Status::no_such_op;
  if (status == Status::ok && card_written_) status = Status::model_already_loaded;
  if (status == Status::ok) status = notes_.describe(op, info);
  if (status == Status::ok) return status;
  return dump_.fail(status, [&] {
    return "a description of operator " + (op < ops_.size() ? quoted(op) : std::to_string(op));
  });
}

Status opdump_attach_model::describe(const opdump_attach_model_info& info) {
  const std::lock_guard lock(mutex_);
  const Status status = card_written_ ? Status::model_already_loaded : notes_.describe(info);
  if (status == Status::ok) return status;
  return dump_.fail(status, [&] { return "a description of model \"" + texts_.front() + '"'; });
}

void opdump_attach_model::unload() {
  if (!loaded_.load(std::memory_order_relaxed)) return;
  Status status = Status::ok;
  {
    const std::lock_guard loading(dump_.loading());
    status = dump_.files().unload_model(plan_);
  }
  if (status != Status::ok)
    static_cast<void>(dump_.fail(status, [&] { return "unloading model \"" + texts_.front() + '"'; }));
  {
    const std::lock_guard lock(mutex_);
    card_written_ = false;
  }
  loaded_.store(false, std::memory_order_release);
}

void opdump_attach_model::shut() {
  __atomic_store_n(&gate_.bits, nullptr, __ATOMIC_RELEASE);
}

const ModelDesc& opdump_attach_model::described() {
  return desc_;
}

std::uint32_t opdump_attach_model::wanted_ops(std::uint32_t* ops, std::uint32_t room) {
  const std::lock_guard control(dump_.control());
  load();
  const std::lock_guard lock(mutex_);
  if (!loaded_.load(std::memory_order_relaxed)) return 0;
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < plan_.bits.size(); ++i) {
    if (plan_.bits[i] == 0) continue;
    if (count < room) ops[count] = i;
    ++count;
  }
  return count;
}

std::uint32_t opdump_attach_model::wanted_parts(std::uint32_t op) {
  static_assert(OPDUMP_WANTS_INPUTS == kCaptureInputs && OPDUMP_WANTS_OUTPUTS == kCaptureOutputs);
  constexpr std::uint32_t kBoth = kCaptureInputs | kCaptureOutputs;
  const std::lock_guard control(dump_.control());
  load();
  const std::lock_guard lock(mutex_);
  if (!loaded_.load(std::memory_order_relaxed) || op >= plan_.bits.size() || plan_.bits[op] == 0) return 0;
  return takes_both(op) ? kBoth : plan_.bits[op] & kBoth;
}

Status opdump_attach_model::begin_step(std::uint64_t step) {
  if (open_.exchange(true, std::memory_order_acquire))
    return dump_.fail(Status::step_open, [&] { return "a step of model \"" + texts_.front() + '"'; });
  ++steps_;
  if (!dump_.on()) return Status::ok;
  if (!dynamic_ && (!loaded_.load(std::memory_order_acquire) || card_at_step_)) {
    const std::lock_guard control(dump_.control());
    load();
    if (card_at_step_) write_card(dump_.card_place(desc_.id), false);
  }
  std::unique_lock<std::mutex> lock;
  Slot& slot = dump_.lock_slot(lock);
  if (!dump_.on()) return Status::ok;
  asked_step_ = step;
  // A dynamic model's first operator opens it.
  if (loaded_.load(std::memory_order_acquire)) open_gate(slot);
  return Status::ok;
}

/// Begins the step in the plan, and shows what it captures.
void opdump_attach_model::open_gate(Slot& slot) {
  const std::uint64_t step = asked_step_ == OPDUMP_NEXT_STEP ? plan_.next_step : asked_step_;
  const Status status = slot.recorder->begin_step(plan_, step);
  if (status != Status::ok) {
    static_cast<void>(dump_.fail(status, [&] { return "a step of model \"" + texts_.front() + '"'; }));
    return;
  }
  step_.store(step, std::memory_order_relaxed);
  const std::uint8_t* const bits = slot.recorder->bits();
  // Each capture takes part in the step by itself, on the recorder of its thread.
  static_cast<void>(slot.recorder->leave_step());
  __atomic_store_n(&gate_.bits, bits, __ATOMIC_RELEASE);
}

Status opdump_attach_model::end_step() {
  const bool was_wanted = bits_of(gate_) != nullptr;
  shut();
  if (was_wanted) {
    std::unique_lock<std::mutex> lock;
    Slot& slot = dump_.lock_slot(lock);
    // The dump may have ended while this waited for the lock.
    if (dump_.on() && plan_.triggers != nullptr && slot.recorder != nullptr)
      slot.recorder->finish_step(plan_, step_.load(std::memory_order_relaxed));
  }
  if (open_.exchange(false, std::memory_order_release)) return Status::ok;
  return dump_.fail(Status::step_not_open,
                    [&] { return "the end of a step of model \"" + texts_.front() + '"'; });
}

std::uint32_t opdump_attach_model::see_op(const char* name, const char* type) {
  if (!dump_.on()) return OPDUMP_NO_OP;
  if (!dynamic_ || !is_open()) {
    static_cast<void>(dump_.fail(dynamic_ ? Status::step_not_open : Status::invalid_argument,
                                 [&] { return "operator \"" + std::string(name) + "\" as it runs"; }));
    return OPDUMP_NO_OP;
  }
  std::unique_lock<std::mutex> lock;
  Slot& slot = dump_.lock_slot(lock);
  if (!dump_.on()) return OPDUMP_NO_OP;
  const std::lock_guard own(mutex_);
  const std::uint32_t op = see(slot, name, type);
  if (op == OPDUMP_NO_OP) return op;
  const unsigned char* const bits = bits_of(gate_);
  return bits != nullptr && bits[op] != 0 ? op : OPDUMP_NO_OP;
}

std::uint32_t opdump_attach_model::see(Slot& slot, const char* name, const char* type) {
  std::uint32_t op = names_.see(name, type, steps_);
  if (op == OPDUMP_NO_OP) {
    if (ops_.size() >= max_ops_ && !std::exchange(full_, true))
      static_cast<void>(dump_.fail(Status::too_many_objects, [&] {
        return "operator \"" + std::string(name) + "\" behind the " + std::to_string(max_ops_) +
               " of model \"" + texts_.front() + "\" (max_ops)";
      }));
    if (ops_.size() >= max_ops_ + kToldBeyond) return OPDUMP_NO_OP;
    op = append({.name = name,
                 .type = type,
                 .task_id = OPDUMP_NO_ID,
                 .stream_id = OPDUMP_NO_ID,
                 .original_names = nullptr,
                 .attributes = nullptr,
                 .original_name_count = 0,
                 .attribute_count = 0,
                 .level = OPDUMP_LEVEL_BOTH,
                 .marked = 0},
                0);
    names_.note(op);
    if (loaded_.load(std::memory_order_relaxed)) {
      Status status = Status::ok;
      {
        const std::lock_guard loading(dump_.loading());
        status = dump_.files().kit().grow_model(plan_);
      }
      if (status != Status::ok && status != Status::too_many_objects)
        static_cast<void>(dump_.fail(status, [&] { return "operator " + quoted(op); }));
      __atomic_store_n(&gate_.op_count, static_cast<std::uint32_t>(plan_.bits.size()), __ATOMIC_RELEASE);
    }
  }
  if (!loaded_.load(std::memory_order_relaxed) && !load_growing(slot)) return OPDUMP_NO_OP;
  return op < plan_.bits.size() ? op : OPDUMP_NO_OP;
}

/// Loads a dynamic model, whose first operators there are, and begins the open step.
bool opdump_attach_model::load_growing(Slot& slot) {
  bits_.assign(max_ops_ + kToldBeyond, 0);
  Status status = Status::ok;
  {
    const std::lock_guard loading(dump_.loading());
    status = dump_.files().kit().load_growing_model(plan_, desc_, bits_, max_ops_);
  }
  if (status != Status::ok)
    static_cast<void>(dump_.fail(status, [&] { return "loading model \"" + texts_.front() + '"'; }));
  __atomic_store_n(&gate_.op_count, static_cast<std::uint32_t>(plan_.bits.size()), __ATOMIC_RELEASE);
  loaded_.store(true, std::memory_order_release);
  open_gate(slot);
  return true;
}

Status opdump_attach_model::capture(std::uint32_t op, RuntimeTensors inputs, RuntimeTensors outputs) {
  const unsigned char* const shown = bits_of(gate_);
  if (shown == nullptr) {
    if (is_open()) return Status::ok;
    return dump_.on() ? dump_.fail(Status::step_not_open,
                                   [&] { return "captures of model \"" + texts_.front() + '"'; })
                      : Status::ok;
  }
  if (op < __atomic_load_n(&gate_.op_count, __ATOMIC_RELAXED) && shown[op] == 0) return Status::ok;
  std::unique_lock<std::mutex> lock;
  Slot& slot = dump_.lock_slot(lock);
  // The dump may have ended while this waited for the lock, and does not end any more while it has it.
  if (bits_of(gate_) == nullptr) return Status::ok;
  std::unique_lock<std::mutex> own(mutex_, std::defer_lock);
  if (has_lock_of_its_own()) own.lock();
  if (op >= plan_.bits.size()) {
    if (op == OPDUMP_NO_OP)
      return dump_.fail(Status::no_such_op,
                        [&] { return "an operator unknown to model \"" + texts_.front() + '"'; });
    return dump_.fail(Status::no_such_op, [&] {
      return "operator " + std::to_string(op) + " of the " + std::to_string(plan_.bits.size()) +
             " of model \"" + texts_.front() + '"';
    });
  }
  const std::uint8_t bits = plan_.bits[op];
  if (bits == 0) return Status::ok;
  Status status = slot.recorder->join_step(plan_, step_.load(std::memory_order_relaxed));
  if (status != Status::ok) return dump_.fail(status, [&] { return "operator " + quoted(op); });
  const bool both = takes_both(op);
  if (!both && (bits & kCaptureInputs) == 0) inputs = {};
  if (!both && (bits & kCaptureOutputs) == 0) outputs = {};
  const TensorRefusal refusal = slot.tensors.take(inputs, outputs);
  if (refusal.status == Status::ok) {
    const AttachMemory::During during(slot.tensors.sources());
    status = slot.recorder->capture(op, slot.tensors.inputs(), slot.tensors.outputs());
    if (status != Status::ok) status = dump_.fail(status, [&] { return "operator " + quoted(op); });
    dump_.files().kit().weigh_ring(bits, {slot.tensors.inputs(), slot.tensors.outputs()});
  } else {
    refuse(slot, op, refusal);
    status = refusal.status;
  }
  static_cast<void>(slot.recorder->leave_step());
  return status;
}

/// What is not dumped is looked at all the same.
bool opdump_attach_model::takes_both(std::uint32_t op) const {
  const bool has_look = plan_.triggers != nullptr && (plan_.bits[op] & kLeaveOut) != 0;
  return is_watching(plan_) || has_look || (plan_.bits[op] & kCheckOverflow) != 0;
}

void opdump_attach_model::refuse(Slot& slot, std::uint32_t op, const TensorRefusal& refusal) {
  static_cast<void>(slot.recorder->refuse(op, refusal.status));
  static_cast<void>(dump_.fail(refusal.status, [&] {
    return (refusal.is_output ? "output " : "input ") + std::to_string(refusal.index) + " of operator " +
           quoted(op);
  }));
}

std::string opdump_attach_model::quoted(std::uint32_t op) const {
  return '"' + std::string(ops_[op].name) + "\" of model \"" + texts_.front() + '"';
}
