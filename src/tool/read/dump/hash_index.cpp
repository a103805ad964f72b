#include "src/tool/read/dump/hash_index.hpp"

#include <algorithm>
#include <cstring>

namespace opdump::tool {
namespace {

template <class T>
T value_in(std::string_view text, std::size_t at) {
  T value;
  std::memcpy(&value, text.data() + at, sizeof value);
  return value;
}

}  // namespace

bool HashIndex::less(std::string_view a, std::string_view b) {
  return value_in<std::uint64_t>(a, 0) < value_in<std::uint64_t>(b, 0);
}

void HashIndex::add(std::uint64_t hash, std::uint64_t number) {
  const Entry entry = {hash, number};
  char text[sizeof entry];
  std::memcpy(text, &entry, sizeof entry);
  // What does not fit is told by `finish`.
  static_cast<void>(sort_->add({text, sizeof text}));
}

void HashIndex::finish() {
  static_cast<void>(sort_->finish());
  SpilledSort::Reader reader(*sort_);
  std::string block;
  for (std::string_view text; reader.next(text);) {
    if (block.empty()) firsts_.push_back(value_in<Entry>(text, 0).hash);
    block.append(text);
    if (block.size() < kBlock * sizeof(Entry)) continue;
    static_cast<void>(blocks_.add(block));
    block.clear();
  }
  if (!block.empty()) static_cast<void>(blocks_.add(block));
  error_ = sort_->error().empty() ? blocks_.error() : sort_->error();
  sort_.reset();
}

void HashIndex::find(std::uint64_t hash, const std::function<bool(std::uint64_t number)>& take) const {
  // The block before the first one that begins with the hash may end with it.
  std::size_t block =
      static_cast<std::size_t>(std::lower_bound(firsts_.begin(), firsts_.end(), hash) - firsts_.begin());
  std::string text;
  for (block -= block == 0 ? 0 : 1; block < firsts_.size() && firsts_[block] <= hash; ++block) {
    if (!blocks_.read(block, text)) {
      error_ = blocks_.error();
      return;
    }
    for (std::size_t at = 0; at < text.size(); at += sizeof(Entry)) {
      const Entry entry = value_in<Entry>(text, at);
      if (entry.hash == hash && !take(entry.number)) return;
    }
  }
}

}  // namespace opdump::tool
