#include "src/tool/verify/file_soundness.hpp"

#include <optional>

#include "src/tool/read/dump/lite_name.hpp"
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

}  // namespace opdump::tool
