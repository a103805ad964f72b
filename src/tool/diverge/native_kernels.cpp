#include "src/tool/diverge/native_kernels.hpp"

#include <algorithm>

namespace opdump::tool {
namespace {

constexpr std::int64_t kMostWindow = 1 << 20;

/// An attribute of one number for each spatial dim, or `otherwise` for all.
bool window_numbers(NativeCall& call, std::string_view name, std::size_t count, std::int64_t otherwise,
                    std::vector<std::int64_t>& numbers) {
  const auto* const given = call.integers(name);
  numbers = given != nullptr ? *given : std::vector<std::int64_t>(count, otherwise);
  bool good = numbers.size() == count;
  for (const std::int64_t number : numbers) good = good && number >= otherwise && number <= kMostWindow;
  return good || call.refuse("attribute '" + std::string(name) + "' does not fit its dims");
}

void pad_to_same(bool upper, WindowDim& dim) {
  dim.out = (dim.in + dim.stride - 1) / dim.stride;
  const std::size_t reach = (dim.kernel - 1) * dim.dilation + 1;
  const std::size_t needed = dim.out == 0 ? 0 : (dim.out - 1) * dim.stride + reach;
  const auto padding = static_cast<std::ptrdiff_t>(needed > dim.in ? needed - dim.in : 0);
  dim.pad_before = upper ? padding / 2 : padding - padding / 2;
  dim.pad_behind = padding - dim.pad_before;
}

bool count_windows(NativeCall& call, bool round_up, WindowDim& dim) {
  const auto reach = static_cast<std::ptrdiff_t>((dim.kernel - 1) * dim.dilation + 1);
  const std::ptrdiff_t room = static_cast<std::ptrdiff_t>(dim.in) + dim.pad_before + dim.pad_behind - reach;
  if (room < 0) return call.refuse("its window is larger than its input");
  const auto stride = static_cast<std::ptrdiff_t>(dim.stride);
  std::ptrdiff_t out = (room + (round_up ? stride - 1 : 0)) / stride + 1;
  // A window has to begin before the padding behind the input.
  if (round_up && (out - 1) * stride >= static_cast<std::ptrdiff_t>(dim.in) + dim.pad_before) --out;
  dim.out = static_cast<std::size_t>(out);
  return true;
}

/// Adds `weight` times a row of the input to a row of the output, where they meet.
void add_row(const WindowDim& dim, std::size_t k, double weight, const double* in, double* out) {
  std::size_t first = 0, end = dim.out;
  while (first < end && dim.place(first, k) < 0) ++first;
  while (end > first && dim.place(end - 1, k) >= static_cast<std::ptrdiff_t>(dim.in)) --end;
  if (first == end) return;
  const double* from = in + dim.place(first, k);
  if (dim.stride == 1) {
    for (std::size_t x = first; x < end; ++x) out[x] += weight * from[x - first];
  } else {
    for (std::size_t x = first; x < end; ++x, from += dim.stride) out[x] += weight * *from;
  }
}

}  // namespace

bool take(NativeCall& call, std::size_t input, Reals& to) {
  to.dims = call.input(input).dims;
  return call.reals(input, to.values);
}

bool multiply(NativeCall& call, const Reals& a, const Reals& b, Reals& to) {
  if (a.dims.empty() || b.dims.empty()) return call.refuse("a scalar is no matrix");
  std::vector<Dim> left = a.dims, right = b.dims;
  if (left.size() == 1) left.insert(left.begin(), 1);
  if (right.size() == 1) right.push_back(1);
  const auto m = static_cast<std::size_t>(left[left.size() - 2]), k = static_cast<std::size_t>(left.back());
  const auto n = static_cast<std::size_t>(right.back());
  if (right[right.size() - 2] != k) return call.refuse("its matrices do not fit each other");
  std::vector<Dim> left_stack(left.begin(), left.end() - 2), right_stack(right.begin(), right.end() - 2);
  const std::size_t rank = std::max(left_stack.size(), right_stack.size());
  left_stack.insert(left_stack.begin(), rank - left_stack.size(), 1);
  right_stack.insert(right_stack.begin(), rank - right_stack.size(), 1);
  std::vector<Dim> stack;
  for (std::size_t i = 0; i < rank; ++i) {
    if (left_stack[i] != right_stack[i] && left_stack[i] != 1 && right_stack[i] != 1)
      return call.refuse("its stacks of matrices do not broadcast");
    stack.push_back(left_stack[i] == 1 ? right_stack[i] : left_stack[i]);
  }
  to.dims = stack;
  if (a.dims.size() > 1) to.dims.push_back(m);
  if (b.dims.size() > 1) to.dims.push_back(n);
  std::size_t count = 0;
  if (!call.fits(to.dims, count)) return false;
  to.values.assign(count, 0);
  const std::vector<std::size_t> left_strides = strides_of(left_stack),
                                 right_strides = strides_of(right_stack);
  std::vector<std::size_t> at(rank);
  for (std::size_t matrix = 0; matrix < product(stack, 0, rank); ++matrix, step(stack, at)) {
    std::size_t left_at = 0, right_at = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      left_at += left_stack[i] == 1 ? 0 : at[i] * left_strides[i];
      right_at += right_stack[i] == 1 ? 0 : at[i] * right_strides[i];
    }
    for (std::size_t row = 0; row < m; ++row) {
      double* const out = to.values.data() + (matrix * m + row) * n;
      for (std::size_t i = 0; i < k; ++i) {
        const double factor = a.values[(left_at * m + row) * k + i];
        const double* const from = b.values.data() + (right_at * k + i) * n;
        for (std::size_t column = 0; column < n; ++column) out[column] += factor * from[column];
      }
    }
  }
  return true;
}

bool read_window(NativeCall& call, Shape in, Shape kernel, std::vector<WindowDim>& window) {
  std::vector<std::int64_t> kernels, strides, dilations, pads;
  const std::size_t rank = in.size();
  if (!window_numbers(call, "strides", rank, 1, strides) ||
      !window_numbers(call, "dilations", rank, 1, dilations) ||
      !window_numbers(call, "pads", 2 * rank, 0, pads))
    return false;
  if (!kernel.empty()) {
    for (const Dim dim : kernel)
      kernels.push_back(static_cast<std::int64_t>(std::min<Dim>(dim, kMostWindow)));
    if (const auto* const told = call.integers("kernel_shape"); told != nullptr && *told != kernels)
      return call.refuse("attribute 'kernel_shape' is not that of its weights");
  } else if (call.integers("kernel_shape") == nullptr ||
             !window_numbers(call, "kernel_shape", rank, 1, kernels)) {
    return call.refuse("attribute 'kernel_shape' does not fit its dims");
  }
  const std::string automatic = call.text("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID" && !automatic.empty())
    return call.refuse("auto_pad is '" + automatic + "'");
  const bool told = automatic == "NOTSET" || automatic.empty();
  for (std::size_t i = 0; i < rank; ++i) {
    WindowDim& dim = window.emplace_back();
    dim.in = static_cast<std::size_t>(in[i]);
    dim.kernel = static_cast<std::size_t>(kernels[i]);
    dim.stride = static_cast<std::size_t>(strides[i]);
    dim.dilation = static_cast<std::size_t>(dilations[i]);
    if (dim.kernel == 0) return call.refuse("its window is empty");
    if (same) {
      pad_to_same(automatic == "SAME_UPPER", dim);
      continue;
    }
    if (told) dim.pad_before = static_cast<std::ptrdiff_t>(pads[i]);
    if (told) dim.pad_behind = static_cast<std::ptrdiff_t>(pads[rank + i]);
    if (!count_windows(call, call.integer("ceil_mode", 0) != 0, dim)) return false;
  }
  return true;
}

bool convolve(NativeCall& call, const Reals& x, const Reals& w, Reals& to) {
  if (x.dims.size() < 3 || w.dims.size() != x.dims.size())
    return call.refuse("input and weights have not as many dims, of which 2 are none of space");
  const Shape in = Shape(x.dims).subspan(2), kernel = Shape(w.dims).subspan(2);
  std::vector<WindowDim> window;
  if (!read_window(call, in, kernel, window)) return false;
  const std::int64_t group = call.integer("group", 1);
  const std::size_t groups = group < 1 ? 0 : static_cast<std::size_t>(group);
  const auto images = static_cast<std::size_t>(x.dims[0]), channels = static_cast<std::size_t>(x.dims[1]);
  const auto made = static_cast<std::size_t>(w.dims[0]), each = static_cast<std::size_t>(w.dims[1]);
  if (groups == 0 || made % groups != 0 || each * groups != channels)
    return call.refuse("channels, weights and groups do not fit each other");
  to.dims = {x.dims[0], w.dims[0]};
  std::vector<Dim> rows, kernel_rows(kernel.begin(), kernel.end() - 1);
  for (const WindowDim& dim : window) {
    to.dims.push_back(dim.out);
    rows.push_back(dim.out);
  }
  rows.pop_back();
  std::size_t count = 0;
  if (!call.fits(to.dims, count)) return false;
  to.values.assign(count, 0);
  const WindowDim& last = window.back();
  const std::size_t in_plane = product(in, 0, in.size()), out_rows = product(rows, 0, rows.size());
  const std::size_t kernel_rows_count = product(kernel_rows, 0, kernel_rows.size());
  const std::vector<std::size_t> in_strides = strides_of(in);
  for (std::size_t plane = 0; plane < images * made; ++plane) {
    const std::size_t image = plane / made, m = plane % made, first = m / (made / groups) * each;
    for (std::size_t c = 0; c < each; ++c) {
      const double* const from = x.values.data() + (image * channels + first + c) * in_plane;
      const double* weight = w.values.data() + (m * each + c) * kernel_rows_count * last.kernel;
      std::vector<std::size_t> k(kernel_rows.size());
      for (std::size_t kr = 0; kr < kernel_rows_count; ++kr, step(kernel_rows, k), weight += last.kernel) {
        std::vector<std::size_t> at(rows.size());
        for (std::size_t r = 0; r < out_rows; ++r, step(rows, at)) {
          std::size_t start = 0;
          bool inside = true;
          for (std::size_t d = 0; d < at.size() && inside; ++d) {
            const std::ptrdiff_t place = window[d].place(at[d], k[d]);
            inside = window[d].is_inside(place);
            start += inside ? static_cast<std::size_t>(place) * in_strides[d] : 0;
          }
          if (!inside) continue;
          double* const out = to.values.data() + (plane * out_rows + r) * last.out;
          for (std::size_t i = 0; i < last.kernel; ++i) add_row(last, i, weight[i], from + start, out);
        }
      }
    }
  }
  return true;
}

}  // namespace opdump::tool
