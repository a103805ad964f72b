#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "src/tool/judge/diff/digest_columns.hpp"
#include "src/tool/read/dump/spilled_list.hpp"
#include "src/tool/read/dump/spilled_sort.hpp"

namespace opdump::tool {

/// One row of the table: a tensor at a step.
struct RunPlace {
  std::uint32_t tensor = 0;  ///< index in `RunTable::tensors`
  std::uint32_t turn = 0;    ///< of the same tensor in the same step, from 0
  std::uint64_t step = 0;

  bool operator==(const RunPlace&) const = default;
};

/// The end of a run that does not follow the rows that a table has: finds its rows, in bounded memory but for
/// some 16 bytes for each turn of one tensor in one step.
class RunMerge {
 public:
  /// The run has followed the first `followed` of the rows `places`, to which `finish` adds its own.
  RunMerge(SpilledList<RunPlace>& places, std::size_t followed);

  /// Adds the next tensor of the run.
  void add(std::uint32_t tensor, std::uint64_t step, const RunDigest& digest);

  /// Gives the run's digests of all rows behind those that it has followed to `take`, in the order of the
  /// rows. The error of the temporary file; empty: nothing is wrong.
  std::string finish(const std::function<void(const RunDigest& digest)>& take);

 private:
  /// A row that there is, or a tensor of the run, which has a digest.
  struct Entry {
    std::uint64_t step = 0;
    std::uint64_t number = 0;  ///< of the row, or of the tensor's turn in the run
    RunDigest digest{};
    std::uint32_t tensor = 0;
    bool of_run = false;
  };
  /// A tensor of the run that has its row, or makes one.
  struct Placed {
    std::uint64_t number = 0;  ///< of the row, or of the tensor's turn in the run
    RunPlace place{};
    RunDigest digest{};
    bool is_new = false;
  };

  static bool by_tensor(std::string_view a, std::string_view b);
  static bool by_row(std::string_view a, std::string_view b);
  void place();

  SpilledList<RunPlace>& places_;
  const std::size_t followed_;
  std::uint64_t added_ = 0;
  SpilledSort entries_{by_tensor};
  SpilledSort placed_{by_row};
};

}  // namespace opdump::tool
