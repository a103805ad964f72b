#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/bytes.hpp"
#include "opdump/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The elements of a tensor as the framework has them, while they lie in a format of the device.
class RestoredElements {
 public:
  /// Fills `to` with whole elements of `tensor`, from its byte `at` on, which begins one, and makes them
  /// little-endian. Errors are those of `DeviceMemory::copy`.
  [[nodiscard]] virtual Status copy(const TensorView& tensor, std::uint64_t at, MutableBytes to) = 0;

 protected:
  ~RestoredElements() = default;
};

/// Takes tensors out of the formats of the device, for configs that want them as the framework has them
/// (MindSpore's `trans_flag`) and files that hold one tensor. A session is given one by address, so that
/// firmware which needs none carries no code for it.
class Restorer {
 public:
  /// Makes of `tensor` what it is in the framework: format, shape, bytes, and `restored`, by which its
  /// elements are then copied. What that refers to stays until the next call for `slot`, the number of a
  /// recorder, on whose thread this is called. False where it cannot be done: `tensor` is as it was.
  virtual bool restore(std::size_t slot, TensorView& tensor) = 0;

 protected:
  ~Restorer() = default;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
