#include "src/config/refusal.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "src/config/letters.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

std::string KeyPath::text() const {
  std::string text = parent == nullptr ? std::string() : parent->text();
  if (index != kNoIndex) return joined({text, "[", decimal(index), "]"});
  return joined({text, text.empty() ? "" : ".", name});
}

namespace {

/// Sets the line and column of `place` for `offset` in `text`.
template <class Place>
void put_place(std::string_view text, std::size_t offset, Place& place) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0: the first line
  place.offset = before.size();
  place.line = static_cast<std::uint32_t>(1 + std::count(before.begin(), before.end(), '\n'));
  place.column = static_cast<std::uint32_t>(1 + before.size() - line_start);
}

}  // namespace

bool Refusal::refuse(ConfigFault fault, std::size_t offset, std::string_view key, std::string_view reason) {
  error_.fault = fault;
  error_.key = key;
  error_.reason = reason;
  put_place(text_, offset, error_);
  return false;
}

bool Refusal::refuse(ConfigFault fault, std::size_t offset, const KeyPath& at, std::string_view reason) {
  return refuse(fault, offset, at.text(), reason);
}

void Refusal::note(std::size_t offset, const KeyPath& at, std::string_view text) {
  if (takes_notes()) note(offset, at.text(), text);
}

void Refusal::note(std::size_t offset, std::string_view key, std::string_view text) {
  if (!takes_notes()) return;
  ConfigNote& note = notes_->emplace_back();
  note.key = key;
  note.text = text;
  if (!takes_notes()) note.text += "; there is more like this, which is not told";
  put_place(text_, offset, note);
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text.append(part);
  return text;
}

std::string decimal(std::uint64_t number) {
  return std::to_string(number);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 64;
  std::string out = "\"";
  for (const char c : text.substr(0, kShown))
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (text.size() > kShown) {
    while (out.size() > 1 && (static_cast<unsigned char>(text[out.size() - 1]) & 0xc0) == 0x80)
      out.pop_back();
    out += "...";
  }
  return out + '"';
}

std::string listed(std::span<const std::string_view> words) {
  std::string out;
  for (const std::string_view word : words) {
    out.append(out.empty() ? "\"" : ", \"").append(word).append("\"");
  }
  return out;
}

std::size_t position_of(std::string_view word, std::span<const std::string_view> words) {
  std::size_t position = 0;
  while (position < words.size() && words[position] != word) ++position;
  return position;
}

namespace {

constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kMaxSlips = 2;

/// How many letters must be inserted, deleted, replaced or swapped with the next one to turn `a` into `b`.
std::size_t slips(std::string_view a, std::string_view b) {
  using Row = std::array<std::size_t, kLongestWord + 1>;
  Row before_last{};
  Row last{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    Row row{};
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

std::string folded(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

}  // namespace

std::string_view closest(std::string_view text, std::span<const std::string_view> words) {
  std::string_view best;
  std::size_t fewest = kMaxSlips + 1;
  for (const std::string_view word : words) {
    if (text.size() > word.size() + kMaxSlips || word.size() > text.size() + kMaxSlips) continue;
    if (std::max(text.size(), word.size()) > kLongestWord) continue;
    const std::size_t found = slips(folded(text), folded(word));
    if (found < fewest && found < word.size()) {
      fewest = found;
      best = word;
    }
  }
  return best;
}

namespace {

constexpr std::size_t kStem = 4;

/// Empty unless exactly one of `words` begins as `text` does.
std::string_view only_one_of_its_stem(std::string_view text, std::span<const std::string_view> words) {
  if (text.size() < kStem) return {};
  const std::string stem = folded(text.substr(0, kStem));
  std::string_view found;
  for (const std::string_view word : words) {
    if (!word.starts_with(stem)) continue;
    if (!found.empty()) return {};
    found = word;
  }
  return found;
}

}  // namespace

bool is_misplaced_or_misspelt(const ConfigNote& note) {
  return note.text.find(kSlipOfKeys) != std::string::npos || note.text.find(kBelongsIn) != std::string::npos;
}

std::string belongs_in(std::string_view key, std::initializer_list<KeysOf> objects) {
  for (const KeysOf& one : objects) {
    if (position_of(key, one.keys) != one.keys.size()) return joined({kBelongsIn, one.object});
  }
  return {};
}

std::string did_you_mean(std::string_view text, std::span<const std::string_view> words) {
  std::string_view near = closest(text, words);
  if (near.empty()) near = only_one_of_its_stem(text, words);
  return near.empty() ? std::string() : joined({"; did you mean ", in_quotes(near), "?"});
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
