#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/tool/show/numbers_listing.hpp"

namespace opdump::tool {

/// How the statistics of each tensor go from step to step, a line each. Holds a few bytes for each tensor and
/// step.
class StepListing final : public NumbersListing {
 public:
  void finish(const DumpProvenance& provenance);

 private:
  using Steps = std::map<std::uint64_t, TensorNumbers>;
  using Role = std::pair<bool, std::uint64_t>;

  struct Op {
    std::string title;
    std::map<Role, Steps> tensors;
  };

  Op& op_of(const ShownRecord& record);
  static void add(Op& op, const ShownRecord& record, const TensorNumbers& numbers);
  UseNumbers use_of(const ShownRecord& record) override;
  void print(const Op& op) const;

  std::vector<Op> ops_;  ///< in the order in which they ran first
  std::map<std::string, std::size_t> known_;
};

}  // namespace opdump::tool
