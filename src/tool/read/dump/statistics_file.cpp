#include "src/tool/read/dump/statistics_file.hpp"

#include <string_view>

#include "opdump/parts/privacy.hpp"
#include "opdump/types/dtype.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {
namespace {

constexpr std::string_view kSuffix = ".csv";

/// So that a hostile file does not fill the memory; what is beyond becomes a record of its own.
constexpr std::size_t kMostLines = 1024;

/// Where the cells of a row are. The statistics follow behind the common ones.
struct Columns {
  std::size_t role, index, bytes, dtype, shape, common;
};
constexpr Columns kOfCann = {0, 1, 2, 3, 5, 6};
constexpr std::size_t kFormatOfCann = 4;
constexpr Columns kOfTable = {5, 6, 7, 8, 9, 10};
constexpr std::size_t kTask = 2;
constexpr std::size_t kStream = 3;
constexpr std::size_t kTime = 4;

std::string shape_of(std::string_view cell) {
  if (cell == "-" || cell == "NA") return {};
  std::string shape = "[";
  for (const char c : cell) {
    if (c >= '0' && c <= '9') {
      shape += c;
    } else if (shape.back() != '[' && shape.back() != ',') {
      shape += ',';
    }
  }
  if (shape.back() == ',') shape.pop_back();
  return shape + ']';
}

std::string dtype_of(const std::string& cell) {
  const Result<DType> dtype = dtype_from_name(cell);
  return dtype.ok() ? std::string(info(dtype.value()).name) : cell;
}

}  // namespace

bool StatisticsFile::fail(const std::string& reason) {
  error_ = path_ + ':' + std::to_string(csv_.line()) + ": " + reason;
  return false;
}

StatisticsFile::Opened StatisticsFile::open(const FoundFile& found) {
  path_ = found.path;
  error_.clear();
  has_row_ = false;
  file_name_ = found.real_name;
  if (file_name_.ends_with(kSuffix)) file_name_.resize(file_name_.size() - kSuffix.size());
  named_ = parse_record_name(file_name_);
  if (!csv_.open(path_)) {
    error_ = csv_.error();
    return Opened::failed;
  }
  const bool has_titles = csv_.next(titles_);
  is_table_ = has_titles && titles_.size() >= kOfTable.common && titles_[0] == "Op Type";
  const bool is_cann = has_titles && titles_.size() > kOfCann.common && titles_[0] == "Input/Output";
  if (!is_table_ && !is_cann) {
    error_ = csv_.error().empty() ? path_ + ": no statistics: neither CANN's title line nor MindSpore's"
                                  : csv_.error();
    return Opened::no_statistics;
  }
  static_cast<void>(next_row());
  return error_.empty() ? Opened::ok : Opened::failed;
}

bool StatisticsFile::next_row() {
  has_row_ = csv_.next(row_);
  if (!csv_.error().empty()) error_ = csv_.error();
  return has_row_;
}

bool StatisticsFile::next(StatisticsRecord& record) {
  record = {};
  if (!has_row_) return false;
  bool goes_on = true;
  while (goes_on) {
    if (!take_row(record)) return false;
    const bool is_same =
        next_row() && (!is_table_ || (row_.size() >= 2 && row_[0] == record.type && row_[1] == record.name));
    goes_on = is_same && record.lines.size() < kMostLines;
  }
  if (record.record) {
    record.record->type = record.type;
    record.record->name = record.name;
  }
  return error_.empty();
}

bool StatisticsFile::take_row(StatisticsRecord& record) {
  const Columns& columns = is_table_ ? kOfTable : kOfCann;
  if (row_.size() < columns.common) return fail("a row with too few cells");
  const std::optional<std::uint64_t> index = parse_decimal(row_[columns.index]);
  const std::optional<std::uint64_t> bytes = parse_decimal(row_[columns.bytes]);
  if (!index || !bytes) return fail("no numbers where index and size of a tensor should be");
  if (record.lines.empty() && is_table_) {
    const std::optional<std::uint64_t> task = parse_decimal(row_[kTask]);
    const std::optional<std::uint64_t> stream = parse_decimal(row_[kStream]);
    const std::optional<std::uint64_t> time = parse_decimal(row_[kTime]);
    if (!task || !stream || !time) return fail("no numbers where task, stream and time should be");
    record.type = row_[0];
    record.name = row_[1];
    record.record = RecordName{{}, {}, *task, *stream, *time};
  } else if (record.lines.empty() && named_) {
    record.type = named_->type;
    record.name = named_->name;
    record.record = *named_;
  }
  const std::string& role = row_[columns.role];
  StatisticsLine& line = record.lines.emplace_back();
  line.is_output = role == "Output" || role == "output";
  line.index = *index;
  line.bytes = *bytes;
  line.dtype = dtype_of(row_[columns.dtype]);
  line.shape = shape_of(row_[columns.shape]);
  if (!is_table_) line.format = row_[kFormatOfCann];
  if (is_table_) line.dialect = StatisticsDialect::mindspore;
  for (std::size_t i = columns.common; i < titles_.size(); ++i) {
    // A row that was cut short tells no more.
    if (i >= row_.size()) row_.emplace_back();
    if (titles_[i] == kKeptColumn) {
      line.kept = row_[i];
    } else {
      line.values.emplace_back(titles_[i], row_[i]);
    }
  }
  if (!line.kept.empty()) std::erase_if(line.values, [](const auto& value) { return value.second.empty(); });
  return true;
}

std::string kept_words(const std::string& kept) {
  return "kept as " + kept + " by the config";
}

}  // namespace opdump::tool
