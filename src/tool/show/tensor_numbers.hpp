#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "src/tool/show/show_listing.hpp"

namespace opdump::tool {

/// What strips show of a tensor in one run of its operator: of the real values where a card tells them.
struct TensorNumbers {
  bool is_output = false;
  std::uint64_t index = 0;
  std::optional<double> min, max, mean;  ///< of the finite elements; nothing: there are none
  std::uint64_t nan = 0;
  std::uint64_t infinite = 0;

  std::optional<double> magnitude() const;
};

using UseNumbers = std::function<void(const TensorNumbers& numbers)>;

/// Gives each tensor of a record to `use` whose elements are numbers. False, with `error`, when not all could
/// be read.
bool tensor_numbers(const ShownRecord& record, RecordFile& file, const UseNumbers& use, std::string& error);

/// The same of statistics.
void tensor_numbers(const StatisticsRecord& statistics, const UseNumbers& use);

}  // namespace opdump::tool
