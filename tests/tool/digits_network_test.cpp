#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "examples/digits/images.hpp"
#include "examples/digits/network.hpp"

using digits::ElementType;
using digits::Network;
using digits::Op;
using digits::Tensor;

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const Tensor& tensor) {
  Bytes bytes(tensor.bytes);
  std::memcpy(bytes.data(), tensor.data, tensor.bytes);
  return bytes;
}

std::vector<Bytes> all_outputs(const Network& network) {
  std::vector<Bytes> outputs;
  for (const Op& op : network.ops()) outputs.push_back(bytes_of(op.outputs[0]));
  return outputs;
}

void check_size(const Tensor& tensor) {
  std::uint64_t size = tensor.type == ElementType::kFloat16 ? 2 : 4;
  REQUIRE(tensor.rank >= 1);
  REQUIRE(tensor.rank <= Tensor::kMaxRank);
  for (std::size_t i = 0; i < tensor.rank; ++i) size *= tensor.dims[i];
  CHECK(tensor.bytes == size);
  CHECK(tensor.data != nullptr);
}

}  // namespace

TEST_CASE("digits: the ops are described as they are chained") {
  const Network network;
  REQUIRE(network.ops().size() == Network::kOpCount);
  const Tensor* previous = nullptr;
  for (const Op& op : network.ops()) {
    CAPTURE(op.name);
    CHECK_FALSE(op.name.empty());
    CHECK_FALSE(op.type.empty());
    REQUIRE(op.outputs.size() == 1);
    for (const Tensor& input : op.inputs) check_size(input);
    check_size(op.outputs[0]);
    if (previous != nullptr) {
      CHECK(op.inputs[0].data == previous->data);
      CHECK(op.inputs[0].type == previous->type);
    }
    previous = &op.outputs[0];
  }
}

TEST_CASE("digits: an op writes its own output and nothing else") {
  Network network;
  network.load_image(0);
  for (std::size_t i = 0; i < Network::kOpCount; ++i) {
    CAPTURE(i);
    std::vector<Bytes> before = all_outputs(network);
    network.run_op(i);
    const std::vector<Bytes> after = all_outputs(network);
    CHECK(after[i] != before[i]);
    before[i] = after[i];
    CHECK(after == before);
  }
}

TEST_CASE("digits: the first image has the pixels of the data set and is read right") {
  Network network;
  network.load_image(0);
  const Op& conv1 = network.ops()[0];
  digits::Float16 pixels[8][8];
  REQUIRE(conv1.inputs[0].bytes == sizeof pixels);
  std::memcpy(pixels, conv1.inputs[0].data, sizeof pixels);
  // The first two rows of the data set's first image are 0 0 5 13 9 1 0 0 and 0 0 13 15 10 15 5 0.
  const int levels[2][8] = {{0, 0, 5, 13, 9, 1, 0, 0}, {0, 0, 13, 15, 10, 15, 5, 0}};
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t c = 0; c < 8; ++c)
      CHECK(digits::to_float32(pixels[r][c]) * 16 == static_cast<float>(levels[r][c]));
  }

  for (std::size_t i = 0; i < Network::kOpCount; ++i) network.run_op(i);
  CHECK(network.predicted() == digits::kLabels[0]);
  float probabilities[10];
  const Tensor& softmax = network.ops()[Network::kOpCount - 1].outputs[0];
  REQUIRE(softmax.bytes == sizeof probabilities);
  std::memcpy(probabilities, softmax.data, sizeof probabilities);
  float sum = 0;
  for (const float p : probabilities) sum += p;
  CHECK(sum == doctest::Approx(1.0));
  CHECK(probabilities[network.predicted()] > 0.5f);
}
