#include "src/tool/compare/value_range.hpp"

#include <span>

#include "src/tool/compare/side_numbers.hpp"
#include "src/tool/dump/statistics.hpp"

namespace opdump::tool {

std::optional<ValueRange> value_range(const DumpSide& side, const DumpTensor& tensor) {
  if (tensor.summary && tensor.summary->min && tensor.summary->max && tensor.summary->mean)
    return ValueRange{*tensor.summary->min, *tensor.summary->max, *tensor.summary->mean};
  Statistics statistics;
  const bool read =
      for_each_number(side, tensor, [&](std::span<const double> numbers) { statistics.add(numbers); });
  if (!read || statistics.finite() == 0) return std::nullopt;
  ValueRange range = {statistics.min(), statistics.max(), statistics.mean()};
  if (tensor.quant == nullptr || tensor.quant->scales.size() != 1) return range;
  const RealNumbers reals(*tensor.quant, tensor.dtype, {});
  range = {reals.real(range.min, 0), reals.real(range.max, 0), reals.real(range.mean, 0)};
  return range;
}

}  // namespace opdump::tool
