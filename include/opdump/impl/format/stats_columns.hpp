#pragma once
#include <string_view>

#include "opdump/types/config.hpp"

/// The columns of CANN's statistics files.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

struct StatsColumn {
  StatBits bit;  ///< 0: the count of elements, which is always there
  std::string_view title;
};

/// What stands in front of the statistics.
inline constexpr std::string_view kStatsHeader = "Input/Output,Index,Data Size,Data Type,Format,Shape";

/// In order. The six default statistics have the count in the midst, any other selection in front.
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

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
