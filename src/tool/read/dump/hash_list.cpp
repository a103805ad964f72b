#include "src/tool/read/dump/hash_list.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace opdump::tool {
namespace {

std::uint64_t hash_in(std::string_view text) {
  std::uint64_t hash = 0;
  std::memcpy(&hash, text.data(), sizeof hash);
  return hash;
}

}  // namespace

bool HashList::less(std::string_view a, std::string_view b) {
  return hash_in(a) < hash_in(b);
}

void HashList::add(std::uint64_t hash) {
  if (hashes_.size() == kMost && !spill()) return;
  hashes_.push_back(hash);
}

/// What could not be spilled is told by `finish`.
bool HashList::spill() {
  for (const std::uint64_t hash : hashes_) {
    char text[sizeof hash];
    std::memcpy(text, &hash, sizeof hash);
    if (!sort_.add({text, sizeof text})) return false;
  }
  hashes_.clear();
  return true;
}

void HashList::finish() {
  if (sort_.size() == 0 && sort_.error().empty()) {
    std::sort(hashes_.begin(), hashes_.end());
    return;
  }
  if (spill() && sort_.finish()) store();
  if (error_.empty()) error_ = sort_.error();
  hashes_ = {};
}

/// Writes the sorted hashes one after another.
void HashList::store() {
  SpilledSort::Reader reader(sort_);
  hashes_.clear();
  const auto flush = [this] {
    if (!file_.append(std::as_bytes(std::span(hashes_)))) error_ = file_.error();
    hashes_.clear();
  };
  for (std::string_view text; error_.empty() && reader.next(text);) {
    if (hashes_.empty()) firsts_.push_back(hash_in(text));
    hashes_.push_back(hash_in(text));
    if (hashes_.size() == kBlock) flush();
  }
  flush();
}

std::size_t HashList::count(std::uint64_t hash) const {
  const auto count_in = [hash](std::span<const std::uint64_t> hashes) {
    const auto [first, last] = std::equal_range(hashes.begin(), hashes.end(), hash);
    return static_cast<std::size_t>(last - first);
  };
  if (firsts_.empty()) return count_in(hashes_);
  std::size_t found = 0;
  // The block before the first one that begins with the hash may end with it.
  std::size_t block =
      static_cast<std::size_t>(std::lower_bound(firsts_.begin(), firsts_.end(), hash) - firsts_.begin());
  for (block -= block == 0 ? 0 : 1; block < firsts_.size() && firsts_[block] <= hash; ++block) {
    std::array<std::uint64_t, kBlock> hashes;
    const std::uint64_t at = std::uint64_t{block} * sizeof hashes;
    const std::size_t bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(sizeof hashes, file_.size() - at));
    if (!file_.read(at, {reinterpret_cast<std::byte*>(hashes.data()), bytes})) {
      error_ = file_.error();
      return found;
    }
    found += count_in(std::span(hashes).first(bytes / sizeof hashes[0]));
  }
  return found;
}

}  // namespace opdump::tool
