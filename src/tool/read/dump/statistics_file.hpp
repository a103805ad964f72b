#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "opdump/impl/stats/statistics.hpp"
#include "src/tool/read/dump/csv_file.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {

/// The statistics of one tensor, as their file gives them.
struct StatisticsLine {
  bool is_output = false;
  std::uint64_t index = 0;
  std::uint64_t bytes = 0;
  std::string dtype;
  std::string format;                                         ///< empty: the file has none
  std::string shape;                                          ///< like "[2,3]"; empty: not known
  std::vector<std::pair<std::string, std::string>> values{};  ///< title and text of each statistic
  /// What the config's privacy has kept of the tensor, such as "stats of 0:4", and only that is in `values`;
  /// empty: the file does not say.
  std::string kept;
  StatisticsDialect dialect = StatisticsDialect::cann;
};

/// How a tensor of which the config's privacy has kept that is told, as "kept as stats by the config".
std::string kept_words(const std::string& kept);

/// The statistics of one operator in one of its runs.
struct StatisticsRecord {
  std::string type;
  std::string name;
  std::optional<RecordName> record{};  ///< refers to `type` and `name`; nothing: the file does not say
  std::vector<StatisticsLine> lines{};
};

/// Reads an untrusted file of statistics: CANN's file of one operator, or MindSpore's table, where
/// consecutive rows of one operator form a record.
class StatisticsFile {
 public:
  enum class Opened { ok, no_statistics, failed };

  /// Unless `ok`, `error()` says what is wrong.
  Opened open(const FoundFile& found);

  /// Gives the next record; false after the last one, or when it cannot be read; `error()` then says why.
  bool next(StatisticsRecord& record);

  const std::string& error() const { return error_; }

 private:
  using Cells = std::vector<std::string>;

  bool next_row();
  bool take_row(StatisticsRecord& record);
  bool fail(const std::string& reason);

  CsvFile csv_;
  std::string path_;
  std::string error_;
  std::optional<RecordName> named_;  ///< from the file's name; refers to `file_name_`
  std::string file_name_;
  bool is_table_ = false;
  Cells titles_;
  Cells row_;
  bool has_row_ = false;
};

}  // namespace opdump::tool
