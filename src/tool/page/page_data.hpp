#pragma once
#include <optional>
#include <string>

#include "src/tool/page/page_writer.hpp"
#include "src/tool/page/report_facts.hpp"

namespace opdump::tool {

/// What the page leaves out, step by step, until it is small enough.
enum class PageDetail : int {
  all,              ///< histograms of all tensors
  flagged,          ///< of those that are flagged
  flagged_outputs,  ///< of the outputs among them
  none,             ///< no histograms
  outputs,          ///< besides, of operators that are not flagged only outputs
  flagged_tensors,  ///< besides, of them no tensors
  no_files,         ///< besides, no names of files, and no pictures
};

/// In words, what is left out; empty: nothing.
std::string left_out_text(PageDetail detail);

/// The JSON that the page's script reads: columns, numbers as base64 of little-endian arrays behind their
/// type ("f32:..."), texts by their number in "strings". Where it is too large for `json`, the next detail to
/// try, which may be known before all is written; of the least one all is.
std::optional<PageDetail> write_page_data(const ReportFacts& facts, PageDetail detail, PageWriter& json);

}  // namespace opdump::tool
