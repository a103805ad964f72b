#pragma once
#include <span>
#include <string>
#include <string_view>

#include "src/tool/page/page.hpp"

namespace opdump::tool {

// Parts of the page in HTML.

/// The verdict, and what the dump is.
std::string page_header(const ReportFacts& facts, const PageHead& head, PageDetail detail);

/// The 50 worst operators as a table.
std::string worst_section(const ReportFacts& facts);

/// What was written and lost, by operator and with reasons.
std::string losses_section(const ReportFacts& facts);

/// What the config asks for; empty where none was named.
std::string config_section(const ConfigFacts& config);

/// How the page was made, and what is worth knowing besides.
std::string about_section(const ReportFacts& facts, const PageHead& head);

/// Whether journals prove that the dump is complete.
std::string completeness_text(const JournalFacts& journal);

// What a page shows and does, as embed_files.py makes it of the files of web/: in pieces, as compilers need not
// take literals of more than 64 KiB.
std::span<const std::string_view> page_style();
std::span<const std::string_view> page_script();

}  // namespace opdump::tool
