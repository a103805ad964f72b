#pragma once
#include "../digits/network.hpp"
#include "platform/host/host_memory.hpp"

namespace firmware {

/// The network's tensors, addressed as an accelerator would: by operator and tensor, not by pointer. So the
/// dumps of two machines can be compared byte by byte, addresses included.
class NetworkMemory final : public opdump::DeviceMemory {
 public:
  static constexpr unsigned kOpShift = 32;
  static constexpr unsigned kTensorShift = 28;
  static constexpr unsigned kOutput = 8;  ///< number of the output among an operator's tensors

  explicit NetworkMemory(const digits::Network& network) : network_(network) {}

  /// What the recorder is told of tensor `number` of operator `op`: an input, or `kOutput`.
  opdump::TensorView view(std::size_t op, unsigned number) const {
    const digits::Tensor& tensor = find(op, number);
    const bool half = tensor.type == digits::ElementType::kFloat16;
    return {.address = std::uint64_t{op + 1} << kOpShift | std::uint64_t{number} << kTensorShift,
            .bytes = tensor.bytes,
            .dtype = half ? opdump::DType::float16 : opdump::DType::float32,
            .format = tensor.rank == 4 ? opdump::Format::nchw : opdump::Format::nd,
            .shape = {tensor.dims, tensor.rank}};
  }

  /// Addresses below the first operator's are pointers.
  [[nodiscard]] opdump::Status copy(std::byte* to, opdump::Address from, std::size_t bytes) override {
    const std::size_t op = static_cast<std::size_t>(from >> kOpShift);
    if (op == 0 || op > network_.ops().size()) return plain_.copy(to, from, bytes);
    const unsigned number = static_cast<unsigned>(from >> kTensorShift & 0xf);
    const std::size_t offset = static_cast<std::size_t>(from & ((1u << kTensorShift) - 1));
    const digits::Tensor& tensor = find(op - 1, number);
    if (offset + bytes > tensor.bytes) return opdump::Status::device_copy_failed;
    std::memcpy(to, static_cast<const std::byte*>(tensor.data) + offset, bytes);
    return opdump::Status::ok;
  }

 private:
  const digits::Tensor& find(std::size_t op, unsigned number) const {
    const digits::Op& layer = network_.ops()[op];
    return number == kOutput ? layer.outputs.front() : layer.inputs[number];
  }

  const digits::Network& network_;
  opdump::HostMemory plain_;
};

}  // namespace firmware
