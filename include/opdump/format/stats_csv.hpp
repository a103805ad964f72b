#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/base/number_text.hpp"
#include "opdump/base/text.hpp"
#include "opdump/format/stats_columns.hpp"
#include "opdump/impl/stats/statistics.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/format.hpp"
#include "opdump/types/tensor.hpp"

/// CANN's statistics files: a header line, then a line per tensor, inputs first. Sources: the writer of
/// CANN's device CPU (the six default statistics), and that of CANN's host (the selection and l2norm).

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Most bytes of a line, with its line end.
inline constexpr std::size_t kMaxStatsLine = 2176;

/// Whose way of writing numbers is used. Sources: the statistics of CANN's device CPU and host, and the tests
/// of the statistics of CANN's nano devices.
enum class StatsNumbers : std::uint8_t {
  server,  ///< six digits
  nano,    ///< digits behind the point: 16 for float64, averages and l2norm, 3 for float16, else 7
};

/// That of a config's form.
constexpr StatsNumbers stats_numbers(bool fixed_point) {
  return fixed_point ? StatsNumbers::nano : StatsNumbers::server;
}

/// One tensor of a statistics file.
struct StatsRow {
  bool output = false;
  std::uint32_t index = 0;  ///< among the operator's inputs or outputs
  std::uint64_t bytes = 0;
  DType dtype = DType::undefined;
  Format format = Format::nd;
  Shape shape{};                ///< at most kMaxRank dims
  StatisticsSummary summary{};  ///< by the rules of `cann`; without elements its cells are left empty
};

inline StatsRow stats_row(const TensorView& tensor, bool output, std::uint32_t index,
                          const StatisticsSummary& summary) {
  return {.output = output,
          .index = index,
          .bytes = tensor.bytes,
          .dtype = tensor.dtype,
          .format = tensor.format,
          .shape = tensor.shape,
          .summary = summary};
}

/// Adds `value` as CANN does: integers with all digits, other numbers with six.
inline TextWriter& add_extreme(TextWriter& to, const Extreme& value) {
  switch (value.kind()) {
    case Extreme::Kind::none:
      return to;
    case Extreme::Kind::integer:
      if (value.integer() >= 0) return to.add_decimal(static_cast<std::uint64_t>(value.integer()));
      return to.add("-").add_decimal(0 - static_cast<std::uint64_t>(value.integer()));
    case Extreme::Kind::natural:
      return to.add_decimal(value.natural());
    case Extreme::Kind::real:
      return add_number(to, value.real());
  }
  return to;
}

namespace stats_csv {

/// Calls `cell(column)` for each selected statistic in the order of the columns.
template <class Cell>
void for_each_column(std::uint32_t selected, Cell cell) {
  for (const StatsColumn& column : kStatsColumns) {
    const bool wanted = column.bit != 0 ? (selected & column.bit) != 0
                                        : (&column == kStatsColumns) == (selected != kStatsByDefault);
    if (wanted) cell(column);
  }
}

constexpr int kMeanDecimals = 16;

constexpr int decimals_of(DType dtype) {
  if (dtype == DType::float64) return kMeanDecimals;
  return dtype == DType::float16 ? 3 : 7;
}

inline void add_value(TextWriter& to, StatBits bit, DType dtype, const StatisticsSummary& summary,
                      StatsNumbers numbers) {
  if (summary.count == 0) return;
  const bool fixed = numbers == StatsNumbers::nano;
  switch (bit) {
    case kStatMax:
    case kStatMin: {
      const Extreme& extreme = bit == kStatMax ? summary.max : summary.min;
      if (fixed && extreme.kind() == Extreme::Kind::real) {
        add_fixed(to, extreme.real(), decimals_of(dtype));
      } else {
        add_extreme(to, extreme);
      }
      return;
    }
    case kStatMean:
      if (fixed) {
        add_fixed(to, summary.average, kMeanDecimals);
      } else {
        add_number(to, summary.average);
      }
      return;
    case kStatL2Norm:
      if (fixed) {
        add_fixed(to, summary.l2norm, kMeanDecimals);
      } else {
        add_number(to, summary.l2norm);
      }
      return;
    default:
      to.add_decimal(count_of(summary, bit));
  }
}

/// The header line without its end.
inline TextWriter& add_titles(TextWriter& to, std::uint32_t selected) {
  to.add(kStatsHeader);
  for_each_column(selected, [&to](const StatsColumn& column) { to.add(",").add(column.title); });
  return to;
}

/// The line of one tensor without its end.
inline TextWriter& add_cells(TextWriter& to, const StatsRow& row, std::uint32_t selected,
                             StatsNumbers numbers) {
  to.add(row.output ? "Output," : "Input,").add_decimal(row.index).add(",").add_decimal(row.bytes).add(",");
  if (row.dtype == DType::undefined) {
    to.add("-");
  } else {
    to.add("DT_").add(cann_name_of(row.dtype));
  }
  const std::string_view format = to_string(row.format);
  to.add(",").add(format.empty() ? "-" : format).add(",");
  if (row.shape.empty()) to.add("-");
  for (std::size_t i = 0; i < row.shape.size(); ++i) to.add(i == 0 ? "" : "x").add_decimal(row.shape[i]);
  for_each_column(selected, [&](const StatsColumn& column) {
    to.add(",");
    add_value(to, column.bit, row.dtype, row.summary, numbers);
  });
  return to;
}

}  // namespace stats_csv

/// Adds the header line for the statistics in `selected`.
inline TextWriter& add_stats_header(TextWriter& to, std::uint32_t selected = kStatsByDefault) {
  return stats_csv::add_titles(to, selected).add("\n");
}

/// Adds the line of one tensor; `selected` as in the header.
inline TextWriter& add_stats_row(TextWriter& to, const StatsRow& row,
                                 std::uint32_t selected = kStatsByDefault,
                                 StatsNumbers numbers = StatsNumbers::server) {
  return stats_csv::add_cells(to, row, selected, numbers).add("\n");
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
