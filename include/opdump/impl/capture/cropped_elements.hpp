#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "opdump/port/device_copy.hpp"
#include "opdump/types/format.hpp"
#include "opdump/types/privacy.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The elements that a rule's crop and sample leave of a tensor, restored or as it lies. Nothing else of the tensor
/// gets to where they are copied; what lies between the elements of a sample may pass through a buffer on the stack.
template <class Memory>
class CroppedElements final : public RestoredElements {
 public:
  /// Dims that `make` may need for `tensor`.
  static constexpr std::size_t dims_of(const TensorView& tensor) {
    return tensor.shape.empty() ? 1 : tensor.shape.size();
  }

  /// Whether the elements of `tensor` can be told apart, so that `rule` can cut it.
  static constexpr bool can_cut(const TensorView& tensor, const PrivacyRule& rule) {
    const std::uint32_t bits = codes_of(tensor.dtype).bits;
    std::uint64_t bytes = 0;
    return bits != 0 && bits % 8 == 0 && tensor.shape.size() <= kMaxRank &&
           rule.crop.size() <= tensor.shape.size() && count_bytes(tensor.dtype, tensor.shape, bytes) &&
           bytes <= tensor.bytes;
  }

  /// Makes `to` of what `rule` leaves of `from`, which it `can_cut`; `dims` becomes its shape. `memory`,
  /// `from`, `dims` and this object stay as long as `to` is used.
  void make(Memory& memory, const TensorView& from, const PrivacyRule& rule, Dim* dims, TensorView& to) {
    memory_ = &memory;
    from_ = &from;
    crop_ = rule.crop;
    item_ = codes_of(from.dtype).bits / 8;
    std::uint64_t count = 1;
    last_ = 0;
    for (std::size_t axis = 0; axis < from.shape.size(); ++axis) {
      dims[axis] = range(axis).count;
      count *= dims[axis];
      if (dims[axis] != from.shape[axis]) last_ = axis;
    }
    stride_ = rule.every() == 0 ? 1 : rule.every();
    if (rule.elements() != 0) stride_ = count == 0 ? 1 : (count + rule.elements() - 1) / rule.elements();
    to = from;
    if (stride_ != 1) {
      count = count / stride_ + (count % stride_ != 0 ? 1 : 0);
      dims[0] = count;
    }
    to.shape = {dims, stride_ != 1 ? 1 : from.shape.size()};
    if (stride_ != 1 || !is_framework_format(from.format)) to.format = Format::nd;
    to.original_shape = to.shape;
    to.original_format = to.format;
    to.bytes = count * item_;
    set_restored_elements(to, this);
  }

  Status copy(const TensorView&, std::uint64_t at, MutableBytes to) override {
    for (std::uint64_t next = at / item_ * stride_; !to.empty();) {
      std::uint64_t left = 0;
      const std::uint64_t first = find(next, left);
      const std::uint64_t wanted = to.size() / item_;
      const std::uint64_t here = (left + stride_ - 1) / stride_;
      const std::uint64_t count = wanted < here ? wanted : here;
      const std::size_t bytes = static_cast<std::size_t>(count * item_);
      const Status status = stride_ == 1 ? copy_run(first, to.first(bytes)) : pick(first, to.first(bytes));
      if (status != Status::ok) return status;
      next += count * stride_;
      to = to.subspan(bytes);
    }
    return Status::ok;
  }

 private:
  struct Range {
    std::uint64_t first;
    std::uint64_t count;
  };

  /// What is kept of an axis.
  Range range(std::size_t axis) const {
    const Dim dim = from_->shape[axis];
    if (axis >= crop_.size()) return {0, dim};
    const StepRange& kept = crop_[axis];
    if (kept.last < kept.first || kept.first >= dim) return {0, 0};
    return {kept.first, (kept.last < dim ? kept.last : dim - 1) - kept.first + 1};
  }

  /// The number in the whole tensor of element `number` of the crop. `left`: how many of the crop lie one
  /// behind the other from there on.
  std::uint64_t find(std::uint64_t number, std::uint64_t& left) const {
    const Shape& shape = from_->shape;
    if (shape.empty()) {
      left = 1;
      return 0;
    }
    // The last axis that is cut and those behind it, which are whole, are one.
    std::uint64_t pitch = 1;
    for (std::size_t axis = last_ + 1; axis < shape.size(); ++axis) pitch *= shape[axis];
    Range kept = range(last_);
    const std::uint64_t row = kept.count * pitch;
    std::uint64_t element = kept.first * pitch + number % row;
    left = row - number % row;
    number /= row;
    for (std::size_t axis = last_; axis-- > 0;) {
      pitch *= shape[axis + 1];
      kept = range(axis);
      element += (kept.first + number % kept.count) * pitch;
      number /= kept.count;
    }
    return element;
  }

  Status copy_run(std::uint64_t element, MutableBytes to) const {
    return copy_elements(*memory_, *from_, element * item_, to);
  }

  /// Fills `to` with every `stride_`-th element, from `element` on.
  Status pick(std::uint64_t element, MutableBytes to) const {
    constexpr std::size_t kBufferBytes = 256;
    alignas(16) std::byte buffer[kBufferBytes];
    const std::uint64_t most = (kBufferBytes / item_ - 1) / stride_ + 1;
    while (!to.empty()) {
      const std::uint64_t wanted = to.size() / item_;
      const std::uint64_t count = wanted < most ? wanted : most;
      const std::size_t bytes = static_cast<std::size_t>(((count - 1) * stride_ + 1) * item_);
      if (const Status status = copy_run(element, {buffer, bytes}); status != Status::ok) return status;
      for (std::uint64_t i = 0; i < count; ++i)
        std::memcpy(to.data() + i * item_, buffer + i * stride_ * item_, item_);
      element += count * stride_;
      to = to.subspan(static_cast<std::size_t>(count * item_));
    }
    return Status::ok;
  }

  Memory* memory_ = nullptr;
  const TensorView* from_ = nullptr;
  std::span<const StepRange> crop_{};
  std::uint64_t stride_ = 1;
  std::size_t last_ = 0;  ///< axis behind which all are whole
  std::uint32_t item_ = 1;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
