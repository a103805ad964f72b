#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/attach.h"
#include "opdump/types/model.hpp"
#include "opdump/types/plan.hpp"
#include "src/attach/card_notes.hpp"
#include "src/attach/dump_object.hpp"
#include "src/attach/op_names.hpp"

/// A model as attach.h has it. It is loaded by its first step in a dump that is on, or when it is asked which
/// operators are wanted, so that no order of calls can be wrong.
struct opdump_attach_model {
 public:
  opdump_attach_model(opdump_attach& dump, const opdump_attach_model_options& options);
  opdump_attach_model(const opdump_attach_model&) = delete;
  opdump_attach_model& operator=(const opdump_attach_model&) = delete;

  opdump_attach& dump() { return dump_; }
  const opdump_attach_gate& gate() const { return gate_; }
  bool is_open() const { return open_.load(std::memory_order_acquire); }

  opdump::Status add_op(const opdump_attach_op& op, std::uint32_t* index);
  std::uint32_t find_op(const char* name) const;
  std::uint32_t wanted_ops(std::uint32_t* ops, std::uint32_t room);
  std::uint32_t wanted_parts(std::uint32_t op);
  opdump::Status flag_op(std::uint32_t op, std::uint32_t flags);
  opdump::Status describe_op(std::uint32_t op, const opdump_attach_op_info& info);
  opdump::Status describe(const opdump_attach_model_info& info);

  opdump::Status begin_step(std::uint64_t step);
  opdump::Status end_step();
  std::uint32_t see_op(const char* name, const char* type);
  opdump::Status capture(std::uint32_t op, opdump::attaching::RuntimeTensors inputs,
                         opdump::attaching::RuntimeTensors outputs);
  opdump::Status fail(std::uint32_t op, opdump::attaching::RuntimeTensors inputs,
                      opdump::attaching::RuntimeTensors outputs);

  // For the dump, which has the control lock.

  /// Loads the model, if it has operators and is not loaded; one that is dynamic is loaded as its first
  /// operator comes.
  void load();
  /// After `shut`, with all slots locked.
  void unload();
  /// Before the dump stops or the model is unloaded: whether the dump lacks the card, which `write_card` writes.
  bool lacks_card();
  /// `sync`: the dump has stopped.
  void write_card(const opdump::attaching::CardPlace& place, bool sync);
  std::uint32_t id() const { return desc_.id; }
  /// From now on nothing of the open step is captured.
  void shut();
  /// With its lock: the model as it is now.
  const opdump::ModelDesc& described();
  std::mutex& mutex() { return mutex_; }

 private:
  using Slot = opdump_attach::Slot;

  std::string_view keep(std::string_view text) { return texts_.emplace_back(text); }
  std::uint32_t append(const opdump_op& op, std::uint32_t flags);
  void add_flags(std::uint32_t flags, std::vector<opdump::OpAttribute>& attributes);
  void tell_repeated(std::string_view name, std::string_view own);
  void open_gate(Slot& slot);
  std::uint32_t see(Slot& slot, const char* name, const char* type);
  bool load_growing(Slot& slot);
  opdump::Status take_failure(Slot& slot, std::uint32_t op, opdump::attaching::RuntimeTensors inputs,
                              opdump::attaching::RuntimeTensors outputs);
  void refuse(Slot& slot, std::uint32_t op, const opdump::attaching::TensorRefusal& refusal);
  std::string quoted(std::uint32_t op) const;
  bool takes_both(std::uint32_t op) const;
  bool captures_step() const { return __atomic_load_n(&gate_.bits, __ATOMIC_ACQUIRE) != nullptr; }
  bool has_lock_of_its_own() const { return dynamic_ || opdump::is_watching(plan_); }

  opdump_attach& dump_;
  const bool dynamic_;
  const std::uint32_t max_ops_;
  std::deque<std::string> texts_;
  std::deque<std::vector<std::string_view>> originals_;
  std::deque<std::vector<opdump::OpAttribute>> attributes_;
  std::vector<opdump::OpDesc> ops_;
  opdump::attaching::OpNames names_;
  opdump::attaching::CardNotes notes_;
  opdump::ModelDesc desc_;
  opdump::ModelPlan plan_;
  std::vector<std::uint8_t> bits_;
  mutable std::mutex mutex_;   ///< of a dynamic model's operators, and of captures that need it
  opdump_attach_gate gate_{};  ///< its bits are read and written as atomics
  std::atomic<bool> open_{false};
  std::atomic<bool> loaded_{false};
  std::atomic<bool> card_at_step_{false};  ///< the next step begins with the card
  bool card_due_ = false;                  ///< with the control lock: the dump lacks the card
  bool card_written_ = false;              ///< with the model's lock, since the model was loaded
  std::atomic<std::uint64_t> step_{0};
  std::uint64_t asked_step_ = 0;  ///< of a dynamic model that is not loaded yet
  std::uint64_t steps_ = 0;       ///< that have begun
  bool full_ = false;             ///< told that there are more than `max_ops_`
  bool told_repeated_ = false;
};
