#include "src/tool/verify/overwritten_start.hpp"

#include <vector>

#include "src/config/text/human_text.hpp"

namespace opdump::tool {

bool OverwrittenStart::takes(std::uint32_t recorder, std::uint32_t sequence) {
  const bool is_first = there.empty() || complete_from.contains(recorder);
  if (!may_be || !is_first || there.contains(recorder)) return false;
  ++files;
  complete_from[recorder] = sequence + 1;
  return true;
}

void OverwrittenStart::tell(const std::string& journal, bool counts_files, Findings& findings) const {
  if (complete_from.empty() && written + lost == 0) return;
  std::uint64_t count = written + lost + files;
  std::string rest;
  for (const auto& [recorder, next] : complete_from) {
    rest += (rest.empty() ? "recorder " : ", recorder ") + std::to_string(recorder) +
            (records ? " is complete from" : " is told of from") + " sequence number " +
            std::to_string(next) + " on";
  }
  std::string what = "the beginning is gone";
  if (counts_files) {
    count = 0;
    if (lost != 0) what += ", " + count_text(lost, "record") + " of it were lost before";
  } else if (counted || !lines) {
    what += ", " + count_text(count, "record");
    if (lost != 0) what += ", of which " + std::to_string(lost) + " were lost before";
  } else {
    count = 0;
    for (const auto& [recorder, next] : complete_from) count += next;
    what += ", " + count_text(count, "record") + " at most";
  }
  std::vector<FindingField> fields = {{"journal", journal},
                                      {"message", rest.empty() ? what : what + ": " + rest}};
  if (!counts_files) fields.push_back({counted || !lines ? "count" : "most", {}, count, true});
  if (complete_from.size() == 1) {
    fields.push_back({"recorder", {}, complete_from.begin()->first, true});
    fields.push_back({"complete_from", {}, complete_from.begin()->second, true});
  }
  findings.add_overwritten(fields, count);
  findings.add_row(FindingKind::overwritten, {journal, what, rest});
}

}  // namespace opdump::tool
