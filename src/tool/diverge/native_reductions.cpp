#include <algorithm>
#include <cmath>
#include <limits>

#include "src/tool/diverge/native_ops.hpp"

namespace opdump::tool {
namespace native_reductions {
namespace {

/// What is reduced, and where in the output each element goes.
class Reduction {
 public:
  /// `input_since`: the opset from which on the axes are the second input.
  bool begin(NativeCall& call, std::uint64_t input_since) {
    const std::vector<Dim>& shape = call.input(0).dims;
    std::vector<std::int64_t> axes;
    if (call.opset() >= input_since) {
      if (call.has(1) && !call.index_input(1, axes)) return false;
    } else if (const auto* const given = call.integers("axes")) {
      axes = *given;
    }
    if (!call.axes(axes, shape.size(), reduced_)) return false;
    if (axes.empty()) {
      nothing_ = call.opset() >= input_since && call.integer("noop_with_empty_axes", 0) != 0;
      reduced_.assign(shape.size(), !nothing_);
    }
    const bool keep = call.integer("keepdims", 1) != 0;
    std::vector<Dim> left = shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (reduced_[d]) left[d] = 1;
      if (!reduced_[d] || keep) dims_.push_back(left[d]);
    }
    strides_ = strides_of(left);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (reduced_[d]) strides_[d] = 0;
    }
    return call.fits(dims_, count_);
  }

  const std::vector<Dim>& dims() const { return dims_; }
  std::size_t count() const { return count_; }

  /// Calls `take(output element, input element)` for each element of the input.
  template <class Take>
  void for_each(Shape shape, Take take) const {
    const std::size_t elements = product(shape, 0, shape.size());
    std::vector<std::size_t> at(shape.size());
    for (std::size_t i = 0; i < elements; ++i, step(shape, at)) {
      std::size_t to = 0;
      for (std::size_t d = 0; d < at.size(); ++d) to += at[d] * strides_[d];
      take(to, i);
    }
  }

 private:
  std::vector<bool> reduced_;
  std::vector<Dim> dims_;
  std::vector<std::size_t> strides_;
  std::size_t count_ = 0;
  bool nothing_ = false;
};

constexpr std::uint64_t kInputSince = 18;  ///< of all but ReduceSum

/// `fold(sum, element)` over elements, then `end(sum, number of elements)`.
template <class Fold, class End>
bool reduce(NativeCall& call, double start, Fold fold, End end, std::uint64_t input_since = kInputSince) {
  Reduction reduction;
  std::vector<double> values;
  const DType dtype = call.input(0).dtype;
  if (!reduction.begin(call, input_since) || !call.reals(0, values)) return false;
  std::vector<double> sums(reduction.count(), start);
  reduction.for_each(call.input(0).dims, [&](std::size_t to, std::size_t i) {
    sums[to] = fold(sums[to], values[i]);
    if (is_integer_dtype(dtype) && !(std::fabs(sums[to]) <= 0x1p53)) sums[to] = std::nan("");
  });
  const double each = reduction.count() == 0
                          ? 0
                          : static_cast<double>(values.size()) / static_cast<double>(reduction.count());
  for (double& sum : sums) sum = end(sum, each);
  if (is_float_dtype(dtype)) {
    call.give_reals(0, reduction.dims(), sums);
    return true;
  }
  std::vector<std::int64_t> whole(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (!(std::fabs(sums[i]) <= 0x1p53)) return call.refuse("an integer passes 2^53");
    whole[i] = static_cast<std::int64_t>(sums[i]);
  }
  call.give_integers(0, dtype, reduction.dims(), whole);
  return true;
}

double as_it_is(double sum, double) {
  return sum;
}

double plus(double sum, double x) {
  return sum + x;
}

double plus_square(double sum, double x) {
  return sum + x * x;
}

bool reduce_sum(NativeCall& call) {
  return reduce(call, 0, plus, as_it_is, 13);
}

bool reduce_mean(NativeCall& call) {
  return reduce(call, 0, plus, [](double sum, double count) { return sum / count; });
}

bool reduce_prod(NativeCall& call) {
  return reduce(
      call, 1, [](double sum, double x) { return sum * x; }, as_it_is);
}

bool reduce_max(NativeCall& call) {
  return reduce(
      call, -std::numeric_limits<double>::infinity(),
      [](double sum, double x) { return std::isnan(sum) || sum > x ? sum : x; }, as_it_is);
}

bool reduce_min(NativeCall& call) {
  return reduce(
      call, std::numeric_limits<double>::infinity(),
      [](double sum, double x) { return std::isnan(sum) || sum < x ? sum : x; }, as_it_is);
}

bool reduce_l1(NativeCall& call) {
  return reduce(
      call, 0, [](double sum, double x) { return sum + std::fabs(x); }, as_it_is);
}

bool reduce_l2(NativeCall& call) {
  return reduce(call, 0, plus_square, [](double sum, double) { return std::sqrt(sum); });
}

bool reduce_log_sum(NativeCall& call) {
  return reduce(call, 0, plus, [](double sum, double) { return std::log(sum); });
}

bool reduce_log_sum_exp(NativeCall& call) {
  return reduce(
      call, -std::numeric_limits<double>::infinity(),
      [](double sum, double x) {
        const double most = std::max(sum, x);
        return std::isinf(most) ? most : most + std::log(std::exp(sum - most) + std::exp(x - most));
      },
      as_it_is);
}

bool reduce_sum_square(NativeCall& call) {
  return reduce(call, 0, plus_square, as_it_is);
}

/// Elements that an axis makes a row of.
struct Rows {
  std::size_t before = 1, length = 1, behind = 1;

  std::size_t at(std::size_t row, std::size_t i) const {
    return (row / behind * length + i) * behind + row % behind;
  }
  std::size_t count() const { return before * behind; }
};

/// `to_end`: the axis and all behind it make one row.
bool rows_of(NativeCall& call, std::int64_t given, bool to_end, Rows& rows) {
  const std::vector<Dim>& dims = call.input(0).dims;
  std::size_t axis = 0;
  if (to_end && given == static_cast<std::int64_t>(dims.size())) {
    rows = {product(dims, 0, dims.size()), 1, 1};
    return true;
  }
  if (!call.axis(given, dims.size(), axis)) return false;
  const std::size_t end = to_end ? dims.size() : axis + 1;
  rows = {product(dims, 0, axis), product(dims, axis, end), product(dims, end, dims.size())};
  return true;
}

/// Before opset 13 the axis and all behind it count as one.
template <class Apply>
bool along_rows(NativeCall& call, Apply apply) {
  const bool to_end = call.opset() < 13;
  Rows rows;
  std::vector<double> values;
  if (!rows_of(call, call.integer("axis", to_end ? 1 : -1), to_end, rows) || !call.reals(0, values))
    return false;
  std::vector<double> row(rows.length);
  for (std::size_t r = 0; r < rows.count() && rows.length != 0; ++r) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = values[rows.at(r, i)];
    apply(row);
    for (std::size_t i = 0; i < row.size(); ++i) values[rows.at(r, i)] = row[i];
  }
  call.give_reals(0, call.input(0).dims, values);
  return true;
}

/// Returns the logarithm of the sum of the exponentials, and takes the greatest element off each.
double normaliser(std::vector<double>& row) {
  const double most = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double& x : row) sum += std::exp(x -= most);
  return std::log(sum);
}

bool softmax(NativeCall& call) {
  return along_rows(call, [](std::vector<double>& row) {
    const double sum = normaliser(row);
    for (double& x : row) x = std::exp(x - sum);
  });
}

bool log_softmax(NativeCall& call) {
  return along_rows(call, [](std::vector<double>& row) {
    const double sum = normaliser(row);
    for (double& x : row) x -= sum;
  });
}

bool hardmax(NativeCall& call) {
  return along_rows(call, [](std::vector<double>& row) {
    const auto most = std::max_element(row.begin(), row.end()) - row.begin();
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::ptrdiff_t>(i) == most ? 1 : 0;
  });
}

bool arg_extreme(NativeCall& call, bool most) {
  Rows rows;
  std::vector<double> values;
  const std::int64_t axis = call.integer("axis", 0);
  if (!rows_of(call, axis, false, rows) || !call.reals(0, values)) return false;
  if (rows.length == 0) return call.refuse("the axis has no elements");
  const bool last = call.integer("select_last_index", 0) != 0;
  std::vector<std::int64_t> places(rows.count());
  for (std::size_t r = 0; r < places.size(); ++r) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < rows.length; ++i) {
      const double x = values[rows.at(r, i)], so_far = values[rows.at(r, best)];
      if ((most ? x > so_far : x < so_far) || (last && x == so_far)) best = i;
    }
    places[r] = static_cast<std::int64_t>(best);
  }
  std::vector<Dim> dims = call.input(0).dims;
  const std::size_t place =
      static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(dims.size()) : axis);
  dims[place] = 1;
  if (call.integer("keepdims", 1) == 0) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(place));
  call.give_integers(0, DType::int64, dims, places);
  return true;
}

bool arg_max(NativeCall& call) {
  return arg_extreme(call, true);
}
bool arg_min(NativeCall& call) {
  return arg_extreme(call, false);
}

bool cum_sum(NativeCall& call) {
  std::vector<std::int64_t> axis;
  std::vector<double> values;
  Rows rows;
  if (!call.index_input(1, axis) || !call.reals(0, values)) return false;
  if (axis.size() != 1) return call.refuse("its axis is not one number");
  if (!is_float_dtype(call.input(0).dtype)) return call.refuse("its input holds no floats");
  if (!rows_of(call, axis[0], false, rows)) return false;
  const bool exclusive = call.integer("exclusive", 0) != 0, reverse = call.integer("reverse", 0) != 0;
  for (std::size_t r = 0; r < rows.count(); ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < rows.length; ++i) {
      double& x = values[rows.at(r, reverse ? rows.length - 1 - i : i)];
      const double before = sum;
      sum += x;
      x = exclusive ? before : sum;
    }
  }
  call.give_reals(0, call.input(0).dims, values);
  return true;
}

constexpr std::string_view kReduceAttributes = " axes keepdims noop_with_empty_axes ";
constexpr std::string_view kArgAttributes = " axis keepdims select_last_index ";

constexpr NativeOp kOps[] = {
    {"ArgMax", arg_max, 1, kArgAttributes},
    {"ArgMin", arg_min, 1, kArgAttributes},
    {"CumSum", cum_sum, 2, " exclusive reverse "},
    {"Hardmax", hardmax, 1, " axis "},
    {"LogSoftmax", log_softmax, 1, " axis "},
    {"ReduceL1", reduce_l1, 1, kReduceAttributes},
    {"ReduceL2", reduce_l2, 1, kReduceAttributes},
    {"ReduceLogSum", reduce_log_sum, 1, kReduceAttributes},
    {"ReduceLogSumExp", reduce_log_sum_exp, 1, kReduceAttributes},
    {"ReduceMax", reduce_max, 1, kReduceAttributes},
    {"ReduceMean", reduce_mean, 1, kReduceAttributes},
    {"ReduceMin", reduce_min, 1, kReduceAttributes},
    {"ReduceProd", reduce_prod, 1, kReduceAttributes},
    {"ReduceSum", reduce_sum, 1, kReduceAttributes},
    {"ReduceSumSquare", reduce_sum_square, 1, kReduceAttributes},
    {"Softmax", softmax, 1, " axis "},
};

}  // namespace
}  // namespace native_reductions

std::span<const NativeOp> reduction_ops() {
  return native_reductions::kOps;
}

}  // namespace opdump::tool
