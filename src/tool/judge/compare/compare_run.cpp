#include "src/tool/judge/compare/compare_run.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "opdump/impl/stats/non_finite.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/ordered_work.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/compare_order.hpp"
#include "src/tool/judge/compare/open_pair.hpp"
#include "src/tool/read/dump/real_numbers.hpp"
#include "src/tool/read/dump/statistics_file.hpp"

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
  return (is_narrow_integer(integers.dtype) || integers.dtype == DType::int32) && integers.quant == nullptr &&
         (can_be_non_finite(reals.dtype) || reals.quant != nullptr);
}

bool stand_for_alike(const Quantisation* a, const Quantisation* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->scheme == b->scheme && a->scales == b->scales && a->zero_points == b->zero_points &&
         a->exponents == b->exponents && a->table == b->table;
}

/// What statistics of integers are of the numbers that they stand for; nothing where those of all have no one scale.
std::optional<TensorSummary> real_summary(const DumpTensor& tensor, TensorSummary summary) {
  const Quantisation* const quant = tensor.quant;
  if (quant == nullptr) return summary;
  if (!is_uniform(*quant) || quant->scheme == QuantScheme::lut) return std::nullopt;
  const RealNumbers reals(*quant, tensor.dtype, {});
  for (std::optional<double>* const number : {&summary.max, &summary.min, &summary.mean}) {
    if (*number) *number = reals.real(**number, 0);
  }
  summary.l2_norm.reset();
  for (std::string* const digest : {&summary.md5, &summary.sha1, &summary.crc32}) digest->clear();
  return summary;
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
  PairOrder order_of(const DumpTensor& x, const DumpTensor& y) const;
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

/// Whether the statistics of two tensors can be of the same elements. Dims of 1 do not matter, nor where the formats
/// that 4 of them are in have the channels.
bool may_be_alike(const DumpTensor& x, const DumpTensor& y) {
  const auto dims_of = [](std::vector<Dim> dims) {
    if (dims.size() == 4) std::sort(dims.begin(), dims.end());
    std::erase(dims, Dim{1});
    return dims;
  };
  const auto is_like = [&](const std::vector<Dim>& a, const std::vector<Dim>& b) {
    return dims_of(a) == dims_of(b);
  };
  return !x.has_shape || !y.has_shape || is_like(x.shape, y.shape) ||
         (x.summary && is_like(x.shape, y.layout.original_shape)) ||
         (y.summary && is_like(x.layout.original_shape, y.shape));
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
  if (!may_be_alike(x, y)) {
    result.problem = "the shapes differ: mine " + shape_text(x.shape) + ", golden " + shape_text(y.shape);
    return;
  }
  std::optional<TensorSummary> ours = x.summary ? *x.summary : summary_of(mine, x, y.summary->dialect);
  std::optional<TensorSummary> theirs = y.summary ? *y.summary : summary_of(golden, y, x.summary->dialect);
  if (!ours || !theirs) {
    const DumpTensor& lacking = ours ? y : x;
    result.problem = lacking.problem.empty() ? "the files cannot be read any more" : lacking.problem;
    return;
  }
  result.unscaled = lacks_scale(x, y) || lacks_scale(y, x);
  if (!result.unscaled && !stand_for_alike(x.quant, y.quant)) {
    const std::optional<TensorSummary> my_reals = real_summary(x, *ours), reals = real_summary(y, *theirs);
    result.unscaled = !my_reals || !reals;
    if (!result.unscaled) ours = my_reals, theirs = reals;
  }
  const std::optional<SummaryDistance> summaries = summary_distance(*ours, *theirs);
  if (!summaries && kept.empty() && is_empty(x.shape) && is_empty(y.shape)) {
    SummaryDistance none;
    none.same_digest = true;
    add_remark("no elements", result);
    result.shape = x.shape;
    result.comparison = only_summaries(0, none);
    return;
  }
  if (!summaries) {
    result.problem = "the statistics of both sides have no number in common";
    if (!kept.empty()) result.problem += ": " + kept_words(kept);
    return;
  }
  if (!summaries->lone.empty()) {
    result.problem = "the statistics of one side alone have a number of " + summaries->lone;
    return;
  }
  result.remark = result.pair.remark;
  add_remark(summaries->same_digest ? "by the digest" : "by statistics alone", result);
  if (result.unscaled) add_remark("integers against real numbers, and no one scale is known", result);
  if (!summaries->told.empty()) add_remark(summaries->told, result);
  if (!kept.empty()) add_remark(kept_words(kept), result);
  result.shape = x.shape;
  result.comparison = only_summaries(x.elements, *summaries);
}

/// A tensor whose file does not tell its shape is of that of the other, where it has as many elements.
PairOrder CompareTask::order_of(const DumpTensor& x, const DumpTensor& y) const {
  if (x.has_shape == y.has_shape || x.elements != y.elements) return order_pair(x, y, usual);
  DumpTensor shaped = x.has_shape ? y : x;
  shaped.shape = x.has_shape ? x.shape : y.shape;
  return x.has_shape ? order_pair(x, shaped, usual) : order_pair(shaped, y, usual);
}

void CompareTask::compare_pair(unsigned threads, PairResult& result) const {
  const DumpTensor& x = mine.tensors[*result.pair.mine];
  const DumpTensor& y = golden.tensors[*result.pair.golden];
  if (x.summary || y.summary) return compare_summaries(result);
  PairOrder order = order_of(x, y);
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
  if (y.by_other_card) add_remark("golden's integers are taken by mine's card", result);
  if (x.by_other_card) add_remark("mine's integers are taken by golden's card", result);
  const compare::Closer closer = detail ? compare::Closer::always : compare::Closer::where_not_finite;
  result.comparison = compare::compare(pair.mine(), pair.golden(), order.elements, threads, closer);
  if (const std::uint64_t alike =
          result.comparison && result.comparison->detail ? result.comparison->detail->alike : 0;
      alike != 0)
    add_remark(count_text(alike, "element") + " left out, NaN or the same infinity on both sides", result);
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
  } else if (const std::optional<std::size_t> other_tensor =
                 expected.side == nullptr ? std::nullopt : expected.tensors[*result.pair.golden]) {
    const DumpTensor& x = expected.side->tensors[*other_tensor];
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

bool is_large(const DumpTensor& mine) {
  return mine.elements > 2 * compare::kThreadElements;
}

/// Compares the pairs of small tensors, then those of large ones.
class PairsCompared {
 public:
  PairsCompared(const DumpSide& mine, const DumpSide& golden, const TensorPairs& pairs, bool detail,
                const ExpectedErrors& expected)
      : pairs_(pairs),
        workers_(usable_workers()),
        task_{.mine = mine,
              .golden = golden,
              .expected = expected,
              .usual = usual_formats(mine, golden, pairs),
              .detail = detail} {}

  PairResults run() {
    std::uint64_t total = 0;
    results_.reserve(pairs_.size());
    std::vector<std::size_t> small, large;
    for (const TensorPair& pair : pairs_) {
      const bool both = pair.mine && pair.golden;
      if (both) total += bytes_of(pair);
      (both && is_large(task_.mine.tensors[*pair.mine]) ? large : small).push_back(results_.size());
      results_.push_back(result_of(pair));
    }
    Progress progress(total);
    const auto compare = [&](std::size_t number, unsigned threads) {
      PairResult& result = results_[number];
      if (interrupted() || !result.pair.mine || !result.pair.golden) return;
      task_.compare_pair(threads, result);
      progress.add(bytes_of(result.pair));
    };
    run_in_order({.count = small.size(),
                  .work = [&](std::size_t item, std::size_t) { compare(small[item], 1); },
                  .deliver = [](std::size_t) {}},
                 workers_);
    for (const std::size_t number : large) compare(number, static_cast<unsigned>(workers_));
    return std::move(results_);
  }

 private:
  PairResult result_of(const TensorPair& pair) const {
    PairResult result;
    result.pair = pair;
    if (!pair.golden) {
      result.problem = missing_partner(task_.mine, *pair.mine, "in the golden dump");
    } else if (!pair.mine) {
      result.problem = missing_partner(task_.golden, *pair.golden, "in my dump");
    }
    return result;
  }

  std::uint64_t bytes_of(const TensorPair& pair) const {
    return task_.mine.tensors[*pair.mine].data_bytes + task_.golden.tensors[*pair.golden].data_bytes;
  }

  const TensorPairs& pairs_;
  const std::size_t workers_;
  const CompareTask task_;
  PairResults results_;
};

}  // namespace

PairResults compare_pairs(const DumpSide& mine, const DumpSide& golden, const TensorPairs& pairs, bool detail,
                          const ExpectedErrors& expected) {
  return PairsCompared(mine, golden, pairs, detail, expected).run();
}

}  // namespace opdump::tool
