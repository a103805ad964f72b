#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace opdump::tool {

/// Rows of a table of statistics, behind its header.
struct TableRows {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

/// Nothing when the table cannot be read.
TableRows rows_of(const std::string& path);

/// Whether the file at that path of a dump is such a table.
bool is_table(std::string_view path);

}  // namespace opdump::tool
