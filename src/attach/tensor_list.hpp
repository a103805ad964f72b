#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "opdump/types/tensor.hpp"
#include "src/attach/attach_layout.hpp"
#include "src/attach/step_tokens.hpp"
#include "src/attach/strided_source.hpp"
#include "src/attach/struct_list.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {

using RuntimeTensors = StructList<opdump_attach_tensor>;

/// Which tensor of a runtime could not be taken, and why.
struct TensorRefusal {
  Status status = Status::ok;
  bool is_output = false;
  std::uint32_t index = 0;
};

/// The tensors of one operator as the recorder takes them, while they are captured. Keeps its memory from
/// operator to operator.
class TensorList {
 public:
  /// Takes the tensors of the runtime, or with `tokens` what these take of them. What they refer to must stay
  /// until the next call. Allocates while the lists get longer than ever before.
  TensorRefusal take(RuntimeTensors inputs, RuntimeTensors outputs, const StepTokens* tokens = nullptr);

  std::span<const TensorView> inputs() const { return std::span(views_).first(inputs_); }
  std::span<const TensorView> outputs() const { return std::span(views_).subspan(inputs_); }
  std::span<const StridedSource> sources() const { return sources_; }

  /// With `tokens`: what was taken of each tensor, inputs first.
  std::span<const TensorSlice> slices() const { return std::span(slices_).first(taken_.size()); }
  std::uint64_t bytes() const;

 private:
  Status take(const opdump_attach_tensor& from, TensorView& view, const TensorSlice* slice);
  Status take_slice(const opdump_attach_tensor& from, const TensorSlice& slice, TensorView& view);
  std::span<Dim> own_dims(Shape shape);
  Shape copy_dims(const std::int64_t* dims, std::uint32_t rank);
  void place_sources();

  std::vector<TensorView> views_;
  std::size_t inputs_ = 0;
  std::vector<opdump_attach_tensor> taken_;
  std::vector<Dim> dims_;
  std::vector<std::int64_t> strides_;
  std::vector<TensorSlice> slices_;  ///< never fewer than tensors, so that their lists are kept
  std::vector<StridedSource> sources_;
  std::vector<std::size_t> source_of_;  ///< the view of each source
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
