#include "src/tool/compare/compare_run.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "opdump/impl/stats/non_finite.hpp"
#include "src/tool/cli/interrupt.hpp"
#include "src/tool/cli/ordered_work.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/compare/compare_order.hpp"
#include "src/tool/compare/open_pair.hpp"
#include "src/tool/compare/rounded_elements.hpp"
#include "src/tool/dump/statistics_file.hpp"

namespace opdump::tool {
namespace {

void add_remark(const std::string& remark, PairResult& result) {
  if (!remark.empty()) result.remark += (result.remark.empty() ? "" : "; ") + remark;
}

bool is_narrow_integer(DType dtype) {
  return dtype == DType::int8 || dtype == DType::uint8 || dtype == DType::int16 || dtype == DType::uint16;
}

/// Whether integers meet real numbers, and no card says what they stand for.
bool lacks_scale(const DumpTensor& integers, const DumpTensor& reals) {
  return is_narrow_integer(integers.dtype) && integers.quant == nullptr && can_be_non_finite(reals.dtype);
}

std::string missing_partner(const DumpSide& side, std::size_t tensor, const char* where) {
  const DumpTensor& lonely = side.tensors[tensor];
  return "there is no " + std::string(lonely.is_output ? "output " : "input ") +
         std::to_string(lonely.index) + " of operator '" + side.files[lonely.file].op + "' " + where;
}

/// What all pairs have in common.
struct CompareTask {
  const DumpSide& mine;
  const DumpSide& golden;
  const ExpectedErrors& expected;
  std::optional<AssumedFormats> usual;
  bool detail = false;

  void compare_pair(unsigned threads, PairResult& result) const;

 private:
  void compare_summaries(PairResult& result) const;
  std::optional<double> expected_error(const PairResult& result, const OpenPair& pair,
                                       unsigned threads) const;
};

compare::Comparison only_summaries(std::uint64_t elements, const SummaryDistance& summaries) {
  using compare::Comparison;
  Comparison whole;
  for (double Comparison::*const measure :
       {&Comparison::cosine_similarity, &Comparison::max_absolute_error,
        &Comparison::accumulated_relative_error, &Comparison::relative_euclidean_distance,
        &Comparison::kullback_leibler_divergence, &Comparison::x_mean, &Comparison::x_deviation,
        &Comparison::y_mean, &Comparison::y_deviation, &Comparison::mean_absolute_error,
        &Comparison::root_mean_square_error, &Comparison::max_relative_error,
        &Comparison::mean_relative_error})
    whole.*measure = NAN;
  compare::PairDetail& detail = whole.detail.emplace();
  for (double compare::PairDetail::*const measure :
       {&compare::PairDetail::within_thousandth, &compare::PairDetail::within_five_thousandths,
        &compare::PairDetail::absolute_quantile, &compare::PairDetail::relative_quantile,
        &compare::PairDetail::golden_peak})
    detail.*measure = NAN;
  whole.elements = elements;
  whole.equal = summaries.same_digest ? elements : 0;
  whole.summary_distance = summaries.distance;
  return whole;
}

/// Whether what the config's privacy has kept is of some elements only.
bool is_cut(const std::string& kept) {
  return kept.find(' ') != kept.npos;
}

/// By their statistics, of tensors of which one side has nothing else.
void CompareTask::compare_summaries(PairResult& result) const {
  const DumpTensor& x = mine.tensors[*result.pair.mine];
  const DumpTensor& y = golden.tensors[*result.pair.golden];
  const std::string& kept = x.kept.empty() ? y.kept : x.kept;
  if (x.kept != y.kept && (is_cut(x.kept) || is_cut(y.kept))) {
    result.problem =
        kept_words(is_cut(x.kept) ? x.kept : y.kept) + ", and the other side is of other elements";
    return;
  }
  const std::optional<TensorSummary> ours = x.summary ? x.summary : summary_of(mine, x);
  const std::optional<TensorSummary> theirs = y.summary ? y.summary : summary_of(golden, y);
  if (!ours || !theirs) {
    const DumpTensor& lacking = ours ? y : x;
    result.problem = lacking.problem.empty() ? "the files cannot be read any more" : lacking.problem;
    return;
  }
  const std::optional<SummaryDistance> summaries = summary_distance(*ours, *theirs);
  if (!summaries) {
    result.problem = "the statistics of both sides have no number in common";
    if (!kept.empty()) result.problem += ": " + kept_words(kept);
    return;
  }
  result.remark = result.pair.remark;
  add_remark(summaries->same_digest ? "by the digest" : "by statistics alone", result);
  if (!summaries->told.empty()) add_remark(summaries->told, result);
  if (!kept.empty()) add_remark(kept_words(kept), result);
  result.shape = x.shape;
  result.comparison = only_summaries(x.elements, *summaries);
}

void CompareTask::compare_pair(unsigned threads, PairResult& result) const {
  const DumpTensor& x = mine.tensors[*result.pair.mine];
  const DumpTensor& y = golden.tensors[*result.pair.golden];
  if (x.summary || y.summary) return compare_summaries(result);
  PairOrder order = order_pair(x, y, usual);
  result.problem = std::move(order.problem);
  if (!result.problem.empty()) return;
  result.remark = result.pair.remark;
  add_remark(order.remark, result);
  result.shape = order.mine.shape;
  OpenPair pair;
  const bool opened = pair.open(mine, x, golden, y, order);
  add_remark(pair.remark(), result);
  result.problem = pair.problem();
  if (!opened) return;
  result.unscaled = lacks_scale(x, y) || lacks_scale(y, x);
  if (result.unscaled) add_remark("integers against real numbers, and no scale is known", result);
  const compare::Closer closer = detail ? compare::Closer::always : compare::Closer::where_not_finite;
  result.comparison = compare::compare(pair.mine(), pair.golden(), order.elements, threads, closer);
  if (result.comparison) result.comparison->expected_error = expected_error(result, pair, threads);
  if (pair.failed()) {
    result.problem = pair.problem();
    result.comparison.reset();
  }
  if (!result.comparison && result.problem.empty()) result.problem = "the files cannot be read any more";
}

/// Nothing where no error is to be expected, or nobody knows.
std::optional<double> CompareTask::expected_error(const PairResult& result, const OpenPair& pair,
                                                  unsigned threads) const {
  std::optional<compare::Comparison> comparison;
  if (expected.rounded) {
    const auto compare_rounded = [&](const auto& rounding) {
      const RoundedElements rounded(pair.golden(), rounding);
      comparison = compare::compare(array_of(rounded, DType::float32), pair.golden(),
                                    result.comparison->elements, threads);
    };
    const DumpTensor& x = mine.tensors[*result.pair.mine];
    if (pair.mine_is_real()) {
      const RealNumbers reals(*x.quant, x.dtype, is_uniform(*x.quant) ? Shape{} : Shape(result.shape));
      if (reals.rounds()) compare_rounded(reals);
    } else if (const std::optional<FloatRounding> rounding = rounding_of(x.dtype)) {
      compare_rounded(*rounding);
    }
  } else if (expected.side != nullptr && expected.tensors[*result.pair.golden]) {
    const DumpTensor& x = expected.side->tensors[*expected.tensors[*result.pair.golden]];
    const DumpTensor& y = golden.tensors[*result.pair.golden];
    const PairOrder order = order_pair(x, y, usual);
    OpenPair other;
    if (x.summary || !order.problem.empty() || !other.open(*expected.side, x, golden, y, order))
      return std::nullopt;
    comparison = compare::compare(other.mine(), other.golden(), order.elements, threads);
    if (other.failed()) return std::nullopt;
  }
  if (!comparison || !(comparison->root_mean_square_error > 0)) return std::nullopt;
  return comparison->root_mean_square_error;
}

}  // namespace

std::vector<PairResult> compare_pairs(const DumpSide& mine, const DumpSide& golden,
                                      const std::vector<TensorPair>& pairs, bool detail,
                                      const ExpectedErrors& expected) {
  std::vector<PairResult> results(pairs.size());
  std::vector<std::size_t> small, large;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    PairResult& result = results[i];
    result.pair = pairs[i];
    if (!result.pair.golden) {
      result.problem = missing_partner(mine, *result.pair.mine, "in the golden dump");
    } else if (!result.pair.mine) {
      result.problem = missing_partner(golden, *result.pair.golden, "in my dump");
    } else {
      const DumpTensor& x = mine.tensors[*result.pair.mine];
      const DumpTensor& y = golden.tensors[*result.pair.golden];
      total += x.data_bytes + y.data_bytes;
      (x.elements > 2 * compare::kThreadElements ? large : small).push_back(i);
    }
  }
  const CompareTask task = {.mine = mine,
                            .golden = golden,
                            .expected = expected,
                            .usual = usual_formats(mine, golden, pairs),
                            .detail = detail};
  Progress progress(total);
  const std::size_t workers = usable_workers();
  const auto run = [&](std::size_t i, unsigned threads) {
    if (interrupted()) return;
    task.compare_pair(threads, results[i]);
    progress.add(mine.tensors[*results[i].pair.mine].data_bytes +
                 golden.tensors[*results[i].pair.golden].data_bytes);
  };
  run_in_order({.count = small.size(),
                .work = [&](std::size_t item, std::size_t) { run(small[item], 1); },
                .deliver = [](std::size_t) {}},
               workers);
  for (const std::size_t i : large) run(i, static_cast<unsigned>(workers));
  return results;
}

}  // namespace opdump::tool
