#pragma once
#include <atomic>
#include <cstdint>

#include "opdump/base/build.hpp"
#include "opdump/port/clock.hpp"
#include "opdump/types/plan.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Which operator of which step a record is of, as long as the record lasts; its plan may be gone by then.
struct OpStep {
  std::uint64_t step = 0;
  std::uint32_t load = 0;  ///< number of the model's loading; 0: none
  std::uint32_t op = 0;
};

/// The plans whose operators are counted, where the drainer finds them again when the sink loses a record.
/// `add` and `remove` belong to the control context, the rest to the drain context. Without locks or
/// read-modify-write. OPDUMP_SMALL_CODE counts none (`kHere` is false): the list takes no room then.
template <bool kHere>
class BasicPlanList {
 public:
  /// `plan` has OpCounts and a `load`, and is not in the list.
  void add(ModelPlan& plan) {
    if constexpr (kHere) {
      plan.next = first_.load(std::memory_order_relaxed);
      first_.store(&plan, std::memory_order_seq_cst);  // partner: `count_loss`, which reads the plan
    }
  }

  /// Returns when the drain context has let go of `plan`: after the `drain_some` that is at work, if one is.
  /// A plan without OpCounts is in no list, nor is one since `let_go`.
  void remove(ModelPlan& plan, Clock& clock) {
    if constexpr (kHere) {
      if (plan.op_counts.empty()) return;
      if (first_.load(std::memory_order_relaxed) == &plan) {
        first_.store(plan.next, std::memory_order_seq_cst);  // partner: `count_loss`, see below
      } else {
        ModelPlan* before = first_.load(std::memory_order_relaxed);
        while (before != nullptr && before->next != &plan) before = before->next;
        if (before == nullptr) return;
        std::atomic_ref(before->next).store(plan.next, std::memory_order_seq_cst);  // likewise
      }
      wait_for_turn(clock);
    }
  }

  /// After a store of order seq_cst that takes something from the drain context: returns when that has let go of it.
  void wait_for_turn(Clock& clock) const {
    if constexpr (kHere) {
      // seq_cst: either the drain context sees that it is gone, or this that the context is at work; and
      // acquire: its last use of it comes before. Pairs with `enter` and `leave`.
      const std::uint32_t at_work = turn_.load(std::memory_order_seq_cst);
      while (at_work % 2 != 0 && turn_.load(std::memory_order_acquire) == at_work) clock.pause();
    }
  }

  /// While the drain context rests: calls `use(plan)` for each, and forgets them all.
  template <class Use>
  void let_go(Use use) {
    if constexpr (kHere) {
      for (ModelPlan* plan = first_.load(std::memory_order_relaxed); plan != nullptr; plan = plan->next)
        use(*plan);
      first_.store(nullptr, std::memory_order_relaxed);
    }
  }

  // partners: `remove`, `at_work`. Each leads to its own parity also from there: after fork() the turn of a
  // drain thread that the child lacks has no end.
  void enter() {
    if constexpr (kHere)
      turn_.store((turn_.load(std::memory_order_relaxed) + 1) | 1, std::memory_order_seq_cst);
  }
  void leave() {
    if constexpr (kHere)
      turn_.store((turn_.load(std::memory_order_relaxed) | 1) + 1, std::memory_order_release);
  }

  // partners: `enter`, `leave`.
  bool at_work() const {
    if constexpr (kHere) return turn_.load(std::memory_order_seq_cst) % 2 != 0;
    return false;
  }

  /// Between `enter` and `leave`: the sink lost a record of `op`.
  void count_loss(const OpStep& op, LossCause cause) {
    if constexpr (kHere) {
      if (op.load == 0) return;
      // partners: `add`, and `remove`, which sees that `enter` was called where this misses its store.
      const ModelPlan* plan = first_.load(std::memory_order_seq_cst);
      while (plan != nullptr && plan->load != op.load)
        plan = std::atomic_ref(const_cast<ModelPlan*&>(plan->next)).load(std::memory_order_seq_cst);
      if (plan == nullptr || op.op >= plan->op_counts.size()) return;
      OpCounts& counts = plan->op_counts[op.op];
      ++counts[cause];
      counts.sink_lost_steps.add(op.step, counts.sink_failed + counts.quota == 1);
    }
  }

 private:
  [[no_unique_address]] Maybe<kHere, std::atomic<ModelPlan*>> first_{nullptr};
  /// Odd while the drain context is at work.
  [[no_unique_address]] Maybe<kHere, std::atomic<std::uint32_t>> turn_{0u};
};
using PlanList = BasicPlanList<!build::kLean>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
