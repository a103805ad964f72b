#include "src/tool/judge/compare/side_numbers.hpp"

#include <algorithm>

#include "src/tool/judge/compare/compare_elements.hpp"
#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {

bool for_each_number(const DumpSide& side, const DumpTensor& tensor,
                     const std::function<void(std::span<const double>)>& use) {
  constexpr std::uint64_t kPiece =
      1024;  // a multiple of 8, so that pieces of small elements begin with a byte
  const ReadElements read_elements = element_reader(tensor.dtype);
  CompareElements elements;
  if (!tensor.problem.empty() || read_elements == nullptr || !elements.open(side, tensor, std::nullopt))
    return false;
  const std::uint64_t bits = info(tensor.dtype).bits;
  for (std::uint64_t done = 0; done < tensor.elements; done += kPiece) {
    const std::size_t now = static_cast<std::size_t>(std::min(kPiece, tensor.elements - done));
    std::byte room[kPiece * sizeof(double) * 2];
    const std::byte* const from = elements.read(done * bits / 8, (now * bits + 7) / 8, room);
    if (from == nullptr) return false;
    double numbers[kPiece];
    read_elements(from, now, numbers);
    use(std::span<const double>(numbers, now));
  }
  return !elements.failed();
}

}  // namespace opdump::tool
