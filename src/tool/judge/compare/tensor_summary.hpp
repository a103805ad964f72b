#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "opdump/impl/stats/statistics.hpp"
#include "src/tool/read/dump/statistics_file.hpp"

namespace opdump::tool {

struct DumpSide;
struct DumpTensor;

/// What a dump of statistics tells of a tensor instead of its elements. Nothing where its file has no such
/// column.
struct TensorSummary {
  std::optional<double> max;
  std::optional<double> min;
  std::optional<double> mean;
  std::optional<double> l2_norm;
  std::optional<std::uint64_t> nans;
  std::optional<std::uint64_t> negative_infinities;
  std::optional<std::uint64_t> positive_infinities;
  std::string md5;
  std::string sha1;
  StatisticsDialect dialect = StatisticsDialect::cann;  ///< whose rules the numbers keep
};

/// Of a line of CANN's or MindSpore's file. Cells that are no numbers, as "NA", tell nothing.
TensorSummary summary_of(const StatisticsLine& line);

/// Of all elements of a tensor by the rules of `dialect`, without digests; nothing when they cannot be read.
std::optional<TensorSummary> summary_of(const DumpSide& side, const DumpTensor& tensor,
                                        StatisticsDialect dialect);

/// How far two summaries are apart.
struct SummaryDistance {
  /// The largest difference of least, greatest and mean number by the range that golden's take, and of the
  /// norms by golden's; infinite where a number or a count of NaNs or infinities is there on one side alone.
  double distance = 0;
  bool same_digest = false;  ///< both sides have a digest, and it is the same
  std::string told;          ///< what differs, as "max 3 for 2"
};

/// Nothing when they have no number, count or digest in common.
std::optional<SummaryDistance> summary_distance(const TensorSummary& mine, const TensorSummary& golden);

}  // namespace opdump::tool
