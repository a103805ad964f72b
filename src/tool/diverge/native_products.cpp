#include "src/tool/diverge/native_kernels.hpp"
#include "src/tool/diverge/native_ops.hpp"

namespace opdump::tool {
namespace native_products {
namespace {

/// Stores results that are whole numbers where the inputs are integers.
bool give(NativeCall& call, const Reals& made) {
  const DType dtype = call.input(0).dtype;
  if (!is_integer_dtype(dtype)) {
    call.give_reals(0, made.dims, made.values);
    return true;
  }
  std::vector<std::int64_t> whole(made.values.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (!(made.values[i] <= 0x1p53 && made.values[i] >= -0x1p53))
      return call.refuse("an integer passes 2^53");
    whole[i] = static_cast<std::int64_t>(made.values[i]);
  }
  call.give_integers(0, dtype, made.dims, whole);
  return true;
}

bool matmul(NativeCall& call) {
  Reals a, b, made;
  return take(call, 0, a) && take(call, 1, b) && multiply(call, a, b, made) && give(call, made);
}

Reals transposed(const Reals& from) {
  const auto rows = static_cast<std::size_t>(from.dims[0]), columns = static_cast<std::size_t>(from.dims[1]);
  Reals to{{from.dims[1], from.dims[0]}, std::vector<double>(from.values.size())};
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < columns; ++k) to.values[k * rows + i] = from.values[i * columns + k];
  }
  return to;
}

bool gemm(NativeCall& call) {
  Reals a, b, made;
  if (!take(call, 0, a) || !take(call, 1, b)) return false;
  if (a.dims.size() != 2 || b.dims.size() != 2) return call.refuse("its inputs are no matrices");
  if (call.integer("transA", 0) != 0) a = transposed(a);
  if (call.integer("transB", 0) != 0) b = transposed(b);
  if (!multiply(call, a, b, made)) return false;
  const double alpha = call.real("alpha", 1), beta = call.real("beta", 1);
  for (double& value : made.values) value *= alpha;
  if (call.has(2)) {
    Reals c;
    if (!take(call, 2, c)) return false;
    if (c.dims.size() > 2) return call.refuse("its third input has more than 2 dims");
    c.dims.insert(c.dims.begin(), 2 - c.dims.size(), 1);
    const auto rows = static_cast<std::size_t>(made.dims[0]),
               columns = static_cast<std::size_t>(made.dims[1]);
    for (std::size_t d = 0; d < 2; ++d) {
      if (c.dims[d] != 1 && c.dims[d] != made.dims[d])
        return call.refuse("its third input does not broadcast");
    }
    const std::size_t row_step = c.dims[0] == 1 ? 0 : static_cast<std::size_t>(c.dims[1]),
                      step = c.dims[1] == 1 ? 0 : 1;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < columns; ++k)
        made.values[i * columns + k] += beta * c.values[i * row_step + k * step];
    }
  }
  return give(call, made);
}

constexpr NativeOp kOps[] = {
    {"Gemm", gemm, 2, " alpha beta transA transB "},
    {"MatMul", matmul, 2},
};

}  // namespace
}  // namespace native_products

std::span<const NativeOp> product_ops() {
  return native_products::kOps;
}

}  // namespace opdump::tool
