#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "src/tool/cli/progress.hpp"
#include "src/tool/page/page_columns.hpp"
#include "src/tool/page/page_data.hpp"

namespace opdump::tool {

/// Which tensors a page of some detail holds, in its order.
class PageTensors {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// Adds a step to `progress` for each run.
  PageTensors(const ReportFacts& facts, PageDetail detail, Progress& progress);

  const std::vector<std::size_t>& all() const { return chosen_; }

  /// The place of a tensor of mine that is flagged; kNone: it is left out.
  std::uint32_t row(std::size_t tensor) const;

  bool is_flagged(std::size_t tensor) const { return rows_.contains(tensor); }
  bool has_histogram(std::size_t tensor) const;

 private:
  const ReportFacts& facts_;
  const PageDetail detail_;
  std::vector<std::size_t> chosen_;
  std::map<std::size_t, std::uint32_t> rows_;  ///< of those that are flagged
};

/// The members "tensors", "dtypes", "formats", "paired_by" and "farthest" of the page's object. Asks
/// `goes_on` before each tensor.
void write_tensor_columns(PageWriter& json, PageTexts& texts, const ReportFacts& facts,
                          const PageTensors& tensors, const std::function<bool()>& goes_on);

/// The members "hist", "golden_hist" and, with `pictures`, "pictures".
void write_picture_columns(PageWriter& json, const ReportFacts& facts, const PageTensors& tensors,
                           bool pictures);

}  // namespace opdump::tool
