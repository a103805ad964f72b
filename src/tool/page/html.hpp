#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace opdump::tool
