#include <algorithm>
#include <cmath>
#include <limits>

#include "src/tool/diverge/native_kernels.hpp"
#include "src/tool/diverge/native_ops.hpp"

namespace opdump::tool {
namespace native_windows {
namespace {

bool conv(NativeCall& call) {
  Reals x, w, made;
  if (!is_float_dtype(call.input(0).dtype)) return call.refuse("its input holds no floats");
  if (!take(call, 0, x) || !take(call, 1, w) || !convolve(call, x, w, made)) return false;
  if (call.has(2)) {
    std::vector<double> bias;
    if (!call.reals(2, bias)) return false;
    const auto channels = static_cast<std::size_t>(made.dims[1]);
    if (bias.size() != channels) return call.refuse("its bias has not one number for each channel");
    const std::size_t plane = product(made.dims, 2, made.dims.size());
    for (std::size_t i = 0; i < made.values.size(); ++i) made.values[i] += bias[i / plane % channels];
  }
  call.give_reals(0, made.dims, made.values);
  return true;
}

constexpr std::size_t kMostSteps = std::size_t{1} << 36;

/// Spatial dims of a pool, its windows, and what they make.
struct Pool {
  std::vector<WindowDim> window;
  std::vector<Dim> in, out, kernel, dims;
  std::vector<double> values;
  std::size_t planes = 0;

  bool begin(NativeCall& call) {
    const std::vector<Dim>& shape = call.input(0).dims;
    if (shape.size() < 3) return call.refuse("its input has less than 3 dims");
    in.assign(shape.begin() + 2, shape.end());
    if (!call.reals(0, values) || !read_window(call, in, {}, window)) return false;
    dims = {shape[0], shape[1]};
    for (const WindowDim& dim : window) {
      out.push_back(dim.out);
      dims.push_back(dim.out);
      kernel.push_back(dim.kernel);
    }
    planes = static_cast<std::size_t>(shape[0] * shape[1]);
    std::size_t count = 0, window_size = 0;
    if (!call.fits(dims, count) || !call.fits(kernel, window_size)) return false;
    // No pool has windows much larger than its input, but a damaged model may.
    return count == 0 || window_size <= kMostSteps / count ||
           call.refuse("its windows are too many and too large");
  }

  /// Calls `begin()`, then `take(element of the plane)` for what lies in the window, `pad(whether between the
  /// pads)` for what does not, and `end(output element, plane)`, for each window.
  template <class Begin, class Take, class Pads, class End>
  void for_each(Begin begin, Take take, Pads pad, End end) const {
    const std::size_t windows = product(out, 0, out.size()), kernels = product(kernel, 0, kernel.size());
    const std::vector<std::size_t> strides = strides_of(in);
    for (std::size_t plane = 0; plane < planes; ++plane) {
      std::vector<std::size_t> at(out.size());
      for (std::size_t o = 0; o < windows; ++o, step(out, at)) {
        begin();
        std::vector<std::size_t> k(out.size());
        for (std::size_t i = 0; i < kernels; ++i, step(kernel, k)) {
          std::size_t element = 0;
          bool inside = true, padded = true;
          for (std::size_t d = 0; d < at.size(); ++d) {
            const std::ptrdiff_t place = window[d].place(at[d], k[d]);
            inside = inside && window[d].is_inside(place);
            padded = padded && place < static_cast<std::ptrdiff_t>(window[d].in) + window[d].pad_behind;
            element += inside ? static_cast<std::size_t>(place) * strides[d] : 0;
          }
          if (inside) {
            take(plane, element);
          } else {
            pad(padded);
          }
        }
        end(plane * windows + o, plane);
      }
    }
  }
};

bool max_pool(NativeCall& call) {
  Pool pool;
  if (!pool.begin(call)) return false;
  if (call.integer("storage_order", 0) != 0 && call.is_wanted(1))
    return call.refuse("indices in column-major order are not computed");
  const std::size_t plane_size = product(pool.in, 0, pool.in.size());
  const std::size_t count = product(pool.dims, 0, pool.dims.size());
  std::vector<double> made(count);
  std::vector<std::int64_t> places(count);
  double most = 0;
  std::size_t place = 0;
  bool any = false;
  pool.for_each([&] { any = false; },
                [&](std::size_t plane, std::size_t element) {
                  const double x = pool.values[plane * plane_size + element];
                  if (any && (std::isnan(most) || !(x > most || std::isnan(x)))) return;
                  any = true;
                  most = x;
                  place = element;
                },
                [](bool) {},
                [&](std::size_t to, std::size_t plane) {
                  made[to] = any ? most : -std::numeric_limits<double>::infinity();
                  places[to] = static_cast<std::int64_t>(plane * plane_size + place);
                });
  if (is_float_dtype(call.input(0).dtype)) {
    call.give_reals(0, pool.dims, made);
  } else {
    for (const double x : made) {
      if (!std::isfinite(x)) return call.refuse("a window lies in the padding");
    }
    call.give_integers(0, call.input(0).dtype, pool.dims, {made.begin(), made.end()});
  }
  if (call.is_wanted(1)) call.give_integers(1, DType::int64, pool.dims, places);
  return true;
}

bool average_pool(NativeCall& call) {
  Pool pool;
  if (!is_float_dtype(call.input(0).dtype)) return call.refuse("its input holds no floats");
  if (!pool.begin(call)) return false;
  const bool with_pads = call.integer("count_include_pad", 0) != 0;
  const std::size_t plane_size = product(pool.in, 0, pool.in.size());
  std::vector<double> made(product(pool.dims, 0, pool.dims.size()));
  double sum = 0, count = 0;
  pool.for_each([&] { sum = count = 0; },
                [&](std::size_t plane, std::size_t element) {
                  sum += pool.values[plane * plane_size + element];
                  count += 1;
                },
                [&](bool padded) { count += padded && with_pads ? 1 : 0; },
                [&](std::size_t to, std::size_t) { made[to] = sum / count; });
  call.give_reals(0, pool.dims, made);
  return true;
}

/// `fold` over each plane, then `end`.
template <class Fold, class End>
bool global_pool(NativeCall& call, double start, Fold fold, End end) {
  Reals x;
  if (!is_float_dtype(call.input(0).dtype)) return call.refuse("its input holds no floats");
  if (!take(call, 0, x)) return false;
  if (x.dims.size() < 3) return call.refuse("its input has less than 3 dims");
  const std::size_t plane = product(x.dims, 2, x.dims.size());
  std::vector<Dim> dims(x.dims.size(), 1);
  dims[0] = x.dims[0];
  dims[1] = x.dims[1];
  std::vector<double> made(product(dims, 0, 2), start);
  for (std::size_t i = 0; i < x.values.size(); ++i) made[i / plane] = fold(made[i / plane], x.values[i]);
  for (double& value : made) value = end(value, static_cast<double>(plane));
  call.give_reals(0, dims, made);
  return true;
}

bool global_average_pool(NativeCall& call) {
  return global_pool(
      call, 0, [](double sum, double x) { return sum + x; },
      [](double sum, double count) { return sum / count; });
}

bool global_max_pool(NativeCall& call) {
  return global_pool(
      call, -std::numeric_limits<double>::infinity(),
      [](double most, double x) { return std::isnan(most) || most > x ? most : x; },
      [](double most, double) { return most; });
}

constexpr NativeOp kOps[] = {
    {"AveragePool", average_pool, 1,
     " auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides "},
    {"Conv", conv, 2, " auto_pad dilations group kernel_shape pads strides "},
    {"GlobalAveragePool", global_average_pool, 1},
    {"GlobalMaxPool", global_max_pool, 1},
    {"MaxPool", max_pool, 1, " auto_pad ceil_mode dilations kernel_shape pads storage_order strides "},
};

}  // namespace
}  // namespace native_windows

std::span<const NativeOp> window_ops() {
  return native_windows::kOps;
}

}  // namespace opdump::tool
