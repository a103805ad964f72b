#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace opdump::tool {

/// What became of the records of one operator.
struct RecordCounts {
  std::uint64_t written = 0;
  std::uint64_t reduced = 0;  ///< of `written`
  std::uint64_t lost = 0;
};

/// What journals tell of them: line by line, and as sessions count operators with losses, whose records need
/// not all have a line.
struct ToldRecords {
  RecordCounts lines{};
  RecordCounts sessions{};

  /// The greater of both.
  RecordCounts counts() const {
    return {.written = std::max(lines.written, sessions.written),
            .reduced = std::max(lines.reduced, sessions.reduced),
            .lost = std::max(lines.lost, sessions.lost)};
  }
};

/// By model and operator, as `{type}.{name}`.
using OpRecordCounts = std::map<std::pair<std::string, std::string>, ToldRecords>;

}  // namespace opdump::tool
