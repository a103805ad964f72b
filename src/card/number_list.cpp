#include "src/card/number_list.hpp"

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {

std::string numbers_text(std::span<const std::uint64_t> numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (!text.empty()) text += '|';
    text += std::to_string(numbers[i]);
    if (end - i > 1) text += '-' + std::to_string(numbers[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
