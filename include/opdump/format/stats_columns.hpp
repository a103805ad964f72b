#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/impl/stats/statistics.hpp"
#include "opdump/types/config.hpp"

/// The columns of CANN's statistics files.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

struct StatsColumn {
  StatBits bit;  ///< 0: the count of elements, a column that every file has
  std::string_view title;
};

/// The columns before the statistics.
inline constexpr std::string_view kStatsHeader = "Input/Output,Index,Data Size,Data Type,Format,Shape";

/// In order. The count appears twice: in the middle for the six default statistics, in front for any other selection.
inline constexpr StatsColumn kStatsColumns[] = {
    {0, "Count"},
    {kStatMax, "Max Value"},
    {kStatMin, "Min Value"},
    {kStatMean, "Avg Value"},
    {0, "Count"},
    {kStatNan, "Nan Count"},
    {kStatNegativeInf, "Negative Inf Count"},
    {kStatPositiveInf, "Positive Inf Count"},
    {kStatL2Norm, "l2norm"},
};

/// The count that `bit` stands for; the count of all elements if `bit` stands for none.
constexpr std::uint64_t count_of(const StatisticsSummary& summary, StatBits bit) {
  switch (bit) {
    case kStatNan:
      return summary.nan;
    case kStatNegativeInf:
      return summary.negative_inf;
    case kStatPositiveInf:
      return summary.positive_inf;
    case kStatNegative:
      return summary.negative;
    case kStatPositive:
      return summary.positive;
    case kStatZero:
      return summary.zero;
    default:
      return summary.count;
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
