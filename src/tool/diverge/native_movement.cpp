#include <algorithm>
#include <cstring>

#include "src/tool/diverge/native_mover.hpp"
#include "src/tool/diverge/native_ops.hpp"

namespace opdump::tool {
namespace native_movement {
namespace {

bool transpose(NativeCall& call) {
  const ReplayTensor& from = call.input(0);
  std::vector<std::int64_t> order;
  for (std::size_t i = from.dims.size(); i-- != 0;) order.push_back(static_cast<std::int64_t>(i));
  if (const auto* const given = call.integers("perm")) order = *given;
  std::vector<bool> chosen;
  if (order.size() != from.dims.size() || !call.axes(order, from.dims.size(), chosen))
    return call.refuse("its 'perm' is no permutation of the dims");
  const std::vector<std::size_t> strides = strides_of(from.dims);
  std::vector<Dim> dims;
  std::vector<std::size_t> moved;
  for (const std::int64_t axis : order) {
    const auto place =
        static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(order.size()) : axis);
    dims.push_back(from.dims[place]);
    moved.push_back(strides[place]);
  }
  NativeMover mover(call);
  if (!mover.begin(0, from.dtype, dims)) return false;
  mover.gather(from, [&](const std::vector<std::size_t>& at) {
    std::size_t element = 0;
    for (std::size_t d = 0; d < at.size(); ++d) element += at[d] * moved[d];
    return element;
  });
  return true;
}

bool concat(NativeCall& call) {
  std::vector<Dim> dims = call.input(0).dims;
  std::size_t axis = 0;
  if (call.op().attribute<std::int64_t>("axis") == nullptr) return call.refuse("its axis is missing");
  if (!call.axis(call.integer("axis", 0), dims.size(), axis)) return false;
  dims[axis] = 0;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    if (!call.has(i)) return call.refuse("input " + std::to_string(i) + " is missing");
    std::vector<Dim> other = call.input(i).dims;
    if (other.size() != dims.size() || call.input(i).dtype != call.input(0).dtype)
      return call.refuse("its inputs are unlike");
    dims[axis] += other[axis];
    other[axis] = dims[axis];
    if (other != dims) return call.refuse("its inputs are unlike");
  }
  NativeMover mover(call);
  if (!mover.begin(0, call.input(0).dtype, dims)) return false;
  const std::size_t rows = product(dims, 0, axis), all = product(dims, axis, dims.size());
  for (std::size_t i = 0, before = 0; i < call.inputs(); ++i) {
    const std::vector<Dim>& own = call.input(i).dims;
    const std::size_t part = product(own, axis, own.size());
    for (std::size_t row = 0; row < rows; ++row)
      mover.put(row * all + before, call.input(i), row * part, part);
    before += part;
  }
  return true;
}

/// The sizes of the parts: an input since opset 13, before it an attribute; without them all are alike.
bool split_sizes(NativeCall& call, std::size_t extent, std::vector<std::int64_t>& sizes) {
  const std::size_t parts = call.op().wanted.size();
  if (call.opset() >= 13 && call.has(1)) return call.index_input(1, sizes);
  if (call.opset() < 13 && call.integers("split") != nullptr) {
    sizes = *call.integers("split");
    return true;
  }
  const std::size_t size = (extent + parts - 1) / parts;
  for (std::size_t i = 0, left = extent; i < parts; ++i) {
    sizes.push_back(static_cast<std::int64_t>(std::min(size, left)));
    left -= std::min(size, left);
  }
  return true;
}

bool split(NativeCall& call) {
  const ReplayTensor& from = call.input(0);
  std::vector<std::int64_t> sizes;
  std::size_t axis = 0;
  if (!call.axis(call.integer("axis", 0), from.dims.size(), axis)) return false;
  if (!split_sizes(call, static_cast<std::size_t>(from.dims[axis]), sizes)) return false;
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes) sum = size < 0 || sum < 0 ? -1 : sum + size;
  if (sizes.size() != call.op().wanted.size() || sum != static_cast<std::int64_t>(from.dims[axis]))
    return call.refuse("its parts do not fill the axis");
  const std::size_t rows = product(from.dims, 0, axis),
                    behind = product(from.dims, axis + 1, from.dims.size());
  const std::size_t all = product(from.dims, axis, from.dims.size());
  for (std::size_t i = 0, before = 0; i < sizes.size(); ++i) {
    std::vector<Dim> dims = from.dims;
    dims[axis] = static_cast<Dim>(sizes[i]);
    const std::size_t part = static_cast<std::size_t>(sizes[i]) * behind;
    NativeMover mover(call);
    if (!mover.begin(i, from.dtype, dims)) return false;
    for (std::size_t row = 0; row < rows; ++row) mover.put(row * part, from, row * all + before, part);
    before += part;
  }
  return true;
}

/// One axis of a Slice.
struct SliceAxis {
  std::int64_t start = 0, step = 1;
  std::size_t count = 0;
};

SliceAxis slice_axis(std::int64_t extent, std::int64_t start, std::int64_t end, std::int64_t step) {
  const auto clamped = [&](std::int64_t at, std::int64_t least, std::int64_t most) {
    return std::min(std::max(at < 0 ? at + extent : at, least), most);
  };
  SliceAxis axis{.start = 0, .step = step};
  if (step > 0) {
    axis.start = clamped(start, 0, extent);
    const std::int64_t stop = clamped(end, 0, extent);
    if (stop > axis.start) axis.count = static_cast<std::size_t>((stop - axis.start - 1) / step + 1);
  } else {
    axis.start = clamped(start, 0, extent - 1);
    const std::int64_t stop = clamped(end, -1, extent - 1);
    if (axis.start > stop) axis.count = static_cast<std::size_t>((axis.start - stop - 1) / -step + 1);
  }
  return axis;
}

bool slice(NativeCall& call) {
  const ReplayTensor& from = call.input(0);
  std::vector<std::int64_t> starts, ends, axes, steps;
  if (call.opset() >= 10) {
    if (!call.has(1) || !call.has(2)) return call.refuse("its starts or ends are missing");
    if (!call.index_input(1, starts) || !call.index_input(2, ends) ||
        (call.has(3) && !call.index_input(3, axes)) || (call.has(4) && !call.index_input(4, steps)))
      return false;
  } else {
    if (call.integers("starts") == nullptr || call.integers("ends") == nullptr)
      return call.refuse("its starts or ends are missing");
    starts = *call.integers("starts");
    ends = *call.integers("ends");
    if (const auto* const given = call.integers("axes")) axes = *given;
  }
  if (axes.empty()) {
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  std::vector<bool> chosen;
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size())
    return call.refuse("its starts, ends, axes and steps are not equally many");
  if (!call.axes(axes, from.dims.size(), chosen)) return false;
  std::vector<SliceAxis> cuts;
  for (const Dim dim : from.dims) cuts.push_back({.count = static_cast<std::size_t>(dim)});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::size_t place = 0;
    if (!call.axis(axes[i], from.dims.size(), place)) return false;
    if (steps[i] == 0 || steps[i] < -INT64_MAX) return call.refuse("it steps by 0");
    cuts[place] = slice_axis(static_cast<std::int64_t>(from.dims[place]), starts[i], ends[i], steps[i]);
  }
  std::vector<Dim> dims;
  for (const SliceAxis& cut : cuts) dims.push_back(cut.count);
  const std::vector<std::size_t> strides = strides_of(from.dims);
  NativeMover mover(call);
  if (!mover.begin(0, from.dtype, dims)) return false;
  mover.gather(from, [&](const std::vector<std::size_t>& at) {
    std::size_t element = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      element += static_cast<std::size_t>(cuts[d].start + static_cast<std::int64_t>(at[d]) * cuts[d].step) *
                 strides[d];
    return element;
  });
  return true;
}

/// Where the element comes from that lies `at` places behind the first one; nothing: it is padding.
std::optional<std::size_t> padded_from(std::int64_t at, std::int64_t extent, const std::string& mode) {
  if (at >= 0 && at < extent) return static_cast<std::size_t>(at);
  if (mode == "constant" || extent == 0) return std::nullopt;
  if (mode == "edge") return static_cast<std::size_t>(at < 0 ? 0 : extent - 1);
  const std::int64_t period = mode == "wrap" ? extent : std::max<std::int64_t>(2 * (extent - 1), 1);
  const std::int64_t turned = (at % period + period) % period;
  return static_cast<std::size_t>(turned < extent ? turned : period - turned);
}

bool pad(NativeCall& call) {
  const ReplayTensor& from = call.input(0);
  const std::size_t rank = from.dims.size();
  const std::string mode = call.text("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    return call.refuse("its mode is '" + mode + "'");
  std::vector<std::int64_t> pads, axes;
  ReplayTensor filling;
  filling.dtype = from.dtype;
  filling.bytes.resize(info(from.dtype).bits / 8);
  if (call.opset() >= 11) {
    if (!call.has(1)) return call.refuse("its pads are missing");
    if (!call.index_input(1, pads) || (call.has(3) && !call.index_input(3, axes))) return false;
    if (call.has(2)) {
      if (call.input(2).dtype != from.dtype || call.input(2).bytes.size() != filling.bytes.size())
        return call.refuse("what it pads with is not one element of its dtype");
      filling.bytes = call.input(2).bytes;
    }
  } else {
    if (call.integers("pads") != nullptr) pads = *call.integers("pads");
    const auto value = static_cast<float>(call.real("value", 0));
    if (value != 0 && from.dtype != DType::float32) return call.refuse("it pads other dtypes than float32");
    if (value != 0) std::memcpy(filling.bytes.data(), &value, sizeof value);
  }
  if (!call.has(3)) {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  std::vector<bool> chosen;
  if (pads.size() != 2 * axes.size()) return call.refuse("it has not two pads for each axis");
  if (!call.axes(axes, rank, chosen)) return false;
  std::vector<std::int64_t> before(rank);
  std::vector<Dim> dims = from.dims;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::size_t place = 0;
    if (!call.axis(axes[i], rank, place)) return false;
    const std::int64_t behind = pads[axes.size() + i];
    const auto most = static_cast<std::int64_t>(kMostReplayElements);
    if (std::max(pads[i], behind) > most || std::min(pads[i], behind) < -most)
      return call.refuse("a pad is too large");
    const std::int64_t extent = static_cast<std::int64_t>(dims[place]) + pads[i] + behind;
    if (extent < 0) return call.refuse("it cuts off more than there is");
    before[place] = pads[i];
    dims[place] = static_cast<Dim>(extent);
  }
  const std::vector<std::size_t> strides = strides_of(from.dims);
  NativeMover mover(call);
  if (!mover.begin(0, from.dtype, dims)) return false;
  std::vector<std::size_t> at(rank);
  for (std::size_t i = 0; i < mover.count(); ++i, step(dims, at)) {
    std::size_t element = 0;
    bool inside = true;
    for (std::size_t d = 0; d < rank && inside; ++d) {
      const auto source = padded_from(static_cast<std::int64_t>(at[d]) - before[d],
                                      static_cast<std::int64_t>(from.dims[d]), mode);
      inside = source.has_value();
      if (inside) element += *source * strides[d];
    }
    mover.put(i, inside ? from : filling, inside ? element : 0);
  }
  return true;
}

bool expand(NativeCall& call) {
  const ReplayTensor& from = call.input(0);
  std::vector<std::int64_t> wanted;
  if (!call.index_input(1, wanted)) return false;
  std::vector<Dim> own = from.dims;
  own.insert(own.begin(), wanted.size() > own.size() ? wanted.size() - own.size() : 0, 1);
  wanted.insert(wanted.begin(), own.size() - wanted.size(), 1);
  const std::vector<std::size_t> strides = strides_of(own);
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (wanted[i] < 0 || (own[i] != 1 && wanted[i] != 1 && own[i] != static_cast<Dim>(wanted[i])))
      return call.refuse("its shapes do not broadcast");
    dims.push_back(own[i] == 1 ? static_cast<Dim>(wanted[i]) : own[i]);
  }
  NativeMover mover(call);
  if (!mover.begin(0, from.dtype, dims)) return false;
  mover.gather(from, [&](const std::vector<std::size_t>& at) {
    std::size_t element = 0;
    for (std::size_t d = 0; d < at.size(); ++d) element += own[d] == 1 ? 0 : at[d] * strides[d];
    return element;
  });
  return true;
}

bool tile(NativeCall& call) {
  const ReplayTensor& from = call.input(0);
  std::vector<std::int64_t> repeats;
  if (!call.index_input(1, repeats)) return false;
  if (repeats.size() != from.dims.size()) return call.refuse("it has not one number of repeats for each dim");
  std::vector<Dim> dims = from.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (repeats[i] < 0 || static_cast<std::uint64_t>(repeats[i]) > kMostReplayElements ||
        dims[i] > kMostReplayElements)
      return call.refuse("a number of repeats is too large, or below 0");
    dims[i] *= static_cast<Dim>(repeats[i]);
  }
  const std::vector<std::size_t> strides = strides_of(from.dims);
  NativeMover mover(call);
  if (!mover.begin(0, from.dtype, dims)) return false;
  mover.gather(from, [&](const std::vector<std::size_t>& at) {
    std::size_t element = 0;
    for (std::size_t d = 0; d < at.size(); ++d) element += at[d] % from.dims[d] * strides[d];
    return element;
  });
  return true;
}

constexpr NativeOp kOps[] = {
    {"Concat", concat, 1, " axis "},
    {"Expand", expand, 2},
    {"Pad", pad, 1, " mode pads value ", 2},
    {"Slice", slice, 1, " starts ends axes "},
    {"Split", split, 1, " axis split num_outputs ", 2},
    {"Tile", tile, 2, {}, 6},
    {"Transpose", transpose, 1, " perm "},
};

}  // namespace
}  // namespace native_movement

std::span<const NativeOp> movement_ops() {
  return native_movement::kOps;
}

}  // namespace opdump::tool
