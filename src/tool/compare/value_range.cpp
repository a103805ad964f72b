#include "src/tool/compare/value_range.hpp"

#include <algorithm>
#include <span>

#include "src/tool/compare/compare_elements.hpp"
#include "src/tool/dump/elements.hpp"
#include "src/tool/dump/statistics.hpp"

namespace opdump::tool {

std::optional<ValueRange> value_range(const DumpSide& side, const DumpTensor& tensor) {
  constexpr std::uint64_t kPiece =
      1024;  // a multiple of 8, so that pieces of small elements begin with a byte
  const ReadElements read_elements = element_reader(tensor.dtype);
  CompareElements elements;
  if (!tensor.problem.empty() || read_elements == nullptr || !elements.open(side, tensor, std::nullopt))
    return std::nullopt;
  const std::uint64_t bits = info(tensor.dtype).bits;
  Statistics statistics;
  for (std::uint64_t done = 0; done < tensor.elements; done += kPiece) {
    const std::size_t now = static_cast<std::size_t>(std::min(kPiece, tensor.elements - done));
    std::byte room[kPiece * sizeof(double) * 2];
    const std::byte* const from = elements.read(done * bits / 8, (now * bits + 7) / 8, room);
    if (from == nullptr) return std::nullopt;
    double numbers[kPiece];
    read_elements(from, now, numbers);
    statistics.add(std::span<const double>(numbers, now));
  }
  if (elements.failed() || statistics.finite() == 0) return std::nullopt;
  ValueRange range = {statistics.min(), statistics.max(), statistics.mean()};
  if (tensor.quant == nullptr || tensor.quant->scales.size() != 1) return range;
  const RealNumbers reals(*tensor.quant, tensor.dtype, {});
  range = {reals.real(range.min, 0), reals.real(range.max, 0), reals.real(range.mean, 0)};
  return range;
}

}  // namespace opdump::tool
