#include "src/tool/judge/compare/value_range.hpp"

#include <span>

#include "src/tool/judge/compare/side_numbers.hpp"
#include "src/tool/read/dump/real_numbers.hpp"
#include "src/tool/read/dump/statistics.hpp"

namespace opdump::tool {

std::optional<ValueRange> value_range(const DumpSide& side, const DumpTensor& tensor) {
  if (tensor.summary && tensor.summary->min && tensor.summary->max && tensor.summary->mean)
    return ValueRange{*tensor.summary->min, *tensor.summary->max, *tensor.summary->mean};
  std::optional<RealNumbers> reals;
  if (tensor.quant != nullptr) reals.emplace(*tensor.quant, tensor.dtype, tensor.shape);
  if (reals && !reals->fits()) return std::nullopt;
  Statistics statistics;
  std::uint64_t index = 0;
  const bool read = for_each_number(side, tensor, [&](std::span<const double> numbers) {
    if (!reals) return statistics.add(numbers);
    for (const double number : numbers) {
      const double real = reals->real(number, index++);
      statistics.add({&real, 1});
    }
  });
  if (!read || statistics.finite() == 0) return std::nullopt;
  return ValueRange{statistics.min(), statistics.max(), statistics.mean()};
}

}  // namespace opdump::tool
