#include "src/tool/judge/compare/open_pair.hpp"

#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {
namespace {

compare::ToFloats to_floats(DType dtype) {
  return dtype == DType::float16 ? compare::pair_kernels().float16_to_float : float_reader(dtype);
}

}  // namespace

compare::ComparedArray array_of(const compare::ElementSource& source, DType dtype) {
  return {.source = &source,
          .dtype = dtype,
          .item_bits = info(dtype).bits,
          .to_floats = to_floats(dtype),
          .to_pairs = pair_reader(dtype)};
}

/// What outputs without a format are taken as where their dims do not tell: what those are that tell, if all
/// agree.
std::optional<AssumedFormats> usual_formats(const DumpSide& mine, const DumpSide& golden,
                                            const TensorPairs& pairs) {
  std::optional<AssumedFormats> usual;
  for (const TensorPair& pair : pairs) {
    if (!pair.mine || !pair.golden) continue;
    const DumpTensor& x = mine.tensors[*pair.mine];
    if (!x.is_output) continue;
    const DumpTensor& y = golden.tensors[*pair.golden];
    const std::optional<AssumedFormats> formats = assumed_formats(x, y);
    if (!formats && !keeps_order(x, y)) continue;
    if (!formats || (usual && *usual != *formats)) return std::nullopt;
    usual = formats;
  }
  return usual;
}

/// Whether the scales of `tensor` lie along its dims as they are compared.
bool OpenPair::open_real(const DumpTensor& tensor, const ElementOrder& order, Side& side) {
  const bool anywhere = is_uniform(*tensor.quant);
  side.real.emplace(side.stored, *tensor.quant, tensor.dtype, anywhere ? Shape{} : Shape(order.shape));
  return side.real->fits() && (anywhere || !order.relayout);
}

bool OpenPair::failed() {
  for (Side& side : sides_) {
    if (side.stored.failed()) problem_ = side.stored.error();
  }
  return !problem_.empty();
}

bool OpenPair::open_side(std::size_t i, const DumpSide& dump, const DumpTensor& tensor,
                         const ElementOrder& order) {
  Side& side = sides_[i];
  if (!side.stored.open(dump, tensor, order.relayout)) {
    problem_ = side.stored.error();
    return false;
  }
  arrays_[i] = array_of(side.stored, tensor.dtype);
  if (tensor.quant == nullptr) return true;
  if (open_real(tensor, order, side)) {
    arrays_[i] = array_of(*side.real, side.real->dtype());
    if (i == 0) mine_is_real_ = true;
  } else {
    remark_ = "the scales of the card do not fit the shape";
  }
  return true;
}

}  // namespace opdump::tool
