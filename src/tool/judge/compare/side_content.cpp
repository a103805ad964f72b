#include "src/tool/judge/compare/side_content.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include "src/tool/judge/compare/open_pair.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;

bool may_be_same(const DumpTensor& a, const DumpTensor& b) {
  return a.dtype == b.dtype && a.elements == b.elements && a.data_bytes == b.data_bytes && !a.summary &&
         !b.summary;
}

std::string role_of(const DumpSide& side, const DumpTensor& tensor) {
  const DumpFile& file = side.files[tensor.file];
  return file.op + '/' + file.type + '/' + std::to_string(file.task.value_or(0)) +
         (tensor.is_output ? "/o" : "/i") + std::to_string(tensor.index);
}

}  // namespace

SideContent::SideContent(const DumpSide& side)
    : side_(side), steps_of_(side.tensors.size()), sums_(side.tensors.size()) {
  std::map<std::pair<std::optional<std::uint32_t>, std::string>, std::size_t> places;
  for (std::size_t i = 0; i < side.tensors.size(); ++i) {
    const DumpFile& file = side.files[side.tensors[i].file];
    const auto [place, is_new] = places.emplace(std::pair(file.boot, file.place), steps_.size());
    if (is_new) steps_.emplace_back();
    steps_[place->second].push_back(i);
    steps_of_[i] = place->second;
  }
}

std::optional<std::uint64_t> SideContent::sum(std::size_t tensor) {
  std::optional<std::optional<std::uint64_t>>& kept = sums_[tensor];
  if (kept) return *kept;
  kept.emplace();
  const DumpTensor& what = side_.tensors[tensor];
  CompareElements elements;
  if (what.summary || !what.problem.empty() || !elements.open(side_, what, std::nullopt)) return *kept;
  std::uint64_t sum = 0;
  std::vector<std::byte> room(kPiece);
  for (std::uint64_t done = 0; done < what.data_bytes; done += kPiece) {
    const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, what.data_bytes - done));
    const std::byte* const from = elements.read(done, now, room.data());
    if (from == nullptr) return *kept;
    const std::string_view bytes(reinterpret_cast<const char*>(from), now);
    sum = sum * 0x9e3779b97f4a7c15U + std::hash<std::string_view>()(bytes);
  }
  if (!elements.failed()) *kept = sum;
  return *kept;
}

bool SideContent::has_same_elements(std::size_t tensor, std::size_t other) {
  return has_same_elements(tensor, *this, other);
}

bool SideContent::has_same_elements(std::size_t tensor, SideContent& other_side, std::size_t other) {
  if (!may_be_same(side_.tensors[tensor], other_side.side_.tensors[other])) return false;
  const std::optional<std::uint64_t> mine = sum(tensor);
  return mine && mine == other_side.sum(other);
}

std::optional<std::size_t> SideContent::writer(std::size_t input) {
  const DumpTensor& wanted = side_.tensors[input];
  std::optional<std::size_t> same, named;
  for (const std::size_t i : of_step(input)) {
    const DumpTensor& tensor = side_.tensors[i];
    if (i > input) break;
    if (!tensor.is_output || tensor.file == wanted.file) continue;
    if (has_same_elements(input, i)) same = i;
    if (!wanted.name.empty() && wanted.name == tensor.name) named = i;
  }
  // Of several with the same elements, that of the card.
  if (same && named && has_same_elements(input, *named)) return named;
  return same ? same : named;
}

bool SideContent::is_surely_unwritten(std::size_t input) const {
  const DumpTensor& wanted = side_.tensors[input];
  if (wanted.constant) return true;
  const std::vector<std::size_t>& step = of_step(input);
  return std::none_of(step.begin(), step.end(), [&](std::size_t i) {
    const DumpTensor& tensor = side_.tensors[i];
    return i < input && tensor.is_output && may_be_same(tensor, wanted);
  });
}

const std::vector<std::size_t>& SideContent::at_all_steps(std::size_t tensor) {
  if (roles_.empty()) {
    for (std::size_t i = 0; i < side_.tensors.size(); ++i)
      roles_[role_of(side_, side_.tensors[i])].push_back(i);
  }
  return roles_[role_of(side_, side_.tensors[tensor])];
}

std::optional<bool> SideContent::is_same_at_all_steps(std::size_t tensor) {
  const std::vector<std::size_t>& all = at_all_steps(tensor);
  const bool several =
      std::any_of(all.begin(), all.end(), [&](std::size_t i) { return step_of(i) != step_of(tensor); });
  if (!several) return std::nullopt;
  return std::all_of(all.begin(), all.end(),
                     [&](std::size_t i) { return i == tensor || has_same_elements(tensor, i); });
}

const std::vector<std::size_t>& SideContent::of_step(std::size_t tensor) const {
  return steps_[step_of(tensor)];
}

}  // namespace opdump::tool
