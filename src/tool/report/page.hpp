#pragma once
#include <cstdint>
#include <string>

#include "src/tool/report/page_data.hpp"

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

/// The whole page, of `detail` and less than that if it would be larger than `max_bytes`. Empty when nothing
/// that may be left out makes it small enough; `bytes` is then the least there can be. Empty too, with
/// `error`, when something is wrong with the temporary file.
std::string make_page(const ReportFacts& facts, const PageHead& head, PageDetail detail, std::size_t& bytes,
                      std::string& error);

}  // namespace opdump::tool
