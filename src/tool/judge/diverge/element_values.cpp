#include "src/tool/judge/diverge/element_values.hpp"

#include <cmath>

#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {

bool is_integer_dtype(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
      return true;
    default:
      return false;
  }
}

std::optional<std::size_t> elements_of(Shape dims) {
  std::uint64_t count = 1;
  for (const Dim dim : dims) {
    if (dim > kMostReplayElements) return std::nullopt;
    count *= dim;
    if (count > kMostReplayElements) return std::nullopt;
  }
  return static_cast<std::size_t>(count);
}

std::optional<std::vector<double>> reals_of(const ReplayTensor& tensor) {
  const ReadElements read = element_reader(tensor.dtype);
  const std::optional<std::size_t> count = elements_of(tensor.dims);
  if (read == nullptr || !count || is_complex(tensor.dtype)) return std::nullopt;
  std::vector<double> values(*count);
  if (*count != 0) read(tensor.bytes.data(), *count, values.data());
  return values;
}

double mean_square_root(const std::vector<double>& values) {
  double squares = 0, count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    squares += value * value;
    count += 1;
  }
  return count == 0 ? 0 : std::sqrt(squares / count);
}

}  // namespace opdump::tool
