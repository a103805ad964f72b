#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "float16.hpp"

namespace digits {

enum class ElementType : std::uint8_t { kFloat16, kFloat32 };

/// An array that an op reads or writes: dense, row-major, activations in NCHW order.
struct Tensor {
  static constexpr std::size_t kMaxRank = 4;

  ElementType type;
  std::uint8_t rank;
  std::uint64_t dims[kMaxRank];  ///< The first `rank` count.
  const void* data;
  std::size_t bytes;
};

struct Op {
  std::string_view name;
  std::string_view type;
  std::span<const Tensor> inputs;  ///< The activation, then the weights if the op has any.
  std::span<const Tensor> outputs;
};

/// A small convolutional network that reads a handwritten digit. The convolution blocks store float16, the
/// tail float32; all arithmetic is float32. Every op writes a buffer of its own, so after a run all outputs
/// are there. About 9 KB, no heap.
class Network {
 public:
  static constexpr std::size_t kOpCount = 13;

  Network();
  Network(const Network&) = delete;  // The ops point into the object.
  Network& operator=(const Network&) = delete;

  /// In the order in which they must run. Valid as long as the network.
  std::span<const Op> ops() const { return ops_; }

  /// Makes conv2 multiply its sums, as a wrong calibration would: most of them then overflow float16.
  void spoil_conv2() { conv2_scale_ = 1e6f; }

  /// Makes held-out image `index` (below `kImageCount`) the input.
  void load_image(std::size_t index);

  /// Runs op `index` (below `ops().size()`) on what the ops before it have written.
  void run_op(std::size_t index);

  /// The digit with the highest probability, once all ops have run.
  int predicted() const;

 private:
  template <typename Visitor>
  void for_each_op(Visitor&& visit);

  float conv2_scale_ = 1;
  Float16 image_[1][1][8][8] = {};
  Float16 conv1_[1][8][8][8] = {};
  Float16 bias1_[1][8][8][8] = {};
  Float16 relu1_[1][8][8][8] = {};
  Float16 pool1_[1][8][4][4] = {};
  Float16 conv2_[1][16][4][4] = {};
  Float16 bias2_[1][16][4][4] = {};
  Float16 relu2_[1][16][4][4] = {};
  Float16 pool2_[1][16][2][2] = {};
  Float16 flat_[1][64] = {};
  float features_[1][64] = {};
  float dense_[1][10] = {};
  float scores_[1][10] = {};
  float probabilities_[1][10] = {};

  Tensor inputs_[kOpCount][2] = {};
  Tensor outputs_[kOpCount] = {};
  Op ops_[kOpCount] = {};
};

}  // namespace digits
