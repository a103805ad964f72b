#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "src/tool/diverge/native_call.hpp"

namespace opdump::tool {

// What operators on real numbers and on quantised ones have in common. All of it is float64.

/// Elements and dims of a tensor.
struct Reals {
  std::vector<Dim> dims;
  std::vector<double> values;
};

/// Reads an input.
bool take(NativeCall& call, std::size_t input, Reals& to);

/// The matrix product of NumPy: stacks of matrices broadcast, and a vector is a row or a column.
bool multiply(NativeCall& call, const Reals& a, const Reals& b, Reals& to);

/// Where a window lies: of one spatial dim.
struct WindowDim {
  std::size_t in = 0, out = 0, kernel = 1, stride = 1, dilation = 1;
  std::ptrdiff_t pad_before = 0, pad_behind = 0;

  /// The element of the input at place `k` of window `o`; outside of it in the padding.
  std::ptrdiff_t place(std::size_t o, std::size_t k) const {
    return static_cast<std::ptrdiff_t>(o * stride + k * dilation) - pad_before;
  }
  bool is_inside(std::ptrdiff_t at) const { return at >= 0 && at < static_cast<std::ptrdiff_t>(in); }
};

/// Reads the attributes of convolutions and pools: "kernel_shape", "strides", "pads", "dilations",
/// "auto_pad", "ceil_mode". `in` and `kernel` are the spatial dims; those of pools come from the attribute.
bool read_window(NativeCall& call, Shape in, Shape kernel, std::vector<WindowDim>& window);

/// The convolution of an input (N, C, ...) with weights (M, C / group, ...).
bool convolve(NativeCall& call, const Reals& x, const Reals& w, Reals& to);

}  // namespace opdump::tool
