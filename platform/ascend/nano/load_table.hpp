#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/plan.hpp"
#include "platform/ascend/nano/load_message.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// Where the tensors of one operator are described in the load message.
struct OpPlace {
  Bytes inputs{};   ///< TLV 4 with its head; empty: there is none
  Bytes outputs{};  ///< TLV 5, likewise
};

/// A model that is loaded on the device. Refers to its load message.
struct LoadedModel {
  bool loaded = false;
  LoadMessage message{};
  ModelDesc model{};
  ModelPlan plan{};
  std::size_t first_op = 0;  ///< in the table's memory
  bool ascending = false;    ///< the operators are in the order of their task ids

  /// Number of the step that runs; 0 where the message does not say.
  std::uint64_t step() const;
};

/// The memory of a LoadTable, which the caller owns.
struct LoadMemory {
  std::span<LoadedModel> models;  ///< one per model that is loaded at once
  std::span<OpDesc> ops;          ///< one per operator of all these models together
  std::span<OpPlace> places;      ///< as many
  std::span<std::uint8_t> bits;   ///< as many
};

/// The models that are loaded on a device, in memory of the caller. Nothing of the messages is copied. One thread.
class LoadTable {
 public:
  static constexpr std::size_t kNoOp = SIZE_MAX;

  explicit LoadTable(const LoadMemory& memory) : memory_(memory) {}

  /// Adds the model of a load message. `malformed` or `truncated` for a damaged description,
  /// `model_already_loaded` for an id that the mailbox cannot tell from that of a loaded model, `no_memory`
  /// when there is no place for it or for its operators: nothing changes.
  Result<LoadedModel*> add(const LoadMessage& message);

  void remove(LoadedModel& model) { model = {}; }

  /// The model whose id has these low 8 bits, which is all that a mailbox says; null: none.
  LoadedModel* find(std::uint32_t model_id);

  /// Index of the operator of that task in its model; `kNoOp`: none.
  std::size_t find_op(const LoadedModel& model, std::uint32_t task_id) const;

  const OpPlace& place(const LoadedModel& model, std::size_t op) const {
    return memory_.places[model.first_op + op];
  }
  std::span<std::uint8_t> bits(const LoadedModel& model) const {
    return memory_.bits.subspan(model.first_op, model.model.ops.size());
  }

  std::span<LoadedModel> models() const { return memory_.models; }

 private:
  /// The first of `count` free places for operators; `kNoOp`: there are not so many in a row.
  std::size_t find_room(std::size_t count) const;

  LoadMemory memory_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
