#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/tool/diverge/element_values.hpp"
#include "src/tool/diverge/replay_op.hpp"

namespace opdump::tool {

/// One operator while it is computed natively: its inputs, attributes and outputs. What returns false has
/// said why.
class NativeCall {
 public:
  NativeCall(const ReplayOp& op, std::vector<ReplayTensor>& outputs, std::string& reason)
      : op_(op), outputs_(outputs), reason_(reason) {}

  const ReplayOp& op() const { return op_; }
  std::uint64_t opset() const { return op_.opset; }
  std::size_t inputs() const { return op_.inputs.size(); }
  bool has(std::size_t input) const { return input < op_.inputs.size() && op_.inputs[input].has_value(); }
  const ReplayTensor& input(std::size_t i) const { return *op_.inputs[i]; }

  bool refuse(std::string why) {
    reason_ = std::move(why);
    return false;
  }

  /// The elements of an input as float64.
  bool reals(std::size_t input, std::vector<double>& values) {
    std::optional<std::vector<double>> found = reals_of(this->input(input));
    if (!found)
      return refuse("elements of " + std::string(info(this->input(input).dtype).name) + " are not computed");
    values = std::move(*found);
    return true;
  }

  std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    const auto* const found = op_.attribute<std::int64_t>(name);
    return found == nullptr ? otherwise : *found;
  }
  double real(std::string_view name, double otherwise) const {
    const auto* const found = op_.attribute<float>(name);
    return found == nullptr ? otherwise : static_cast<double>(*found);
  }
  std::string text(std::string_view name, std::string_view otherwise) const {
    const auto* const found = op_.attribute<std::string>(name);
    return found == nullptr ? std::string(otherwise) : *found;
  }
  const std::vector<std::int64_t>* integers(std::string_view name) const {
    return op_.attribute<std::vector<std::int64_t>>(name);
  }

  bool is_wanted(std::size_t output) const {
    return output < op_.wanted.size() && !op_.wanted[output].first.empty();
  }
  DType wanted_dtype(std::size_t output) const {
    return output < op_.wanted.size() ? op_.wanted[output].second : DType::undefined;
  }

  /// One of the outputs that are wanted.
  ReplayTensor& output(std::size_t i) { return outputs_[i]; }

  /// Fills an output, if it is wanted.
  void give_reals(std::size_t i, std::vector<Dim> dims, const std::vector<double>& values) {
    if (i >= outputs_.size()) return;
    outputs_[i].dims = std::move(dims);
    put_reals(values, outputs_[i]);
  }
  void give_integers(std::size_t i, DType dtype, std::vector<Dim> dims,
                     const std::vector<std::int64_t>& values) {
    if (i >= outputs_.size()) return;
    outputs_[i].dims = std::move(dims);
    put_integers(dtype, values, outputs_[i]);
  }

  /// Turns an axis, which may count from the end, into a place among `rank` dims.
  bool axis(std::int64_t given, std::size_t rank, std::size_t& place) {
    const std::int64_t axis = given < 0 ? given + static_cast<std::int64_t>(rank) : given;
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank))
      return refuse("axis " + std::to_string(given) + " of " + std::to_string(rank) + " dims");
    place = static_cast<std::size_t>(axis);
    return true;
  }

  /// The same for several; each may be given once.
  bool axes(const std::vector<std::int64_t>& given, std::size_t rank, std::vector<bool>& chosen) {
    chosen.assign(rank, false);
    for (const std::int64_t one : given) {
      std::size_t place = 0;
      if (!axis(one, rank, place)) return false;
      if (chosen[place]) return refuse("axis " + std::to_string(one) + " twice");
      chosen[place] = true;
    }
    return true;
  }

  /// Integers of an input of one dim.
  bool index_input(std::size_t i, std::vector<std::int64_t>& values) {
    if (!is_integer_dtype(input(i).dtype)) return refuse("input " + std::to_string(i) + " holds no integers");
    values = integers_of(input(i));
    return true;
  }

  bool fits(Shape dims, std::size_t& count) {
    const std::optional<std::size_t> elements = elements_of(dims);
    if (!elements) return refuse("an output would have more than 268435456 elements");
    count = *elements;
    return true;
  }

 private:
  const ReplayOp& op_;
  std::vector<ReplayTensor>& outputs_;
  std::string& reason_;
};

/// For each dim, how many elements apart its indices are.
inline std::vector<std::size_t> strides_of(Shape dims) {
  std::vector<std::size_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * static_cast<std::size_t>(dims[i]);
  return strides;
}

/// The product of the dims in [first, last).
inline std::size_t product(Shape dims, std::size_t first, std::size_t last) {
  std::size_t count = 1;
  for (std::size_t i = first; i < last; ++i) count *= static_cast<std::size_t>(dims[i]);
  return count;
}

/// Steps `at` to the next index of `dims` in row-major order.
inline void step(Shape dims, std::vector<std::size_t>& at) {
  for (std::size_t i = dims.size(); i-- != 0;) {
    if (++at[i] < dims[i]) return;
    at[i] = 0;
  }
}

}  // namespace opdump::tool
