#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/crc32c.hpp"
#include "opdump/base/text.hpp"
#include "opdump/impl/capture/record_sender.hpp"
#include "opdump/impl/plan/triggers.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/tensor_pieces.hpp"
#include "opdump/impl/stats/tensor_look.hpp"
#include "opdump/parts/trigger_sink.hpp"
#include "opdump/types/faulty_tensor.hpp"
#include "opdump/types/plan.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What triggers have in one loaded plan.
struct TriggeredPlan {
  const ModelPlan* plan = nullptr;            ///< null: not in use
  std::uint32_t first = TriggerPoint::kNone;  ///< of its operators, in their order
  std::uint32_t last = TriggerPoint::kNone;
  std::uint32_t first_step = TriggerPoint::kNone;  ///< of its steps
  std::uint64_t begun_us = 0;
  std::uint32_t begun_ms = 0;
  std::size_t begun_by = SIZE_MAX;  ///< the recorder's slot; none: no step has begun. Atomic
  // The low words of the latest wanted step that has begun, and of the one before. Atomic.
  std::uint32_t latest_step = UINT32_MAX;
  std::uint32_t step_before = UINT32_MAX;
  std::uint32_t looked = TriggerPoint::kNone;  ///< the point that was looked at last. Atomic
};

/// The recorders' side of triggers: looks at the operators that a config's triggers name, as they are captured, and
/// tells a TriggerSink what fires. An operator that none names costs nothing. At unwanted steps nothing is looked at.
///
/// Steps "in a row" are those that are looked at: a step that the config does not want, or that the program
/// passes over, counts as none and does not end the row. A wanted step in which the operator does not come,
/// or its tensor cannot be read, ends it. Where several steps of one plan are open at once, only steps of
/// consecutive numbers are in a row.
///
/// A look reads the tensor once, in pieces, before it is copied to a ring, and takes time proportional to it.
/// Several triggers at one tensor take a look each. `Look` is SmallLook or, for every dtype, FullLook.
/// `kPlans` models with triggers may be loaded at once; `load` says `no_memory` beyond that.
template <class Memory, class Look = SmallLook, std::size_t kPlans = 4>
class Triggers final : public TriggerWatch<Memory> {
 public:
  explicit Triggers(TriggerSink& sink, Look look = {}, Crc32cKernel checksum = crc32c)
      : sink_(sink), look_(look), checksum_(checksum) {}
  Triggers(const Triggers&) = delete;
  Triggers& operator=(const Triggers&) = delete;

  bool follows(const DumpConfig& config) const override {
    return triggers_of(config.options).data() == sink_.rules().data();
  }

  Status load(const DumpConfig& config, ModelPlan& plan, const ModelDesc& model,
              std::span<std::uint8_t> bits) override {
    if (sink_.rules().empty() || !follows(config)) return Status::ok;
    if (config.watch) return Status::not_supported;
    TriggeredPlan* of = nullptr;
    for (TriggeredPlan& slot : plans_) {
      if (slot.plan == nullptr || slot.plan == &plan) of = &slot;
    }
    if (of == nullptr) return Status::no_memory;
    *of = {.plan = &plan};
    plan.triggers = of;
    const Status status = add_points(config, *of, plan, model, bits, 0);
    if (status != Status::ok) unload(plan);
    return status;
  }

  Status grow(const DumpConfig& config, ModelPlan& plan, std::span<std::uint8_t> bits,
              std::size_t from) override {
    if (plan.triggers == nullptr || !follows(config)) return Status::ok;
    return add_points(config, *plan.triggers, plan, *plan.model, bits, from);
  }

  void unload(ModelPlan& plan) override {
    TriggeredPlan* const of = plan.triggers;
    plan.triggers = nullptr;
    if (of == nullptr || of->plan != &plan) return;
    for (const std::uint32_t first : {of->first, of->first_step}) {
      for (std::uint32_t at = first; at != TriggerPoint::kNone; at = point(at).next) point(at).in_use = false;
    }
    *of = {};
  }

  void for_each_unmet(const ModelPlan& plan, Callback<void(const NeverCaptured&)> use) const override {
    const ModelDesc& model = *plan.model;
    for (const TriggerRule& rule : sink_.rules()) {
      if (rule.op().empty() || !holds_for(rule, &model)) continue;
      bool any = false;
      for (std::size_t op = 0; op < model.ops.size(); ++op)
        any = any || (names_op(rule, model.ops[op]) && has_tensor(rule, model, op));
      if (!any)
        use({.cause = NeverCause::no_trigger,
             .model_id = model.id,
             .model = plan.directory_name,
             .name = rule.op()[0].text});
    }
  }

  bool look(RecordSender<Memory>& sender, const ModelPlan& plan, std::size_t op,
            const CapturedTensors& tensors) override {
    TriggeredPlan& of = *plan.triggers;
    bool leaves_out = false;
    bool prepared = false;
    // Operators mostly run in their order.
    const std::atomic_ref looked(of.looked);
    std::uint32_t at = looked.load(std::memory_order_relaxed);
    if (at == TriggerPoint::kNone || point(at).op > op) at = of.first;
    while (at != TriggerPoint::kNone && point(at).op < op) at = point(at).next;
    if (at == TriggerPoint::kNone || point(at).op != op) return false;
    looked.store(at, std::memory_order_relaxed);
    for (; at != TriggerPoint::kNone && point(at).op == op; at = point(at).next) {
      const TriggerPoint& here = point(at);
      leaves_out = here.leaves_out;
      const TriggerRule& rule = sink_.rules()[here.rule];
      if (!looks_at_tensor(rule.cause())) continue;
      const std::span<const TensorView> role = rule.is_input() ? tensors.inputs : tensors.outputs;
      if (rule.index() >= role.size()) continue;
      if (!prepared) sender.feed().prepare(plan.model->ops[op].stream_id, tensors);
      prepared = true;
      look_at(sender, plan, at, rule, role[rule.index()]);
    }
    return leaves_out;
  }

  void step_begins(RecordSender<Memory>& sender, const ModelPlan& plan) override {
    TriggeredPlan& of = *plan.triggers;
    sink_.note_step(plan.load, sender.step());
    follow_step(of, static_cast<std::uint32_t>(sender.step()));
    if (of.first_step == TriggerPoint::kNone) return;
    Clock& clock = *sender.context().clock;
    begun_by(of).store(sender.slot(), std::memory_order_relaxed);
    of.begun_us = clock.unix_us();
    of.begun_ms = clock.monotonic_ms();
  }

  void step_ends(RecordSender<Memory>& sender, const ModelPlan& plan) override {
    // Others have only joined it.
    if (begun_by(*plan.triggers).load(std::memory_order_relaxed) == sender.slot())
      step_finished(sender, plan);
  }

  void step_finished(RecordSender<Memory>& sender, const ModelPlan& plan) override {
    TriggeredPlan& of = *plan.triggers;
    begun_by(of).store(SIZE_MAX, std::memory_order_relaxed);
    if (of.first_step == TriggerPoint::kNone) return;
    Clock& clock = *sender.context().clock;
    const std::uint64_t ms = clock.monotonic_ms() - of.begun_ms;
    const std::uint64_t us = clock.unix_us() - of.begun_us;
    // A clock that was set meanwhile has no microseconds of this step.
    constexpr std::uint64_t kApartUs = 100'000;
    const bool was_set = us + kApartUs < ms * 1000 || us > ms * 1000 + kApartUs;
    for (std::uint32_t at = of.first_step; at != TriggerPoint::kNone; at = point(at).next) {
      const TriggerRule& rule = sink_.rules()[point(at).rule];
      if (rule.cause() == TriggerCause::latency_us)
        judge(sender, plan, at, rule, static_cast<double>(was_set ? ms * 1000 : us));
    }
  }

  void op_failed(RecordSender<Memory>& sender, const ModelPlan& plan, const OpDesc* op) override {
    const TriggeredPlan& of = *plan.triggers;
    for (const std::uint32_t first : {of.first, of.first_step}) {
      for (std::uint32_t at = first; at != TriggerPoint::kNone; at = point(at).next) {
        const TriggerPoint& here = point(at);
        const bool is_its = first == of.first_step || (op != nullptr && op == &plan.model->ops[here.op]);
        if (!is_its || sink_.rules()[here.rule].cause() != TriggerCause::failure) continue;
        state(here).looks.add_one();
        sink_.put(sender.slot(), plan.load, sender.step(), at, 0);
      }
    }
  }

  void drained() override { sink_.finish(); }

 private:
  /// Recorders that have joined a step look at it while the one that has begun it ends it.
  static std::atomic_ref<std::size_t> begun_by(TriggeredPlan& of) { return std::atomic_ref(of.begun_by); }

  static void follow_step(TriggeredPlan& of, std::uint32_t step) {
    const std::atomic_ref latest(of.latest_step);
    const std::uint32_t before = latest.load(std::memory_order_relaxed);
    if (before == step) return;
    std::atomic_ref(of.step_before).store(before, std::memory_order_relaxed);
    latest.store(step, std::memory_order_relaxed);
  }

  /// Whether no wanted step lies between `last` and `step`.
  static bool follows_on(TriggeredPlan& of, std::uint64_t last, std::uint64_t step) {
    if (step == last + 1) return true;
    return std::atomic_ref(of.latest_step).load(std::memory_order_relaxed) ==
               static_cast<std::uint32_t>(step) &&
           std::atomic_ref(of.step_before).load(std::memory_order_relaxed) ==
               static_cast<std::uint32_t>(last);
  }

  TriggerPoint& point(std::uint32_t at) { return sink_.room().point(at); }
  TriggerState& state(const TriggerPoint& of) { return sink_.room().states[of.rule]; }

  static bool is_of_steps(const TriggerRule& rule) {
    return rule.op().empty() &&
           (rule.cause() == TriggerCause::latency_us || rule.cause() == TriggerCause::failure);
  }

  /// Of the operators from `from` on, and with the first ones of the steps.
  Status add_points(const DumpConfig& config, TriggeredPlan& of, ModelPlan& plan, const ModelDesc& model,
                    std::span<std::uint8_t> bits, std::size_t from) {
    const std::span<const TriggerRule> rules = sink_.rules();
    const std::size_t ops = model.ops.size();
    for (std::size_t op = from; op < ops + (from == 0 ? 1 : 0); ++op) {
      const OpDesc* const at_op = op < ops ? &model.ops[op] : nullptr;
      bool looks = false;
      for (std::size_t i = 0; i < rules.size(); ++i) {
        const bool finds = at_op == nullptr ? is_of_steps(rules[i])
                                            : names_op(rules[i], *at_op) && has_tensor(rules[i], model, op);
        if (!finds || !holds_for(rules[i], &model)) continue;
        if (plan.bits.empty() && !begin_bits(config, plan, model, bits)) return Status::no_memory;
        const std::uint32_t at = take_point(config, i, plan, model, at_op);
        if (at == TriggerPoint::kNone) return Status::no_memory;
        if (at_op == nullptr) {
          point(at).next = of.first_step;
          of.first_step = at;
          continue;
        }
        point(at).op = static_cast<std::uint32_t>(op);
        point(at).leaves_out = (plan.bits[op] & kLeaveOut) != 0;
        (of.last == TriggerPoint::kNone ? of.first : point(of.last).next) = at;
        of.last = at;
        looks = looks || looks_at_tensor(rules[i].cause());
      }
      if (looks) bits[op] = static_cast<std::uint8_t>(bits[op] | kLeaveOut);
    }
    return Status::ok;
  }

  /// Of a model of which the config lists nothing.
  static bool begin_bits(const DumpConfig& config, ModelPlan& plan, const ModelDesc& model,
                         std::span<std::uint8_t> bits) {
    if (bits.size() < model.ops.size()) return false;
    plan.bits = bits.first(model.ops.size());
    for (std::uint8_t& bit : plan.bits) bit = 0;
    plan.steps = config.steps;
    plan.next_step = config.first_step;
    return true;
  }

  /// A place for `rule` at `op` (null: at the steps) of `model`. `kNone`: there is none.
  std::uint32_t take_point(const DumpConfig& config, std::size_t rule, const ModelPlan& plan,
                           const ModelDesc& model, const OpDesc* op) {
    ToldOfTrigger told;
    if (op != nullptr) told = told_of(sink_.rules()[rule], privacy_rules(config), model, *op);
    char name[TriggerPoint::kNameBytes];
    TextWriter text(name);
    const auto add = [&text](std::string_view part, std::size_t most) {
      // Not substr, which may throw.
      text.add_sanitised({part.data(), part.size() < most ? part.size() : most});
    };
    add(plan.directory_name, 30);
    if (op != nullptr && told.name) {
      text.add('/');
      add(op->type, 20);
      text.add('.');
      add(op->name, 43);
    }
    const std::uint32_t free = free_point();
    if (free == TriggerPoint::kNone) return free;
    TriggerPoint& taken = point(free);
    taken = {.rule = static_cast<std::uint16_t>(rule),
             .in_use = true,
             .tells_value = told.value,
             .model_id = model.id,
             .name_bytes = static_cast<std::uint8_t>(text.text().size())};
    copy_bytes(reinterpret_cast<std::byte*>(taken.name), as_bytes(text.text()));
    return free;
  }

  /// A place that neither a loaded plan has nor a firing which is under way; `kNone`: there is none.
  std::uint32_t free_point() {
    for (bool grown = true; grown; grown = sink_.room().grow()) {
      const std::uint32_t count = sink_.room().size();
      for (std::uint32_t i = 0; i < count; ++i, ++next_) {
        if (next_ >= count) next_ = 0;
        TriggerPoint& here = point(next_);
        if (!here.in_use && !sink_.is_under_way(here)) return next_++;
      }
      next_ = count;
    }
    return TriggerPoint::kNone;
  }

  void look_at(RecordSender<Memory>& sender, const ModelPlan& plan, std::uint32_t at, const TriggerRule& rule,
               const TensorView& tensor) {
    std::uint64_t needed = 0;
    const Result<std::uint64_t> elements = element_count(tensor.shape);
    const auto read = [&](auto take) {
      return for_each_piece(*sender.context().memory, tensor, own_bytes(tensor), take);
    };
    Status status =
        fault_of(tensor, needed) == TensorFault::none ? elements.status() : Status::invalid_argument;
    if (rule.cause() == TriggerCause::change) {
      Crc32c digest(checksum_);
      if (status == Status::ok) status = read([&digest](Bytes piece) { digest.add(piece); });
      if (status == Status::ok) return compare(sender, plan, at, rule, digest);
    } else {
      double value = 0;
      if (status == Status::ok)
        status = look_.take(rule.cause(), tensor.dtype, elements.value(), read, value);
      if (status == Status::ok) return judge(sender, plan, at, rule, value);
    }
    state(point(at)).unread.add_one();
  }

  void compare(RecordSender<Memory>& sender, const ModelPlan& plan, std::uint32_t at, const TriggerRule& rule,
               Crc32c& digest) {
    std::byte bytes[Crc32c::kBytes];
    digest.finish(bytes);
    TriggerPoint& here = point(at);
    const std::uint32_t now = load_little_endian<std::uint32_t>(bytes);
    const bool changed = here.has_looked && now != here.digest;
    here.digest = now;
    decide(sender, plan, at, rule, changed, now);
  }

  void judge(RecordSender<Memory>& sender, const ModelPlan& plan, std::uint32_t at, const TriggerRule& rule,
             double value) {
    decide(sender, plan, at, rule, rule.takes(value), std::bit_cast<std::uint64_t>(value));
  }

  void decide(RecordSender<Memory>& sender, const ModelPlan& plan, std::uint32_t at, const TriggerRule& rule,
              bool holds, std::uint64_t value) {
    TriggerPoint& here = point(at);
    const std::uint64_t step = sender.step();
    // An operator that is captured twice at a step is one in a row.
    const bool again = here.has_looked && step == here.last_step && here.streak != 0;
    const bool in_a_row = here.has_looked && follows_on(*plan.triggers, here.last_step, step);
    state(here).looks.add_one();
    here.has_looked = true;
    here.last_step = step;
    if (again) return;
    if (!in_a_row || !holds) here.streak = 0;
    if (!holds) return;
    if (here.streak < rule.steps) ++here.streak;
    if (here.streak >= rule.steps) sink_.put(sender.slot(), plan.load, step, at, value);
  }

  TriggerSink& sink_;
  [[no_unique_address]] Look look_;
  Crc32cKernel checksum_;
  std::uint32_t next_ = 0;  ///< where the next place is looked for
  TriggeredPlan plans_[kPlans];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
