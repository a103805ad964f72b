#pragma once
#include <string_view>

#include "opdump/knobs.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// A tensor that a graph was built with. `name` is MindSpore's, such as `data-12`.
struct ConstantDesc {
  std::string_view name{};
  TensorView tensor{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
