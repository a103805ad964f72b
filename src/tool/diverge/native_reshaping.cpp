#include <algorithm>

#include "src/tool/diverge/native_call.hpp"
#include "src/tool/diverge/native_ops.hpp"

namespace opdump::tool {
namespace native_reshaping {
namespace {

/// The elements in the same order under other dims.
bool reshaped(NativeCall& call, std::vector<Dim> dims) {
  std::size_t count = 0;
  if (!call.fits(dims, count)) return false;
  if (count != product(call.input(0).dims, 0, call.input(0).dims.size()))
    return call.refuse("its elements do not fill the new shape");
  ReplayTensor& out = call.output(0);
  out.dtype = call.input(0).dtype;
  out.bytes = call.input(0).bytes;
  out.dims = std::move(dims);
  return true;
}

bool identity(NativeCall& call) {
  return reshaped(call, call.input(0).dims);
}

/// What inference makes of it.
bool dropout(NativeCall& call) {
  if (call.is_wanted(1)) return call.refuse("its mask is not computed");
  if (call.has(2) && call.input(2).bytes != std::vector<std::byte>(1))
    return call.refuse("it drops by chance");
  return identity(call);
}

bool reshape(NativeCall& call) {
  std::vector<std::int64_t> wanted;
  const std::vector<Dim>& from = call.input(0).dims;
  if (!call.index_input(1, wanted)) return false;
  const bool keep_zero = call.integer("allowzero", 0) != 0;
  std::vector<Dim> dims;
  std::size_t known = 1, open = wanted.size();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < -1 || (wanted[i] == -1 && open != wanted.size()))
      return call.refuse("there is no such shape as it is told");
    if (wanted[i] == -1) open = i;
    if (wanted[i] == 0 && !keep_zero && i >= from.size())
      return call.refuse("it copies a dim that is not there");
    dims.push_back(wanted[i] == -1                ? 1
                   : wanted[i] == 0 && !keep_zero ? from[i]
                                                  : static_cast<Dim>(wanted[i]));
  }
  if (!call.fits(dims, known)) return false;
  if (open != wanted.size()) dims[open] = known == 0 ? 0 : product(from, 0, from.size()) / known;
  return reshaped(call, std::move(dims));
}

bool flatten(NativeCall& call) {
  const std::vector<Dim>& dims = call.input(0).dims;
  const auto rank = static_cast<std::int64_t>(dims.size());
  std::int64_t axis = call.integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return call.refuse("its axis is not one of the dims");
  const auto place = static_cast<std::size_t>(axis);
  return reshaped(call, {product(dims, 0, place), product(dims, place, dims.size())});
}

/// Since opset 13 the axes are an input.
bool take_axes(NativeCall& call, std::vector<std::int64_t>& axes, bool& given) {
  given = call.opset() >= 13 ? call.has(1) : call.integers("axes") != nullptr;
  if (!given) return true;
  if (call.opset() >= 13) return call.index_input(1, axes);
  axes = *call.integers("axes");
  return true;
}

bool squeeze(NativeCall& call) {
  std::vector<std::int64_t> axes;
  std::vector<bool> chosen;
  bool given = false;
  const std::vector<Dim>& from = call.input(0).dims;
  if (!take_axes(call, axes, given) || !call.axes(axes, from.size(), chosen)) return false;
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (given ? !chosen[i] : from[i] != 1) dims.push_back(from[i]);
  }
  return reshaped(call, std::move(dims));
}

bool unsqueeze(NativeCall& call) {
  std::vector<std::int64_t> axes;
  std::vector<bool> chosen;
  bool given = false;
  const std::vector<Dim>& from = call.input(0).dims;
  if (!take_axes(call, axes, given)) return false;
  if (!given) return call.refuse("its axes are missing");
  if (!call.axes(axes, from.size() + axes.size(), chosen)) return false;
  std::vector<Dim> dims;
  for (std::size_t i = 0, next = 0; i < chosen.size(); ++i) dims.push_back(chosen[i] ? 1 : from[next++]);
  return reshaped(call, std::move(dims));
}

bool shape(NativeCall& call) {
  const std::vector<Dim>& dims = call.input(0).dims;
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto place = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = place(call.integer("start", 0)), end = place(call.integer("end", rank));
  std::vector<std::int64_t> values;
  for (std::int64_t i = start; i < end; ++i)
    values.push_back(static_cast<std::int64_t>(dims[static_cast<std::size_t>(i)]));
  call.give_integers(0, DType::int64, {values.size()}, values);
  return true;
}

bool size(NativeCall& call) {
  const std::vector<Dim>& dims = call.input(0).dims;
  call.give_integers(0, DType::int64, {}, {static_cast<std::int64_t>(product(dims, 0, dims.size()))});
  return true;
}

constexpr NativeOp kOps[] = {
    {"Dropout", dropout, 1, " ratio seed ", 7}, {"Flatten", flatten, 1, " axis "},     {"Identity", identity},
    {"Reshape", reshape, 2, " allowzero ", 5},  {"Shape", shape, 1, " start end "},    {"Size", size},
    {"Squeeze", squeeze, 1, " axes "},          {"Unsqueeze", unsqueeze, 1, " axes "},
};

}  // namespace
}  // namespace native_reshaping

std::span<const NativeOp> reshaping_ops() {
  return native_reshaping::kOps;
}

}  // namespace opdump::tool
