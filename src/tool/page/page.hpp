#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/tool/page/page_data.hpp"
#include "src/tool/page/report_facts.hpp"

namespace opdump::tool {

/// Longer names are shortened.
inline constexpr std::size_t kMostName = 120;

/// Text as HTML shows it. What would change the direction of writing, or is no UTF-8, becomes '?'.
std::string html(std::string_view text);

std::string html_name(const std::string& name);

/// The same wherever it is read.
std::string utc_text(std::uint64_t unix_us);

std::string number_or_dash(double number);

/// The word with its mark and colour.
std::string verdict_badge(Verdict verdict);

/// "Conv2D conv1"
std::string name_of(const ReportFacts& facts, const ReportRun& run);

/// Where the page's script finds the run.
std::string link_of(const ReportFacts& facts, std::size_t run);

/// What the page says of how it was made.
struct PageHead {
  std::string dump;     ///< as it was named
  std::string golden;   ///< empty: there is none
  std::string command;  ///< the command line, but for the page's own name
  std::uint64_t max_bytes = 0;
};

/// The verdict in one sentence.
std::string verdict_text(const ReportFacts& facts);

/// Writes the whole page to the file `path`, of `detail` and less than that if it would be larger than `max_bytes`.
/// False when the file cannot be written, or nothing that may be left out makes it small enough: `error` says which.
bool write_page(const std::string& path, const ReportFacts& facts, const PageHead& head, PageDetail detail,
                std::string& error);

}  // namespace opdump::tool
