#include "src/tool/judge/diverge/element_values.hpp"

#include <cmath>
#include <cstring>

#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {
namespace {

template <class Item>
std::vector<std::int64_t> items_of(const ReplayTensor& tensor) {
  std::vector<std::int64_t> values(tensor.bytes.size() / sizeof(Item));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Item item;
    std::memcpy(&item, tensor.bytes.data() + i * sizeof item, sizeof item);
    values[i] = static_cast<std::int64_t>(item);
  }
  return values;
}

}  // namespace

bool is_float_dtype(DType dtype) {
  switch (dtype) {
    case DType::float64:
    case DType::float32:
    case DType::float16:
    case DType::bfloat16:
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
    case DType::float8_e4m3fnuz:
    case DType::float8_e5m2fnuz:
    case DType::hifloat8:
      return true;
    default:
      return false;
  }
}

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

std::vector<std::int64_t> integers_of(const ReplayTensor& tensor) {
  switch (tensor.dtype) {
    case DType::boolean:
    case DType::uint8:
      return items_of<std::uint8_t>(tensor);
    case DType::int8:
      return items_of<std::int8_t>(tensor);
    case DType::int16:
      return items_of<std::int16_t>(tensor);
    case DType::uint16:
      return items_of<std::uint16_t>(tensor);
    case DType::int32:
      return items_of<std::int32_t>(tensor);
    case DType::uint32:
      return items_of<std::uint32_t>(tensor);
    case DType::int64:
    case DType::uint64:
      return items_of<std::int64_t>(tensor);
    default:
      return {};
  }
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
