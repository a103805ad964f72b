#include "src/tool/read/dump/spilled_table.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace opdump::tool {
namespace {

/// A text of a page with `count` texts.
std::string_view text_in(std::string_view page, std::size_t count, std::size_t number) {
  const auto end_of = [&](std::size_t i) {
    std::uint32_t end = 0;
    std::memcpy(&end, page.data() + page.size() - (count - i) * sizeof end, sizeof end);
    return std::size_t{end};
  };
  const std::size_t start = number == 0 ? 0 : end_of(number - 1);
  return page.substr(start, end_of(number) - start);
}

}  // namespace

/// The whole pages are all in memory, or all but the latest that were read are in the file alone.
bool SpilledTable::end_page(Pages& pages) {
  const std::span<const std::byte> ends = std::as_bytes(std::span(pages.ends));
  pages.filling.append(reinterpret_cast<const char*>(ends.data()), ends.size());
  const Page page = {pages.first, pages.bytes, static_cast<std::uint32_t>(pages.filling.size())};
  if (pages.file.size() == 0 && pages.all.size() < kMostKept) {
    pages.kept.push_back({pages.all.size(), std::move(pages.filling)});
  } else {
    const std::size_t unwritten = pages.file.size() == 0 ? pages.kept.size() : 0;
    for (std::size_t i = 0; i < unwritten; ++i) {
      if (!pages.file.append(as_bytes(pages.kept[i].bytes))) return false;
    }
    if (!pages.file.append(as_bytes(pages.filling))) return false;
  }
  pages.bytes += page.bytes;
  pages.all.push_back(page);
  pages.first += pages.ends.size();
  pages.filling.clear();
  pages.ends.clear();
  return true;
}

bool SpilledTable::add(std::string_view text) {
  Pages& pages = *pages_;
  if (!error().empty()) return false;
  if (!pages.ends.empty() && pages.filling.size() + text.size() > kPageBytes && !end_page(pages))
    return false;
  pages.filling.append(text);
  pages.ends.push_back(static_cast<std::uint32_t>(pages.filling.size()));
  return true;
}

std::size_t SpilledTable::page_of(const Pages& pages, std::size_t number) {
  const auto behind = std::upper_bound(pages.all.begin(), pages.all.end(), number,
                                       [](std::size_t text, const Page& page) { return text < page.first; });
  return static_cast<std::size_t>(behind - pages.all.begin()) - 1;
}

const SpilledTable::Kept* SpilledTable::keep(Pages& pages, std::size_t page) {
  for (std::size_t i = 0; i < pages.kept.size(); ++i) {
    if (pages.kept[i].page != page) continue;
    pages.last = i;
    return &pages.kept[i];
  }
  Kept& kept = pages.kept[pages.oldest];
  pages.last = pages.oldest;
  pages.oldest = (pages.oldest + 1) % pages.kept.size();
  kept.page = SIZE_MAX;
  kept.bytes.resize(pages.all[page].bytes);
  if (!pages.file.read(pages.all[page].at, std::as_writable_bytes(std::span(kept.bytes)))) return nullptr;
  kept.page = page;
  return &kept;
}

bool SpilledTable::read(std::size_t number, std::string& text) const {
  Pages& pages = *pages_;
  if (number >= size()) return false;
  if (number >= pages.first) {
    const std::size_t i = number - pages.first;
    const std::size_t start = i == 0 ? 0 : pages.ends[i - 1];
    text.assign(pages.filling, start, pages.ends[i] - start);
    return true;
  }
  const std::lock_guard lock(pages.mutex);
  const auto end_of = [&](std::size_t page) {
    return page + 1 < pages.all.size() ? pages.all[page + 1].first : pages.first;
  };
  const Kept* kept = &pages.kept[pages.last];
  const bool here =
      kept->page < pages.all.size() && number >= pages.all[kept->page].first && number < end_of(kept->page);
  if (!here) kept = keep(pages, page_of(pages, number));
  if (kept == nullptr) return false;
  const std::size_t first = pages.all[kept->page].first;
  text = text_in(kept->bytes, end_of(kept->page) - first, number - first);
  return true;
}

}  // namespace opdump::tool
