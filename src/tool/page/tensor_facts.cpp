#include "src/tool/page/tensor_facts.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "src/tool/judge/compare/open_pair.hpp"
#include "src/tool/read/dump/elements.hpp"
#include "src/tool/read/dump/statistics_file.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kFactElements = 4096;

/// The numbers of one tensor, as stored and as what they stand for.
class FactNumbers {
 public:
  bool open(const DumpSide& side, const DumpTensor& tensor) {
    if (!stored_.open(side, tensor, std::nullopt)) return false;
    tensor_ = &tensor;
    if (tensor.quant == nullptr) return true;
    real_.emplace(stored_, *tensor.quant, tensor.dtype, Shape(tensor.shape));
    if (!real_->fits()) real_.reset();
    if (tensor.quant->scheme != QuantScheme::block)
      limits_.emplace(*tensor.quant, tensor.dtype, Shape(tensor.shape));
    return true;
  }

  std::string error() {
    return stored_.failed() || !stored_.error().empty() ? stored_.error()
                                                        : "the file cannot be read any more";
  }

  bool has_limits() const { return limits_ && limits_->has_limits(); }

  /// Calls `use(numbers)` for all elements in order. False when they cannot be read.
  template <class Use>
  bool for_each(Use use) const {
    alignas(16) std::byte room[kFactElements * 16];
    double numbers[kFactElements];
    for (std::uint64_t done = 0; done < tensor_->elements; done += kFactElements) {
      const auto now =
          static_cast<std::size_t>(std::min<std::uint64_t>(kFactElements, tensor_->elements - done));
      if (!read(done, now, room, numbers)) return false;
      use(std::span<const double>(numbers, now));
    }
    return true;
  }

  /// How many elements are at the ends of their integers.
  bool count_limits(std::uint64_t& count) const {
    alignas(16) std::byte room[kFactElements * 16];
    double numbers[kFactElements];
    for (std::uint64_t done = 0; done < tensor_->elements; done += kFactElements) {
      const auto now =
          static_cast<std::size_t>(std::min<std::uint64_t>(kFactElements, tensor_->elements - done));
      if (!read_stored(done, now, room, numbers)) return false;
      for (std::size_t i = 0; i < now; ++i)
        count += limits_->is_least(numbers[i]) || limits_->is_most(numbers[i]) ? 1 : 0;
    }
    return true;
  }

 private:
  bool read(std::uint64_t first, std::size_t count, std::byte* room, double* numbers) const {
    if (!real_) return read_stored(first, count, room, numbers);
    const std::size_t bytes = info(real_->dtype()).bits / 8;
    const std::byte* const from = real_->read(first * bytes, count * bytes, room);
    if (from == nullptr) return false;
    element_reader(real_->dtype())(from, count, numbers);
    return true;
  }

  bool read_stored(std::uint64_t first, std::size_t count, std::byte* room, double* numbers) const {
    const std::uint64_t bits = info(tensor_->dtype).bits;
    const std::byte* const from =
        stored_.read(first * bits / 8, static_cast<std::size_t>((count * bits + 7) / 8), room);
    if (from == nullptr) return false;
    element_reader(tensor_->dtype)(from, count, numbers);
    return true;
  }

  const DumpTensor* tensor_ = nullptr;
  CompareElements stored_;
  std::optional<DequantisedElements> real_;
  std::optional<RealNumbers> limits_;
};

/// Where outliers leave most of the numbers to a few bins, equal steps say nothing.
bool has_outliers(const TensorFacts& facts) {
  constexpr double kMany = 20;
  return facts.deviation > 0 && facts.peak() > kMany * facts.deviation;
}

TensorFacts facts_of(const TensorSummary& summary) {
  TensorFacts facts;
  facts.known = true;
  facts.min = summary.min.value_or(TensorFacts::kUnknown);
  facts.max = summary.max.value_or(TensorFacts::kUnknown);
  facts.mean = summary.mean.value_or(TensorFacts::kUnknown);
  facts.norm = summary.l2_norm.value_or(TensorFacts::kUnknown);
  facts.nan = summary.nans.value_or(0);
  facts.infinite = summary.negative_infinities.value_or(0) + summary.positive_infinities.value_or(0);
  return facts;
}

/// The second look, at what lies between the ends.
class Spread {
 public:
  explicit Spread(TensorFacts& facts) : facts_(facts), is_log_(has_outliers(facts)) {
    scale_ = log_scale(facts.deviation);
    least_ = place(facts.min);
    width_ = place(facts.max) - least_;
  }

  void add(std::span<const double> numbers) {
    for (const double number : numbers) {
      if (!std::isfinite(number)) continue;
      const double share = width_ > 0 && std::isfinite(width_) ? (place(number) - least_) / width_ : 0;
      const auto bin = static_cast<std::size_t>(std::max(0.0, share) * static_cast<double>(Bins::kBins));
      ++counts_[std::min(bin, Bins::kBins - 1)];
    }
  }

  void finish() {
    facts_.has_bins = true;
    facts_.bins.is_log = is_log_;
    pack_counts(counts_, facts_.bins.counts);
  }

 private:
  double place(double number) const { return is_log_ ? std::asinh(number / scale_) : number; }

  TensorFacts& facts_;
  const bool is_log_;
  double scale_ = 1;
  double least_ = 0;
  double width_ = 0;
  std::array<std::uint64_t, Bins::kBins> counts_{};
};

}  // namespace

double TensorFacts::peak() const {
  return std::isnan(min) || std::isnan(max) ? kUnknown : std::max(std::fabs(min), std::fabs(max));
}

double log_scale(double deviation) {
  constexpr double kLinear = 0.01;  // of the deviation
  return deviation > 0 ? deviation * kLinear : 1;
}

void pack_counts(std::span<const std::uint64_t> counts, std::span<std::uint8_t> packed) {
  constexpr double kMost = 255;
  const double fullest = std::log1p(
      static_cast<double>(std::max<std::uint64_t>(1, *std::max_element(counts.begin(), counts.end()))));
  for (std::size_t i = 0; i < counts.size(); ++i)
    packed[i] =
        static_cast<std::uint8_t>(std::ceil(std::log1p(static_cast<double>(counts[i])) / fullest * kMost));
}

TensorFacts read_facts(const DumpSide& side, const DumpTensor& tensor) {
  if (tensor.summary) return facts_of(*tensor.summary);
  TensorFacts facts;
  facts.problem = tensor.problem;
  if (!facts.problem.empty()) return facts;
  FactNumbers numbers;
  if (!numbers.open(side, tensor)) {
    facts.problem = numbers.error();
    return facts;
  }
  Statistics statistics;
  double squares = 0;
  bool read = numbers.for_each([&](std::span<const double> piece) {
    statistics.add(piece);
    for (const double number : piece) {
      facts.zeros += number == 0 ? 1 : 0;
      squares += std::isfinite(number) ? number * number : 0;
    }
  });
  facts.nan = statistics.nan();
  facts.infinite = statistics.infinite();
  if (read && statistics.finite() != 0) {
    facts.min = statistics.min();
    facts.max = statistics.max();
    facts.mean = statistics.mean();
    facts.norm = std::sqrt(squares);
    double apart = 0;
    read = numbers.for_each([&](std::span<const double> piece) {
      for (const double number : piece)
        apart += std::isfinite(number) ? (number - facts.mean) * (number - facts.mean) : 0;
    });
    facts.deviation = std::sqrt(apart / static_cast<double>(statistics.finite()));
    Spread spread(facts);
    read = read && numbers.for_each([&](std::span<const double> piece) { spread.add(piece); });
    spread.finish();
  }
  if (read && numbers.has_limits() && tensor.elements != 0) {
    std::uint64_t limits = 0;
    read = numbers.count_limits(limits);
    facts.saturated = static_cast<double>(limits) / static_cast<double>(tensor.elements);
  }
  if (!read) {
    facts = {};
    facts.problem = numbers.error();
    return facts;
  }
  facts.known = true;
  return facts;
}

}  // namespace opdump::tool
