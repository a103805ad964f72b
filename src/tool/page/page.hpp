#pragma once
#include <cstdint>
#include <string>

#include "src/tool/page/page_data.hpp"

namespace opdump::tool {

/// What the page says of how it was made.
struct PageHead {
  std::string dump;     ///< as it was named
  std::string golden;   ///< empty: there is none
  std::string command;  ///< the command line, but for the page's own name
  std::uint64_t max_bytes = 0;
};

/// The verdict in one sentence.
std::string verdict_text(const ReportFacts& facts);

/// Writes the whole page to the file `path`, of `detail` and less than that if it would be larger than
/// `max_bytes`. False when the file cannot be written, or nothing that may be left out makes it small enough:
/// `error` says which.
bool write_page(const std::string& path, const ReportFacts& facts, const PageHead& head, PageDetail detail,
                std::string& error);

}  // namespace opdump::tool
