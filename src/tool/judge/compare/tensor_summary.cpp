#include "src/tool/judge/compare/tensor_summary.hpp"

#include <stdlib.h>

#include <bit>
#include <cmath>
#include <limits>

#include "opdump/base/bytes.hpp"
#include "opdump/base/digest.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/judge/compare/side_numbers.hpp"

namespace opdump::tool {
namespace {

std::optional<double> number_of(const std::string& cell) {
  char* end = nullptr;
  const double number = strtod(cell.c_str(), &end);
  return cell.empty() || *end != '\0' ? std::nullopt : std::optional(number);
}

struct Column {
  const char* title;
  std::optional<double> TensorSummary::*number;
};
constexpr Column kColumns[] = {{"Max Value", &TensorSummary::max},  {"Min Value", &TensorSummary::min},
                               {"Avg Value", &TensorSummary::mean}, {"L2Norm Value", &TensorSummary::l2_norm},
                               {"l2norm", &TensorSummary::l2_norm}, {"L2norm", &TensorSummary::l2_norm}};

struct CountColumn {
  const char* title;
  std::optional<std::uint64_t> TensorSummary::*count;
  const char* what;
};
constexpr CountColumn kCounts[] = {{"NaN Count", &TensorSummary::nans, "NaNs"},
                                   {"Nan Count", &TensorSummary::nans, "NaNs"},
                                   {"Negative Inf Count", &TensorSummary::negative_infinities, "-inf"},
                                   {"Positive Inf Count", &TensorSummary::positive_infinities, "inf"}};

class Distance {
 public:
  Distance(const TensorSummary& mine, const TensorSummary& golden) : mine_(mine), golden_(golden) {}

  std::optional<SummaryDistance> take() {
    const double range = golden_.max && golden_.min && std::isfinite(*golden_.max - *golden_.min)
                             ? *golden_.max - *golden_.min
                             : 0;
    add("max", mine_.max, golden_.max, range);
    add("min", mine_.min, golden_.min, range);
    add("mean", mine_.mean, golden_.mean, range);
    add("norm", mine_.l2_norm, golden_.l2_norm, golden_.l2_norm.value_or(0));
    for (const CountColumn& column : kCounts) add_count(column);
    for (const auto digest : {&TensorSummary::md5, &TensorSummary::sha1}) {
      if ((mine_.*digest).empty() || (golden_.*digest).empty()) continue;
      result_.same_digest = mine_.*digest == golden_.*digest;
      if (!known_ && !result_.same_digest)
        note(std::numeric_limits<double>::infinity(), "the digests differ");
      known_ = true;
    }
    return known_ ? std::optional(result_) : std::nullopt;
  }

 private:
  void add(const char* name, const std::optional<double>& mine, const std::optional<double>& golden,
           double unit) {
    if (!mine || !golden) return;
    known_ = true;
    const bool same = *mine == *golden || (std::isnan(*mine) && std::isnan(*golden));
    if (same) return;
    const double by = unit > 0 ? unit : std::fabs(*golden);
    const double apart = std::fabs(*mine - *golden) / by;
    note(std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart,
         std::string(name) + ' ' + number_text(*mine) + " for " + number_text(*golden));
  }

  void add_count(const CountColumn& column) {
    const std::optional<std::uint64_t>& mine = mine_.*column.count;
    const std::optional<std::uint64_t>& golden = golden_.*column.count;
    if (!mine || !golden) return;
    known_ = true;
    if (*mine != *golden)
      note(std::numeric_limits<double>::infinity(),
           std::to_string(*mine) + ' ' + column.what + " for " + std::to_string(*golden));
  }

  void note(double apart, const std::string& told) {
    if (apart < result_.distance || (apart == result_.distance && !result_.told.empty())) return;
    result_.distance = apart;
    result_.told = told;
  }

  const TensorSummary& mine_;
  const TensorSummary& golden_;
  SummaryDistance result_;
  bool known_ = false;
};

}  // namespace

TensorSummary summary_of(const StatisticsLine& line) {
  TensorSummary summary;
  summary.dialect = line.dialect;
  for (const auto& [title, cell] : line.values) {
    for (const Column& column : kColumns) {
      if (title == column.title) summary.*column.number = number_of(cell);
    }
    for (const CountColumn& column : kCounts) {
      if (title == column.title) summary.*column.count = parse_decimal(cell);
    }
    if (title == "MD5" && cell.size() == 2 * Md5::kBytes) summary.md5 = cell;
    if (title == "SHA1" && cell.size() == 2 * Sha1::kBytes) summary.sha1 = cell;
  }
  return summary;
}

std::optional<TensorSummary> summary_of(const DumpSide& side, const DumpTensor& tensor,
                                        StatisticsDialect dialect) {
  opdump::Statistics statistics(DType::float64);
  std::vector<std::byte> bytes;
  const bool read = for_each_number(side, tensor, [&](std::span<const double> numbers) {
    bytes.resize(numbers.size_bytes());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      store_little_endian(bytes.data() + i * sizeof(double), std::bit_cast<std::uint64_t>(numbers[i]));
    statistics.add(bytes);
  });
  if (!read) return std::nullopt;
  const StatisticsSummary all = statistics.summary(dialect);
  TensorSummary summary;
  summary.dialect = dialect;
  summary.nans = all.nan;
  summary.negative_infinities = all.negative_inf;
  summary.positive_infinities = all.positive_inf;
  if (all.count == 0) return summary;
  summary.max = all.max.as_double();
  summary.min = all.min.as_double();
  summary.mean = all.average;
  summary.l2_norm = all.l2norm;
  return summary;
}

std::optional<SummaryDistance> summary_distance(const TensorSummary& mine, const TensorSummary& golden) {
  return Distance(mine, golden).take();
}

}  // namespace opdump::tool
