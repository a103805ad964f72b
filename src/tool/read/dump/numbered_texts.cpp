#include "src/tool/read/dump/numbered_texts.hpp"

#include <functional>
#include <utility>

namespace opdump::tool {

void NumberedTexts::grow() {
  constexpr std::size_t kFirst = 256;
  const std::vector<Slot> before = std::exchange(slots_, {});
  slots_.resize(before.empty() ? kFirst : 2 * before.size());
  for (const Slot& slot : before) {
    if (slot.number == UINT32_MAX) continue;
    std::size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].number != UINT32_MAX) at = next(at);
    slots_[at] = slot;
  }
}

std::uint32_t NumberedTexts::number(std::string_view text, bool& is_new) {
  if (2 * size() >= slots_.size()) grow();
  const auto hash = static_cast<std::uint32_t>(std::hash<std::string_view>()(text));
  std::size_t at = hash & (slots_.size() - 1);
  is_new = false;
  for (; slots_[at].number != UINT32_MAX; at = next(at)) {
    if (slots_[at].hash == hash && texts_.read(slots_[at].number, found_) && found_ == text)
      return slots_[at].number;
  }
  is_new = true;
  slots_[at] = {hash, static_cast<std::uint32_t>(size())};
  static_cast<void>(texts_.add(text));
  return slots_[at].number;
}

std::string NumberedTexts::text(std::size_t number) const {
  std::string text;
  if (!texts_.read(number, text)) text.clear();
  return text;
}

}  // namespace opdump::tool
