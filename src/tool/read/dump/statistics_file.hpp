#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "opdump/impl/stats/statistics.hpp"
#include "src/tool/read/dump/csv_file.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {

/// Minimum, maximum and mean of numbers that come in pieces, and counts of those that are not finite.
class Statistics {
 public:
  void add(std::span<const double> numbers) {
    for (const double number : numbers) {
      if (std::isfinite(number)) {
        min_ = number < min_ ? number : min_;
        max_ = number > max_ ? number : max_;
        sum_ += number;
        squares_ += number * number;
        scaled_sum_ += number * kScale;
        ++finite_;
      } else if (std::isnan(number)) {
        ++nan_;
      } else {
        ++infinite_;
      }
    }
  }

  std::uint64_t finite() const { return finite_; }
  std::uint64_t nan() const { return nan_; }
  std::uint64_t infinite() const { return infinite_; }

  // Of the finite numbers; there must be at least one.
  double min() const { return min_; }
  double max() const { return max_; }
  double mean() const {
    const double count = static_cast<double>(finite_);
    return std::isfinite(sum_) ? sum_ / count : scaled_sum_ / count / kScale;
  }
  double l2() const { return std::sqrt(squares_); }

 private:
  /// Keeps a second sum finite where numbers near the end of the range make the first one overflow.
  static constexpr double kScale = 0x1p-64;

  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
  double sum_ = 0;
  double squares_ = 0;
  double scaled_sum_ = 0;
  std::uint64_t finite_ = 0;
  std::uint64_t nan_ = 0;
  std::uint64_t infinite_ = 0;
};

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
