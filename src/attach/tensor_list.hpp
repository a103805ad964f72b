#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "opdump/types/tensor.hpp"
#include "src/attach/attach_layout.hpp"
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
  /// Takes the tensors of the runtime. What they refer to must stay until the next call. Allocates while the
  /// lists get longer than ever before.
  TensorRefusal take(RuntimeTensors inputs, RuntimeTensors outputs);

  std::span<const TensorView> inputs() const { return std::span(views_).first(inputs_); }
  std::span<const TensorView> outputs() const { return std::span(views_).subspan(inputs_); }
  std::span<const StridedSource> sources() const { return sources_; }

 private:
  Status take(const opdump_attach_tensor& from, TensorView& view);
  Shape copy_dims(const std::int64_t* dims, std::uint32_t rank);
  void place_sources();

  std::vector<TensorView> views_;
  std::size_t inputs_ = 0;
  std::vector<opdump_attach_tensor> taken_;
  std::vector<Dim> dims_;
  std::vector<StridedSource> sources_;
  std::vector<std::size_t> source_of_;  ///< the view of each source
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
