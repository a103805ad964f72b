#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/tool/show/show_listing.hpp"
#include "src/tool/show/strip.hpp"
#include "src/tool/show/tensor_numbers.hpp"

namespace opdump::tool {

/// How the statistics of each tensor go from step to step, a line each. Holds a few bytes for each tensor and
/// step.
class StepListing {
 public:
  bool show(const ShownRecord& record, RecordFile& file, std::string& error);
  void show(const ShownRecord& record, const StatisticsRecord& statistics);
  void finish(const DumpProvenance& provenance);
  const ShownSums& sums() const { return sums_; }

 private:
  using Steps = std::map<std::uint64_t, TensorNumbers>;
  using Role = std::pair<bool, std::uint64_t>;

  struct Op {
    std::string title;
    std::map<Role, Steps> tensors;
  };

  Op& op_of(const ShownRecord& record);
  void add(Op& op, const ShownRecord& record, const TensorNumbers& numbers);
  void print(const Op& op) const;

  const StripStyle style_ = strip_style();
  ShownSums sums_;
  std::vector<Op> ops_;  ///< in the order in which they ran first
  std::map<std::string, std::size_t> known_;
};

}  // namespace opdump::tool
