#include "src/tool/compare/pair_detail.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace opdump::compare {
namespace {

/// Counts magnitudes by their first bits, which are less than 1 % apart.
class Magnitudes {
 public:
  void add(float magnitude) {
    ++counts_[std::bit_cast<std::uint32_t>(magnitude) >> kDropped];
    ++all_;
  }

  /// The least magnitude, rounded up, that `share` of those that were added do not pass.
  double quantile(double share) const {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(all_)));
    std::uint64_t passed = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      passed += counts_[i];
      if (passed >= wanted && passed != 0) return i == 0 ? 0 : static_cast<double>(end_of(i));
    }
    return 0;
  }

 private:
  static constexpr int kDropped = 16;

  static float end_of(std::size_t i) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(i + 1) << kDropped);
  }

  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(std::size_t{1} << (31 - kDropped));
  std::uint64_t all_ = 0;
};

/// One side's elements as floats, a piece at a time.
class Pieces {
 public:
  static constexpr std::size_t kElements = 1024;

  explicit Pieces(const ComparedArray& array) : array_(array) {}

  const float* read(std::uint64_t first, std::size_t count) {
    const std::uint64_t bits = array_.item_bits;
    const std::byte* const from = array_.source->read(first * bits / 8, (count * bits + 7) / 8, bytes_);
    if (from == nullptr) return nullptr;
    array_.to_floats(from, count, floats_);
    return floats_;
  }

 private:
  static constexpr std::size_t kMostItemBytes = 16;

  const ComparedArray& array_;
  alignas(16) std::byte bytes_[kElements * kMostItemBytes];
  float floats_[kElements];
};

class Look {
 public:
  void add(float x, float y) {
    detail_.mine_nan += std::isnan(x) ? 1 : 0;
    detail_.mine_infinite += std::isinf(x) ? 1 : 0;
    detail_.golden_nan += std::isnan(y) ? 1 : 0;
    detail_.golden_infinite += std::isinf(y) ? 1 : 0;
    if (!std::isfinite(x) || !std::isfinite(y)) {
      const bool alike = (std::isnan(x) && std::isnan(y)) || x == y;
      detail_.unlike += alike ? 0 : 1;
      detail_.not_close += alike ? 0 : 1;
      return;
    }
    ++finite_;
    const double golden = std::fabs(static_cast<double>(y));
    const double distance = std::fabs(static_cast<double>(x) - static_cast<double>(y));
    detail_.golden_peak = std::max(detail_.golden_peak, golden);
    detail_.not_close += distance > 1e-5 + 1e-5 * golden ? 1 : 0;
    near_ += distance <= golden / 1000 ? 1 : 0;
    less_near_ += distance <= golden / 200 ? 1 : 0;
    absolute_.add(static_cast<float>(distance));
    relative_.add(golden == 0 ? (distance == 0 ? 0.0f : HUGE_VALF) : static_cast<float>(distance / golden));
  }

  PairDetail end() {
    if (finite_ != 0) {
      detail_.within_thousandth = static_cast<double>(near_) / static_cast<double>(finite_);
      detail_.within_five_thousandths = static_cast<double>(less_near_) / static_cast<double>(finite_);
    }
    detail_.absolute_quantile = absolute_.quantile(0.99);
    detail_.relative_quantile = relative_.quantile(0.99);
    return detail_;
  }

 private:
  PairDetail detail_;
  std::uint64_t finite_ = 0;
  std::uint64_t near_ = 0;
  std::uint64_t less_near_ = 0;
  Magnitudes absolute_;
  Magnitudes relative_;
};

}  // namespace

std::optional<PairDetail> look_closer(const ComparedArray& x, const ComparedArray& y,
                                      std::uint64_t elements) {
  Look look;
  Pieces mine(x), golden(y);
  for (std::uint64_t first = 0; first < elements; first += Pieces::kElements) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(Pieces::kElements, elements - first));
    const float* const xs = mine.read(first, count);
    const float* const ys = golden.read(first, count);
    if (xs == nullptr || ys == nullptr) return std::nullopt;
    for (std::size_t i = 0; i < count; ++i) look.add(xs[i], ys[i]);
  }
  return look.end();
}

}  // namespace opdump::compare
