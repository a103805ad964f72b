#pragma once
#include <cstdint>

#include "opdump/impl/stats/statistics.hpp"
#include "opdump/types/config.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

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
