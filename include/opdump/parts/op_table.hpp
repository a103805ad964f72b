#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/text.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/plan.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The operators of a model and its plan, for an adapter of a runtime on a device without a heap: up to `Ops`
/// operators, and `NameBytes` bytes for names of its own. Refers to all texts that it is given, which must
/// stay as long as the model is loaded; the table is not moved while it is.
template <std::size_t Ops, std::size_t NameBytes = 0>
class OpTable {
 public:
  OpTable() = default;
  OpTable(const OpTable&) = delete;
  OpTable& operator=(const OpTable&) = delete;

  /// Adds the next operator, in execution order; returns its number. A name that repeats gets a number behind
  /// it, as `conv#2`, and `conv` in a config then stands for both; without `NameBytes` both keep the name.
  /// `model_already_loaded`; `no_memory` for too many operators; `name_too_long` when the bytes for names are
  /// used up: the operator is then added under the name that repeats.
  Result<std::size_t> add(std::string_view name, std::string_view type, std::uint32_t task_id = 65535,
                          std::uint32_t stream_id = 65535) {
    if (plan_.model != nullptr) return Status::model_already_loaded;
    if (count_ == Ops) return Status::no_memory;
    std::string_view own = name;
    const bool named = NameBytes == 0 || make_own(own);
    OpDesc& op = ops_[count_];
    op = {.name = own, .type = type, .task_id = task_id, .stream_id = stream_id};
    if constexpr (NameBytes != 0) {
      originals_[count_] = name;
      if (own.size() != name.size()) op.original_names = {&originals_[count_], 1};
    }
    ++count_;
    if (!named) return Status::name_too_long;
    return count_ - 1;
  }

  std::size_t size() const { return count_; }
  const OpDesc& operator[](std::size_t op) const { return ops_[op]; }

  /// `size()`: there is none of that name.
  std::size_t find(std::string_view name) const {
    std::size_t op = 0;
    while (op < count_ && ops_[op].name != name) ++op;
    return op;
  }

  /// As `BasicSession::load_model`. Texts of the model are referred to.
  template <class Session>
  [[nodiscard]] Status load(Session& session, std::string_view model_name, std::uint32_t id = 0) {
    if (plan_.model != nullptr) return Status::model_already_loaded;
    model_ = {.name = model_name, .id = id, .ops = {ops_, count_}};
    return session.load_model(plan_, model_);
  }

  /// As `BasicSession::unload_model`. Operators may then be added again.
  template <class Session>
  [[nodiscard]] Status unload(Session& session) {
    return session.unload_model(plan_);
  }

  /// For `BasicRecorder::begin_step`.
  ModelPlan& plan() { return plan_; }
  const ModelDesc& model() const { return model_; }

  /// Whether any step captures operator `op`, so that an adapter taps only those. False before `load`.
  bool ever_wants(std::size_t op) const { return op < plan_.bits.size() && plan_.bits[op] != 0; }

 private:
  /// Makes `name` one that no operator has; false when there is no room for it.
  bool make_own(std::string_view& name) {
    if (find(name) == count_) return true;
    for (std::uint32_t number = 2;; ++number) {
      TextWriter writer(std::span<char>(names_ + used_, NameBytes - used_));
      const std::string_view own = writer.add(name).add('#').add_short_decimal(number).text();
      if (writer.overflowed()) return false;
      if (find(own) != count_) continue;
      name = own;
      used_ += own.size();
      return true;
    }
  }

  ModelPlanFor<Ops> plan_;
  ModelDesc model_;
  OpDesc ops_[Ops];
  std::size_t count_ = 0;
  std::size_t used_ = 0;  ///< of `names_`
  std::string_view originals_[NameBytes == 0 ? 1 : Ops];
  char names_[NameBytes == 0 ? 1 : NameBytes];
};

/// Up to `Tensors` tensors of one operator, with `Dims` dims in all, from dims as runtimes have them.
template <std::size_t Tensors, std::size_t Dims>
class TensorTable {
 public:
  /// Adds a tensor of `rank` dims, outermost first, of any type of integer; a negative one is refused by
  /// `capture`. `too_many_tensors` or `too_many_dims` when there is no room: nothing is added.
  template <class Int>
  Status add(Address address, std::uint64_t bytes, DType dtype, const Int* dims, std::size_t rank,
             Format format = Format::nd) {
    if (tensors_ == Tensors) return Status::too_many_tensors;
    if (rank > Dims - dims_) return Status::too_many_dims;
    Dim* const own = dim_memory_ + dims_;
    for (std::size_t i = 0; i < rank; ++i) own[i] = static_cast<Dim>(dims[i]);
    TensorView& view = views_[tensors_];
    view = {};
    view.address = address;
    view.bytes = bytes;
    view.dtype = dtype;
    view.format = format;
    view.shape = {own, rank};
    dims_ += rank;
    ++tensors_;
    return Status::ok;
  }

  void clear() { tensors_ = dims_ = 0; }

  /// Refers to this table; valid until it changes.
  std::span<const TensorView> views() const { return {views_, tensors_}; }

 private:
  TensorView views_[Tensors];
  Dim dim_memory_[Dims == 0 ? 1 : Dims];
  std::size_t tensors_ = 0;
  std::size_t dims_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
