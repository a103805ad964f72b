#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/number_text.hpp"
#include "opdump/base/text.hpp"
#include "opdump/format/stats_columns.hpp"
#include "opdump/impl/stats/statistics.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/tensor.hpp"

/// MindSpore's `statistic.csv`: a table per directory, a row per tensor. Source: MindSpore's writer.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::string_view kStatisticTableName = "statistic.csv";

/// The statistics and digests of one tensor.
struct TensorStatistics {
  StatisticsSummary summary{};
  std::byte md5[16] = {};
  std::byte sha1[20] = {};
};

struct StatisticColumn {
  StatBits bit;
  std::string_view title;
};

inline constexpr StatisticColumn kStatisticColumns[] = {
    {kStatMax, "Max Value"},
    {kStatMin, "Min Value"},
    {kStatMean, "Avg Value"},
    {kStatCount, "Count"},
    {kStatNegative, "Negative Zero Count"},
    {kStatPositive, "Positive Zero Count"},
    {kStatNan, "NaN Count"},
    {kStatNegativeInf, "Negative Inf Count"},
    {kStatPositiveInf, "Positive Inf Count"},
    {kStatZero, "Zero Count"},
    {kStatL2Norm, "L2Norm Value"},
    {kStatMd5, "MD5"},
    {kStatSha1, "SHA1"},
};

/// One tensor of the table.
struct StatisticRow {
  std::uint32_t task_id = 0;
  std::uint32_t stream_id = 0;
  std::uint64_t unix_us = 0;
  bool output = false;
  std::uint32_t index = 0;
  std::uint64_t bytes = 0;
  DType dtype = DType::undefined;
  Shape shape{};
};

/// The row of a tensor of `op`, whose ids count where the layout has them.
template <class Op>
StatisticRow statistic_row(Layout layout, const Op& op, std::uint64_t unix_us, const TensorView& tensor,
                           bool output, std::uint32_t index) {
  return {.task_id = has_task_id(layout) ? op.task_id : 0,
          .stream_id = has_stream_id(layout) ? op.stream_id : 0,
          .unix_us = unix_us,
          .output = output,
          .index = index,
          .bytes = tensor.bytes,
          .dtype = tensor.dtype,
          .shape = tensor.shape};
}

/// Calls `use(bit)` for each column after the common ones: those of `columns` in order, one bit each, or, if
/// it is empty, those of `statistics` in the table's own order.
template <class Use>
void for_each_statistic(std::span<const StatBits> columns, StatBits statistics, Use use) {
  for (const StatBits bit : columns) use(bit);
  if (!columns.empty()) return;
  for (const StatisticColumn& column : kStatisticColumns) {
    if ((statistics & column.bit) != 0) use(column.bit);
  }
}

/// Most bytes of the header, and of a row after its type and name, with up to kMostColumns columns.
inline constexpr std::size_t kMaxStatisticLine = 2048;

inline TextWriter& add_statistic_header(TextWriter& to, std::span<const StatBits> columns,
                                        StatBits statistics) {
  to.add("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape");
  for_each_statistic(columns, statistics, [&to](StatBits bit) {
    for (const StatisticColumn& column : kStatisticColumns) {
      if (column.bit == bit) to.add(',').add(column.title);
    }
  });
  return to.add('\n');
}

/// Adds one cell. Numbers have six digits for every dtype; a dtype without statistics gets "null".
inline void add_statistic(TextWriter& to, StatBits bit, const TensorStatistics& tensor) {
  const StatisticsSummary& summary = tensor.summary;
  if (bit == kStatMd5) return static_cast<void>(to.add_hex(tensor.md5));
  if (bit == kStatSha1) return static_cast<void>(to.add_hex(tensor.sha1));
  if (summary.count == 0) {
    to.add("null");
    return;
  }
  switch (bit) {
    case kStatMax:
      add_number(to, summary.max.as_double());
      return;
    case kStatMin:
      add_number(to, summary.min.as_double());
      return;
    case kStatMean:
      add_number(to, summary.average);
      return;
    case kStatL2Norm:
      add_number(to, summary.l2norm);
      return;
    default:
      to.add_decimal(count_of(summary, bit));
  }
}

/// Adds what follows the operator's type and name in its row, from the comma on. `trailing_comma`: MindSpore
/// ends each row with a comma, so that a row has one cell more than the header.
inline TextWriter& add_statistic_row(TextWriter& to, const StatisticRow& row, const TensorStatistics& tensor,
                                     std::span<const StatBits> columns, StatBits statistics,
                                     bool trailing_comma) {
  to.add(',').add_decimal(row.task_id).add(',').add_decimal(row.stream_id);
  to.add(',').add_decimal(row.unix_us).add(row.output ? ",output," : ",input,").add_decimal(row.index);
  to.add(',').add_decimal(row.bytes).add(',').add(info(row.dtype).name).add(",\"(");
  for (std::size_t i = 0; i < row.shape.size(); ++i) to.add(i == 0 ? "" : ",").add_decimal(row.shape[i]);
  to.add(")\"");
  for_each_statistic(columns, statistics, [&](StatBits bit) { add_statistic(to.add(','), bit, tensor); });
  return to.add(trailing_comma ? ",\n" : "\n");
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
