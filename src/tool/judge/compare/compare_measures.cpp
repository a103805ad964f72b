#include "src/tool/judge/compare/compare_measures.hpp"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "src/tool/cli/decimal.hpp"

namespace opdump::tool {
namespace {

using compare::Comparison;

constexpr std::array<Measure, 10> kMeasures = {{
    {"CosineSimilarity", "cosine", [](const Comparison& c) { return c.cosine_similarity; }, true},
    {"MaxAbsoluteError", "max_abs", [](const Comparison& c) { return c.max_absolute_error; }},
    {"AccumulatedRelativeError", "sum_rel", [](const Comparison& c) { return c.accumulated_relative_error; }},
    {"RelativeEuclideanDistance", "euclid",
     [](const Comparison& c) { return c.relative_euclidean_distance; }},
    {"KullbackLeiblerDivergence", "kl", [](const Comparison& c) { return c.kullback_leibler_divergence; }},
    {"StandardDeviation", "std", nullptr},
    {"MeanAbsoluteError", "mean_abs", [](const Comparison& c) { return c.mean_absolute_error; }},
    {"RootMeanSquareError", "rmse", [](const Comparison& c) { return c.root_mean_square_error; }},
    {"MaxRelativeError", "max_rel", [](const Comparison& c) { return c.max_relative_error; }},
    {"MeanRelativeError", "mean_rel", [](const Comparison& c) { return c.mean_relative_error; }},
}};

constexpr std::string_view kByExpected = "by_expected";
constexpr std::string_view kStatistics = "statistics";

double decibels(double ratio) {
  return 20 * std::log10(ratio);
}

/// Of the golden values to the error, in dB.
double signal_to_noise(const Comparison& c) {
  if (c.equal == c.elements) return HUGE_VAL;
  return c.relative_euclidean_distance == 0 ? -HUGE_VAL : -decibels(c.relative_euclidean_distance);
}

double peak_to_noise(const Comparison& c) {
  if (c.equal == c.elements) return HUGE_VAL;
  return decibels(c.detail->golden_peak / c.root_mean_square_error);
}

/// The correlation of both sides, which a scale and an offset do not change.
double pearson(const Comparison& c) {
  if (c.equal == c.elements) return 1;
  const double x_offset = c.x_mean / c.x_deviation;
  const double y_offset = c.y_mean / c.y_deviation;
  const double lengths = std::hypot(1.0, x_offset) * std::hypot(1.0, y_offset);
  return std::clamp(c.cosine_similarity * lengths - x_offset * y_offset, -1.0, 1.0);
}

/// The error in units of the one that is to be expected.
double by_expected(const Comparison& c) {
  if (c.equal == c.elements) return 0;
  return c.expected_error ? c.root_mean_square_error / *c.expected_error : NAN;
}

/// What the vendor's tool does not have.
constexpr std::array<Measure, 11> kMoreMeasures = {{
    {"SignalToNoiseRatio", "snr", signal_to_noise, true},
    {"PeakSignalToNoiseRatio", "psnr", peak_to_noise, true, true},
    {"PearsonCorrelation", "pearson", pearson, true},
    {"WithinOneThousandth", "within_0.001", [](const Comparison& c) { return c.detail->within_thousandth; },
     true, true},
    {"WithinFiveThousandths", "within_0.005",
     [](const Comparison& c) { return c.detail->within_five_thousandths; }, true, true},
    {"AbsoluteErrorQuantile99", "q99_abs", [](const Comparison& c) { return c.detail->absolute_quantile; },
     false, true},
    {"RelativeErrorQuantile99", "q99_rel", [](const Comparison& c) { return c.detail->relative_quantile; },
     false, true},
    {"NotClose", "not_close", [](const Comparison& c) { return static_cast<double>(c.detail->not_close); },
     false, true},
    {"ErrorByExpectedError", kByExpected, by_expected},
    {"StatisticsDistance", kStatistics, [](const Comparison& c) { return c.summary_distance.value_or(NAN); }},
    {"NonFiniteMismatch", "unlike", [](const Comparison& c) { return static_cast<double>(c.detail->unlike); },
     false, true},
}};

/// Limits that other tools have. Source: their documents; msprobe's are those of its code.
struct LimitSet {
  std::string_view name;
  std::string_view limits;
};
constexpr LimitSet kLimitSets[] = {
    {"default", "cosine=0.99,euclid=0.05"},
    {"cann", "cosine=0.99,euclid=0.05,kl=0.005,rmse=1,mean_rel=1"},
    {"msprobe", "cosine=0.9,within_0.001=0.1,unlike=0"},
    {"litert", "max_abs=0.005,rmse=0.00316227766,cosine=0.99,snr=30,psnr=35"},
    {"polygraphy", "not_close=0"},
};

/// Whether `name` is that of a set of limits.
bool is_limit_set(std::string_view name) {
  return std::any_of(std::begin(kLimitSets), std::end(kLimitSets),
                     [name](const LimitSet& set) { return name == set.name; });
}

enum : std::size_t { kCosine = 0, kMaxAbsolute = 1, kDivergence = 4, kDeviation = 5, kMaxRelative = 8 };

bool is(const Measure& measure, std::size_t which) {
  return &measure == &kMeasures[which];
}

template <class... Arguments>
std::string printed(const char* format, Arguments... arguments) {
  char text[1500];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

std::string number(double value, const char* format) {
  return std::isnan(value) ? "nan" : printed(format, value);
}

/// Deviations and means below a thousandth print as zero.
std::string deviation_number(double value) {
  return number(std::fabs(value) < 0.001 ? 0.0 : value, "%.3f");
}

/// What the vendor has to say.
Comparison as_vendor(const Comparison& comparison) {
  Comparison vendor = comparison;
  if (comparison.vendor) static_cast<compare::Measures&>(vendor) = *comparison.vendor;
  return vendor;
}

/// Whether the vendor refuses an answer.
bool refused(const Measure& measure, const Comparison& c) {
  if (is(measure, kCosine)) return c.x_is_zero || c.y_is_zero;
  return c.elements == 0 &&
         (is(measure, kMaxAbsolute) || is(measure, kDivergence) || is(measure, kMaxRelative));
}

std::string_view next_item(std::string_view& list) {
  const std::size_t comma = list.find(',');
  const std::string_view item = list.substr(0, comma);
  list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  return item;
}

const Measure* find_measure(std::string_view name) {
  for (const Measure& measure : kMeasures) {
    if (measure.name == name || measure.short_name == name) return &measure;
  }
  for (const Measure& measure : kMoreMeasures) {
    if (measure.name == name || measure.short_name == name) return &measure;
  }
  const std::optional<std::uint64_t> index = parse_decimal(name);
  return index && *index < kMeasures.size() ? &kMeasures[static_cast<std::size_t>(*index)] : nullptr;
}

std::string known_measures() {
  std::string names;
  const auto add = [&names](std::span<const Measure> measures) {
    for (const Measure& measure : measures)
      names.append(names.empty() ? "" : ", ").append(measure.short_name);
  };
  add(kMeasures);
  add(kMoreMeasures);
  return names;
}

}  // namespace

std::span<const Measure> measures() {
  return kMeasures;
}

bool needs_detail(std::span<const Measure* const> chosen, std::span<const Threshold> thresholds) {
  return std::any_of(chosen.begin(), chosen.end(),
                     [](const Measure* measure) { return measure->needs_detail; }) ||
         std::any_of(thresholds.begin(), thresholds.end(),
                     [](const Threshold& threshold) { return threshold.measure->needs_detail; });
}

std::string cosine_text(const Comparison& comparison, bool scalar) {
  Comparison ours = comparison;
  ours.vendor.reset();
  return measure_text(kMeasures[kCosine], ours, scalar);
}

std::string measure_text(const Measure& measure, const Comparison& told, bool scalar) {
  const Comparison comparison = as_vendor(told);
  if (is(measure, kCosine) && scalar) return "1.000000";
  if (refused(measure, comparison)) return "NaN";
  if (is(measure, kDeviation)) {
    return "(" + deviation_number(comparison.x_mean) + ";" + deviation_number(comparison.x_deviation) +
           "),(" + deviation_number(comparison.y_mean) + ";" + deviation_number(comparison.y_deviation) + ")";
  }
  return number(measure.value(comparison), "%.6f");
}

std::string measure_remark(const Measure& measure, const Comparison& told, bool scalar) {
  const Comparison comparison = as_vendor(told);
  if (is(measure, kCosine) && scalar) return "This tensor is scalar.";
  if (!refused(measure, comparison)) return {};
  if (!is(measure, kCosine)) return std::string(measure.name) + ": the tensors are empty.";
  return "Cannot compare by Cosine Similarity. All the data is zero in " +
         std::string(comparison.x_is_zero ? "my dump." : "the golden dump.");
}

bool choose_measures(std::string_view list, std::vector<const Measure*>& chosen, std::string& error) {
  chosen.clear();
  if (list == "all") {
    for (const Measure& measure : kMeasures) chosen.push_back(&measure);
    return true;
  }
  do {
    const std::string_view name = next_item(list);
    const Measure* measure = find_measure(name);
    if (measure == nullptr) {
      error = "there is no measure '" + std::string(name) + "': name one by its number, 0 to 9, as " +
              known_measures() + ", or 'all'";
      return false;
    }
    if (std::find(chosen.begin(), chosen.end(), measure) == chosen.end()) chosen.push_back(measure);
  } while (!list.empty());
  return true;
}

bool Threshold::is_by_expected() const {
  return measure->short_name == kByExpected;
}

bool Threshold::is_of_statistics() const {
  return measure->short_name == kStatistics;
}

bool Threshold::kept_by(const Comparison& comparison) const {
  const double value = measure->value(comparison);
  return measure->larger_is_better ? value >= limit : value <= limit;
}

bool read_thresholds(std::string_view text, std::vector<Threshold>& thresholds, std::string& error) {
  for (const LimitSet& set : kLimitSets) {
    if (text == set.name) text = set.limits;
  }
  do {
    const std::string item(next_item(text));
    if (is_limit_set(item)) {
      error = "'" + item + "' is a set of limits, which stands alone";
      return false;
    }
    const std::size_t equals = item.find('=');
    const Measure* measure = find_measure(std::string_view(item).substr(0, equals));
    if (equals == std::string::npos || measure == nullptr || measure->value == nullptr) {
      error = "'" + item + "' is no limit: write MEASURE=NUMBER, MEASURE being one of " + known_measures() +
              " but for std; or, alone, one of default, cann, msprobe, litert and polygraphy";
      return false;
    }
    char* end = nullptr;
    const std::string number_part = item.substr(equals + 1);
    const double limit = strtod(number_part.c_str(), &end);
    if (number_part.empty() || *end != '\0' || !std::isfinite(limit)) {
      error = "'" + number_part + "' in '" + item + "' is no number";
      return false;
    }
    thresholds.push_back({measure, limit});
  } while (!text.empty());
  return true;
}

std::vector<Threshold> usual_thresholds(Evidence evidence) {
  constexpr std::string_view kLimits[] = {"default", "by_expected=4", "statistics=0.05", "max_abs=0"};
  std::vector<Threshold> thresholds;
  std::string error;
  static_cast<void>(read_thresholds(kLimits[static_cast<std::size_t>(evidence)], thresholds, error));
  for (Threshold& threshold : thresholds) threshold.usual = true;
  return thresholds;
}

}  // namespace opdump::tool
