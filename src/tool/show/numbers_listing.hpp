#pragma once
#include <string>

#include "src/tool/show/show_listing.hpp"
#include "src/tool/show/strip.hpp"
#include "src/tool/show/tensor_numbers.hpp"

namespace opdump::tool {

/// Shows records by the numbers of their tensors alone, and counts them.
class NumbersListing {
 public:
  bool show(const ShownRecord& record, RecordFile& file, std::string& error);
  void show(const ShownRecord& record, const StatisticsRecord& statistics);
  const ShownSums& sums() const { return sums_; }

 protected:
  ~NumbersListing() = default;

  /// What takes the numbers of each tensor of the record.
  virtual UseNumbers use_of(const ShownRecord& record) = 0;

  const StripStyle style_ = strip_style();

 private:
  UseNumbers count(const ShownRecord& record);

  ShownSums sums_;
};

}  // namespace opdump::tool
