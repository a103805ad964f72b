#include "src/tool/verify/file_soundness.hpp"

#include <optional>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/read/dump/record_name.hpp"
#include "src/tool/read/dump/statistics_file.hpp"
#include "src/tool/read/journal/journal_line.hpp"

namespace opdump::tool {
namespace {

/// Of a file whose name tells shape and dtype.
std::string problem_of_lite(RecordFile& file, const std::string& path, std::string_view suffix) {
  const std::string any_op = "op" + std::string(suffix);
  const std::optional<LiteName> name = parse_lite_name(any_op);
  if (!name) return "its name tells no shape and dtype";
  return file.open_bytes(path, named_tensor(*name), name->padded()) == RecordFile::Opened::ok ? std::string()
                                                                                              : file.error();
}

/// Of CANN's statistics, which have a row for each tensor of a record.
std::string problem_of_statistics(const std::string& path) {
  StatisticsFile file;
  StatisticsRecord record;
  if (file.open({.path = path, .real_name = path.substr(path.rfind('/') + 1), .below = {}}) !=
      StatisticsFile::Opened::ok)
    return file.error();
  if (!file.next(record) && file.error().empty()) return "no row of statistics behind the titles";
  while (file.next(record)) continue;
  return file.error();
}

}  // namespace

std::string problem_of(RecordFile& file, const std::string& path, std::string_view suffix) {
  if (suffix.ends_with(".csv")) return problem_of_statistics(path);
  if (suffix.ends_with(".bin")) return problem_of_lite(file, path, suffix);
  const bool is_array = suffix.ends_with(".npy");
  if (!is_array && !is_record_suffix(suffix)) return {};
  const RecordFile::Opened opened = is_array ? file.open_array(path, {}) : file.open(path);
  return opened == RecordFile::Opened::ok ? std::string() : file.error();
}

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
