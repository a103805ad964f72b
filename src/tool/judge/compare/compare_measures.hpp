#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/judge/compare/comparison.hpp"

namespace opdump::tool {

/// One measure of how far two arrays are apart.
struct Measure {
  std::string_view name;                                   ///< the vendor's
  std::string_view short_name;                             ///< ours, for thresholds and tables
  double (*value)(const compare::Comparison& comparison);  ///< null: it is not a single number
  bool larger_is_better = false;
  bool needs_detail = false;  ///< Comparison::detail
};

/// A limit that a comparison must keep.
struct Threshold {
  const Measure* measure = nullptr;
  double limit = 0;
  bool usual = false;  ///< the user has not said otherwise

  /// Whether it is a limit of the error in units of the expected one, which may be not known.
  bool is_by_expected() const;
  bool is_of_statistics() const;

  /// NaN keeps no limit.
  bool kept_by(const compare::Comparison& comparison) const;
};

/// The vendor's ten, in its order. Source: msaccucmp.
std::span<const Measure> measures();

/// Whether one of them needs Comparison::detail.
bool needs_detail(std::span<const Measure* const> chosen, std::span<const Threshold> thresholds);

/// The cosine as the vendor would print it, of the numbers as they are.
std::string cosine_text(const compare::Comparison& comparison, bool scalar);

/// The vendor's value as it prints it: six decimals, "NaN" where the vendor refuses an answer, "nan" where a
/// sum is not a number.
std::string measure_text(const Measure& measure, const compare::Comparison& comparison, bool scalar);

/// The vendor's remark on the value; empty: there is none.
std::string measure_remark(const Measure& measure, const compare::Comparison& comparison, bool scalar);

/// The measures that a list names by number or name, with commas between, or "all". On false `error` says
/// which measure is unknown.
bool choose_measures(std::string_view list, std::vector<const Measure*>& chosen, std::string& error);

/// Reads "cosine=0.99,max_abs=1e-3", or the name of a set of limits that another tool uses: "cann",
/// "msprobe", "litert", "polygraphy", or "default". On false `error` says what is wrong.
bool read_thresholds(std::string_view text, std::vector<Threshold>& thresholds, std::string& error);

/// By what a tensor is judged: its elements, its error in units of the expected one, statistics alone, or the
/// difference of integers that stand for themselves.
enum class Evidence { elements, expected_error, statistics, integers };

/// What counts as a divergence unless the user says otherwise.
std::vector<Threshold> usual_thresholds(Evidence evidence = Evidence::elements);

}  // namespace opdump::tool
