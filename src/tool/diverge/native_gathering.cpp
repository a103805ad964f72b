#include <algorithm>

#include "src/tool/diverge/native_mover.hpp"
#include "src/tool/diverge/native_ops.hpp"

namespace opdump::tool {
namespace native_gathering {
namespace {

/// Turns indices, which may count from the end, into places among `extent` ones.
bool places_of(NativeCall& call, std::size_t input, Dim extent, std::vector<std::int64_t>& places) {
  if (!call.index_input(input, places)) return false;
  for (std::int64_t& place : places) {
    if (place < 0) place += static_cast<std::int64_t>(extent);
    if (place < 0 || static_cast<Dim>(place) >= extent) return call.refuse("an index is not within the axis");
  }
  return true;
}

bool gather(NativeCall& call) {
  const ReplayTensor& from = call.input(0);
  std::size_t axis = 0;
  std::vector<std::int64_t> places;
  if (!call.axis(call.integer("axis", 0), from.dims.size(), axis) ||
      !places_of(call, 1, from.dims[axis], places))
    return false;
  std::vector<Dim> dims(from.dims.begin(), from.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), call.input(1).dims.begin(), call.input(1).dims.end());
  dims.insert(dims.end(), from.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, from.dims.end());
  NativeMover mover(call);
  if (!mover.begin(0, from.dtype, dims)) return false;
  const std::size_t rows = product(from.dims, 0, axis),
                    behind = product(from.dims, axis + 1, from.dims.size());
  const auto extent = static_cast<std::size_t>(from.dims[axis]);
  for (std::size_t row = 0, to = 0; row < rows; ++row) {
    for (const std::int64_t place : places) {
      mover.put(to, from, (row * extent + static_cast<std::size_t>(place)) * behind, behind);
      to += behind;
    }
  }
  return true;
}

bool gather_elements(NativeCall& call) {
  const ReplayTensor& from = call.input(0);
  const std::vector<Dim>& dims = call.input(1).dims;
  std::size_t axis = 0;
  std::vector<std::int64_t> places;
  if (!call.axis(call.integer("axis", 0), from.dims.size(), axis) ||
      !places_of(call, 1, from.dims[axis], places))
    return false;
  bool within = dims.size() == from.dims.size();
  for (std::size_t d = 0; within && d < dims.size(); ++d) within = d == axis || dims[d] <= from.dims[d];
  if (!within) return call.refuse("its indices have another shape than its input");
  const std::vector<std::size_t> strides = strides_of(from.dims);
  NativeMover mover(call);
  if (!mover.begin(0, from.dtype, dims)) return false;
  std::size_t next = 0;
  mover.gather(from, [&](const std::vector<std::size_t>& at) {
    const auto place = static_cast<std::size_t>(places[next++]);
    std::size_t element = 0;
    for (std::size_t d = 0; d < at.size(); ++d) element += (d == axis ? place : at[d]) * strides[d];
    return element;
  });
  return true;
}

/// Blocks of `size` times `size` elements become channels, or channels such blocks.
bool change_depth(NativeCall& call, bool to_space) {
  const ReplayTensor& from = call.input(0);
  const std::int64_t given = call.integer("blocksize", 0);
  if (from.dims.size() != 4 || given < 1 || given > 65536)
    return call.refuse("it has not 4 dims and a block size");
  const auto size = static_cast<std::size_t>(given);
  const std::string mode = call.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return call.refuse("its mode is '" + mode + "'");
  const Dim n = from.dims[0], c = from.dims[1], h = from.dims[2], w = from.dims[3];
  if (to_space ? c % (size * size) != 0 : h % size != 0 || w % size != 0)
    return call.refuse("its dims are no multiples of the block size");
  const std::vector<Dim> dims = to_space ? std::vector<Dim>{n, c / (size * size), h * size, w * size}
                                         : std::vector<Dim>{n, c * size * size, h / size, w / size};
  NativeMover mover(call);
  if (!mover.begin(0, from.dtype, dims)) return false;
  const auto depth = static_cast<std::size_t>(to_space ? dims[1] : c);
  mover.gather(from, [&](const std::vector<std::size_t>& at) {
    std::size_t channel = 0, y = 0, x = 0;
    if (to_space) {
      const std::size_t block = at[2] % size * size + at[3] % size;
      channel = mode == "DCR" ? block * depth + at[1] : at[1] * size * size + block;
      y = at[2] / size;
      x = at[3] / size;
    } else {
      const std::size_t block = at[1] / depth;
      channel = at[1] % depth;
      y = at[2] * size + block / size;
      x = at[3] * size + block % size;
    }
    return ((at[0] * static_cast<std::size_t>(c) + channel) * static_cast<std::size_t>(h) + y) *
               static_cast<std::size_t>(w) +
           x;
  });
  return true;
}

bool depth_to_space(NativeCall& call) {
  return change_depth(call, true);
}
bool space_to_depth(NativeCall& call) {
  return change_depth(call, false);
}

bool trilu(NativeCall& call) {
  const ReplayTensor& from = call.input(0);
  std::vector<std::int64_t> by = {0};
  if (from.dims.size() < 2) return call.refuse("it has less than 2 dims");
  if (call.has(1) && (!call.index_input(1, by) || by.size() != 1))
    return call.refuse("its diagonal is not one number");
  const bool upper = call.integer("upper", 1) != 0;
  NativeMover mover(call);
  if (!mover.begin(0, from.dtype, from.dims)) return false;
  std::vector<std::size_t> at(from.dims.size());
  for (std::size_t i = 0; i < mover.count(); ++i, step(from.dims, at)) {
    const auto row = static_cast<std::int64_t>(at[at.size() - 2]),
               column = static_cast<std::int64_t>(at.back());
    if (upper ? column - row >= by[0] : column - row <= by[0]) mover.put(i, from, i);
  }
  return true;
}

constexpr NativeOp kOps[] = {
    {"DepthToSpace", depth_to_space, 1, " blocksize mode "},
    {"Gather", gather, 2, " axis "},
    {"GatherElements", gather_elements, 2, " axis "},
    {"SpaceToDepth", space_to_depth, 1, " blocksize "},
    {"Trilu", trilu, 1, " upper "},
};

}  // namespace
}  // namespace native_gathering

std::span<const NativeOp> gathering_ops() {
  return native_gathering::kOps;
}

}  // namespace opdump::tool
