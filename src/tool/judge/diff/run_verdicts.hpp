#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "src/tool/cli/json.hpp"
#include "src/tool/judge/diff/run_table.hpp"

namespace opdump::tool {

/// What the runs say of one tensor at one step.
enum class RunVerdict : std::uint8_t {
  same,
  different,  ///< the runs fall apart into groups that agree in themselves
  flaky,      ///< runs that should be the same are not
  missing,    ///< some of the runs have it, others do not
};

/// The word for it.
std::string_view word_of(RunVerdict verdict);

/// In `RunDifference::groups`: what the run has there cannot be compared.
inline constexpr std::uint16_t kNoGroup = 0xffff;

/// One row that is not the same everywhere.
struct RunDifference {
  std::size_t place = 0;  ///< number in `RunTable::places`
  RunVerdict verdict = RunVerdict::same;
  std::vector<std::uint16_t> groups;  ///< of each run, from 0; runs of one group agree, or `kNoGroup`
};

using RunDifferences = std::vector<RunDifference>;

/// How many of the rows that are no differences were compared, and by what.
struct RunCounts {
  std::size_t same = 0;        ///< the digests of all their elements, or of those that the dumps keep
  std::size_t statistics = 0;  ///< statistics are equal
  std::size_t empty = 0;       ///< no run has elements there
  std::size_t not_held = 0;    ///< "~" in a signature
  std::size_t not_compared =
      0;  ///< some run lacks the elements, or has digests or statistics of another kind
};

/// All rows of `table` that are not the same in all runs, in the order of execution; `counts` are of the others. Of
/// runs on several sides those of one side should be the same. Of runs without sides, `by_groups`, most of the rows
/// that fall into two groups say which groups there are; what falls apart otherwise is flaky. A run on its own, or two,
/// are never flaky; a "~" of a signature is not held against anything. `nothing`: the digest of no bytes.
RunDifferences judge_runs(const RunTable& table, bool by_groups, const RunDigest& nothing, RunCounts& counts);

/// How one run of many stands to what most of them have.
struct FleetRun {
  std::size_t agrees = 0;        ///< rows with what more than half of the runs have
  std::size_t differs = 0;       ///< rows with something else of the same kind
  std::size_t lacks = 0;         ///< rows that only others have
  std::size_t not_compared = 0;  ///< without a majority, elements, or what is of the majority's kind
  std::size_t first = 0;         ///< the first place that differs, in the order of execution
};

/// Of each run of `table`, by what most runs have at a place; three at least have to have it.
std::vector<FleetRun> judge_fleet(const RunTable& table, const RunDigest& nothing);

/// What the runs have at `place` are statistics.
bool are_statistics(const RunTable& table, std::size_t place);

/// "output 0 of conv1 (Conv2D) of net at step 3".
std::string place_text(const RunTable& table, std::size_t place);

/// Adds the members that say the same.
JsonWriter& write_place(JsonWriter& json, const RunTable& table, std::size_t place);

/// "runs 1 to 3 against run 4".
std::string groups_text(const RunDifference& difference);

}  // namespace opdump::tool
