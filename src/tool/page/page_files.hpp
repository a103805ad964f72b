#pragma once
#include <span>
#include <string_view>

namespace opdump::tool {

// What a page shows and does: the files of page/, one after the other, as embed_files.py makes them into a
// source. In pieces, as compilers need not take literals of more than 64 KiB.

std::span<const std::string_view> page_style();
std::span<const std::string_view> page_script();

}  // namespace opdump::tool
