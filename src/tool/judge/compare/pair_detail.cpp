#include "src/tool/judge/compare/pair_detail.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace opdump::compare {
namespace {

constexpr double kQuantile = 0.99;

/// Of pairs that the kernels and the exact numbers look at in turns, so that they lie in the nearest cache.
constexpr std::size_t kPiece = 1024;

/// From a quarter on, differences may be rounded before they are divided, and so may quotients be twice that
/// are not normal. There nothing is counted, and more is open.
CloseLimits limits_of(const DetailSample::Places& places) {
  constexpr std::uint32_t kSlack = 16;  // units of the last place
  CloseLimits limits = {.absolute_at = Magnitudes::start_of(places.absolute),
                        .absolute_above = Magnitudes::start_of(places.absolute + 1),
                        .relative_at = Magnitudes::start_of(places.relative),
                        .relative_above = Magnitudes::start_of(places.relative + 1)};
  const auto less = [](float limit) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(limit) - kSlack);
  };
  if (places.relative == 0) {
    limits.relative_above = less(limits.relative_above);
  } else if (limits.relative_at >= 0.25F || limits.relative_at < std::numeric_limits<float>::min()) {
    limits.relative_at = limits.relative_above = less(limits.relative_at);
  }
  return limits;
}

/// What is not zero stays so.
float rounded_up(double magnitude) {
  const auto rounded = static_cast<float>(magnitude);
  return rounded == 0 && magnitude > 0 ? std::numeric_limits<float>::denorm_min() : rounded;
}

}  // namespace

std::uint32_t Magnitudes::place_of(float magnitude) {
  return std::bit_cast<std::uint32_t>(magnitude) >> kDropped;
}

float Magnitudes::start_of(std::uint32_t place) {
  return std::bit_cast<float>(place << kDropped);
}

void Magnitudes::add_before(std::uint32_t place, std::uint64_t count) {
  before_ += count;
  known_from_ = std::max(known_from_, place);
}

void Magnitudes::add(const Magnitudes& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  add_before(other.known_from_, other.before_);
}

std::optional<double> Magnitudes::quantile(double share) const {
  std::uint64_t all = before_;
  for (const std::uint64_t count : counts_) all += count;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(all)));
  std::uint64_t passed = before_;
  for (std::uint32_t place = 0; place < counts_.size(); ++place) {
    passed += counts_[place];
    if (passed < wanted || passed == 0) continue;
    if (place < known_from_ && before_ != 0) return std::nullopt;
    return place == 0 ? 0 : static_cast<double>(start_of(place + 1));
  }
  return 0;
}

void DetailSample::Counts::add(float magnitude) {
  ++counts[Magnitudes::place_of(magnitude)];
  ++all;
}

void DetailSample::Counts::add(const Counts& other) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  all += other.all;
}

/// Where some more lie above than above the quantile, by what chance may do.
std::uint32_t DetailSample::Counts::place() const {
  const double size = static_cast<double>(all);
  const double above = (1 - kQuantile) * size + 5 * std::sqrt((1 - kQuantile) * size);
  std::uint64_t passed = 0;
  auto place = static_cast<std::uint32_t>(counts.size());
  while (place != 0 && static_cast<double>(passed) <= above) passed += counts[--place];
  return std::min(place, Magnitudes::kLast - 1);
}

void DetailSample::add(const float* x, const float* y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float distance = std::fabs(x[i] - y[i]);
    if (!std::isfinite(distance)) continue;
    absolute_.add(distance);
    relative_.add(distance == 0 ? 0 : distance / std::fabs(y[i]));
  }
}

void DetailSample::add(const DetailSample& other) {
  absolute_.add(other.absolute_);
  relative_.add(other.relative_);
}

DetailSample::Places DetailSample::places() const {
  return {.absolute = absolute_.place(), .relative = relative_.place()};
}

DetailLook::DetailLook(const PairKernels& kernels, const DetailSample::Places& places)
    : kernels_(&kernels), places_(places), limits_(limits_of(places)) {}

void DetailLook::add(const float* x, const float* y, std::size_t count) {
  for (std::size_t first = 0; first < count; first += kPiece)
    add_piece(x + first, y + first, std::min(kPiece, count - first));
}

void DetailLook::add_piece(const float* x, const float* y, std::size_t count) {
  std::uint64_t open[kPiece / 64];
  CloseCounts counts;
  kernels_->add_close(x, y, count, limits_, counts, open);
  std::uint64_t decided = count;
  for (std::size_t first = 0; first < count; first += 64) {
    for (std::uint64_t bits = open[first / 64]; bits != 0; bits &= bits - 1, --decided) {
      const std::size_t i = first + static_cast<std::size_t>(std::countr_zero(bits));
      add_open(std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i])),
               std::fabs(static_cast<double>(y[i])));
    }
  }
  finite_ += decided;
  near_ += counts.near;
  less_near_ += counts.less_near;
  detail_.not_close += counts.not_close;
  absolute_.add(places_.absolute, counts.absolute_at);
  absolute_.add_before(places_.absolute, decided - counts.absolute_at);
  relative_.add(places_.relative, counts.relative_at);
  relative_.add_before(places_.relative, decided - counts.relative_at);
}

/// What exact numbers tell of it.
void DetailLook::add_open(double distance, double golden) {
  detail_.not_close += distance > kClose + kClose * golden ? 1 : 0;
  absolute_.add(rounded_up(distance));
  relative_.add(distance == 0 ? 0 : rounded_up(distance / golden));
  ++finite_;
}

void DetailLook::add_exact(double distance, double golden) {
  near_ += distance * static_cast<double>(kNear) <= golden ? 1 : 0;
  less_near_ += distance * static_cast<double>(kLessNear) <= golden ? 1 : 0;
  detail_.golden_peak = std::max(detail_.golden_peak, golden);
  add_open(distance, golden);
}

void DetailLook::count_odd(double x, double y, bool alike) {
  detail_.mine_nan += std::isnan(x) ? 1 : 0;
  detail_.mine_infinite += std::isinf(x) ? 1 : 0;
  detail_.golden_nan += std::isnan(y) ? 1 : 0;
  detail_.golden_infinite += std::isinf(y) ? 1 : 0;
  detail_.alike += alike ? 1 : 0;
  detail_.unlike += alike ? 0 : 1;
  detail_.not_close += alike ? 0 : 1;
}

void DetailLook::add(const DetailLook& other) {
  detail_.mine_nan += other.detail_.mine_nan;
  detail_.mine_infinite += other.detail_.mine_infinite;
  detail_.golden_nan += other.detail_.golden_nan;
  detail_.golden_infinite += other.detail_.golden_infinite;
  detail_.unlike += other.detail_.unlike;
  detail_.alike += other.detail_.alike;
  detail_.not_close += other.detail_.not_close;
  near_ += other.near_;
  less_near_ += other.less_near_;
  detail_.golden_peak = std::max(detail_.golden_peak, other.detail_.golden_peak);
  finite_ += other.finite_;
  absolute_.add(other.absolute_);
  relative_.add(other.relative_);
}

std::optional<PairDetail> DetailLook::end() const {
  const std::optional<double> absolute = absolute_.quantile(kQuantile);
  const std::optional<double> relative = relative_.quantile(kQuantile);
  if (!absolute || !relative) return std::nullopt;
  PairDetail detail = detail_;
  if (finite_ != 0) {
    detail.within_thousandth = static_cast<double>(near_) / static_cast<double>(finite_);
    detail.within_five_thousandths = static_cast<double>(less_near_) / static_cast<double>(finite_);
  }
  detail.absolute_quantile = *absolute;
  detail.relative_quantile = *relative;
  return detail;
}

}  // namespace opdump::compare
