#include "network.hpp"

#include <type_traits>
#include <utility>

#include "images.hpp"
#include "kernels.hpp"
#include "weights.hpp"

namespace digits {
namespace {

template <typename Array, std::size_t... I>
Tensor describe(const Array& array, std::index_sequence<I...>) {
  constexpr bool kHalf = std::is_same_v<std::remove_all_extents_t<Array>, Float16>;
  return {.type = kHalf ? ElementType::kFloat16 : ElementType::kFloat32,
          .rank = sizeof...(I),
          .dims = {std::extent_v<Array, I>...},
          .data = &array,
          .bytes = sizeof array};
}

template <typename Array>
Tensor describe(const Array& array) {
  return describe(array, std::make_index_sequence<std::rank_v<Array>>{});
}

}  // namespace

/// The network, one line per op: visit(name, kernel, output, inputs...).
template <typename Visitor>
void Network::for_each_op(Visitor&& visit) {
  visit("conv1", Conv2D{}, conv1_, image_, kConv1Weight);
  visit("bias1", BiasAdd{}, bias1_, conv1_, kConv1Bias);
  visit("relu1", Relu{}, relu1_, bias1_);
  visit("pool1", MaxPool{}, pool1_, relu1_);
  visit("conv2", Conv2D{conv2_scale_}, conv2_, pool1_, kConv2Weight);
  visit("bias2", BiasAdd{}, bias2_, conv2_, kConv2Bias);
  visit("relu2", Relu{}, relu2_, bias2_);
  visit("pool2", MaxPool{}, pool2_, relu2_);
  visit("flatten", Reshape{}, flat_, pool2_);
  visit("cast", Cast{}, features_, flat_);
  visit("dense", MatMul{}, dense_, features_, kDenseWeight);
  visit("bias3", BiasAdd{}, scores_, dense_, kDenseBias);
  visit("softmax", Softmax{}, probabilities_, scores_);
}

Network::Network() {
  std::size_t i = 0;
  for_each_op([&](std::string_view name, auto kernel, const auto& output, const auto&... inputs) {
    std::size_t count = 0;
    ((inputs_[i][count++] = describe(inputs)), ...);
    outputs_[i] = describe(output);
    ops_[i] = {name, kernel.kType, {inputs_[i], count}, {&outputs_[i], 1}};
    ++i;
  });
}

void Network::run_op(std::size_t index) {
  std::size_t i = 0;
  for_each_op([&](std::string_view, auto kernel, auto& output, const auto&... inputs) {
    if (i++ == index) kernel(output, inputs...);
  });
}

void Network::load_image(std::size_t index) {
  for (std::size_t pixel = 0; pixel < 64; ++pixel) {
    unsigned level = 0;
    for (std::size_t plane = 0; plane < 5; ++plane) {
      level |= static_cast<unsigned>((kImages[index][plane] >> pixel) & 1u) << plane;
    }
    image_[0][0][pixel / 8][pixel % 8] = to_float16(static_cast<float>(level) / 16);
  }
}

int Network::predicted() const {
  return static_cast<int>(index_of_largest(probabilities_));
}

}  // namespace digits
