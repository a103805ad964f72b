#include "src/tool/compare/pair_detail.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <thread>
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

  void add(const Magnitudes& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    all_ += other.all_;
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
  void add(const float* x, const float* y, std::size_t count) {
    if (!all_finite(x, count) || !all_finite(y, count)) {
      for (std::size_t i = 0; i < count; ++i) {
        if (is_counted_as_odd(x[i], y[i])) continue;
        add_finite(x + i, y + i, 1);
      }
      return;
    }
    add_finite(x, y, count);
  }

  void add(const Look& other) {
    detail_.mine_nan += other.detail_.mine_nan;
    detail_.mine_infinite += other.detail_.mine_infinite;
    detail_.golden_nan += other.detail_.golden_nan;
    detail_.golden_infinite += other.detail_.golden_infinite;
    detail_.unlike += other.detail_.unlike;
    detail_.not_close += other.detail_.not_close;
    detail_.golden_peak = std::max(detail_.golden_peak, other.detail_.golden_peak);
    finite_ += other.finite_;
    near_ += other.near_;
    less_near_ += other.less_near_;
    absolute_.add(other.absolute_);
    relative_.add(other.relative_);
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
  static bool all_finite(const float* numbers, std::size_t count) {
    constexpr std::uint32_t kInfinite = 0x7f800000;
    std::uint32_t greatest = 0;
    for (std::size_t i = 0; i < count; ++i)
      greatest = std::max(greatest, std::bit_cast<std::uint32_t>(numbers[i]) & 0x7fffffff);
    return greatest < kInfinite;
  }

  /// Counts NaNs and infinities; false where both numbers are finite.
  bool is_counted_as_odd(float x, float y) {
    if (std::isfinite(x) && std::isfinite(y)) return false;
    detail_.mine_nan += std::isnan(x) ? 1 : 0;
    detail_.mine_infinite += std::isinf(x) ? 1 : 0;
    detail_.golden_nan += std::isnan(y) ? 1 : 0;
    detail_.golden_infinite += std::isinf(y) ? 1 : 0;
    const bool alike = (std::isnan(x) && std::isnan(y)) || x == y;
    detail_.unlike += alike ? 0 : 1;
    detail_.not_close += alike ? 0 : 1;
    return true;
  }

  void add_finite(const float* x, const float* y, std::size_t count) {
    float distances[Pieces::kElements], shares[Pieces::kElements];
    double peak = detail_.golden_peak;
    std::uint64_t not_close = 0, near = 0, less_near = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double golden = std::fabs(static_cast<double>(y[i]));
      const double distance = std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
      peak = std::max(peak, golden);
      not_close += distance > 1e-5 + 1e-5 * golden ? 1 : 0;
      near += distance * 1000 <= golden ? 1 : 0;
      less_near += distance * 200 <= golden ? 1 : 0;
      distances[i] = static_cast<float>(distance);
      shares[i] = distance == 0 ? 0 : static_cast<float>(distance / golden);
    }
    for (std::size_t i = 0; i < count; ++i) {
      absolute_.add(distances[i]);
      relative_.add(shares[i]);
    }
    detail_.golden_peak = peak;
    detail_.not_close += not_close;
    finite_ += count;
    near_ += near;
    less_near_ += less_near;
  }

  PairDetail detail_;
  std::uint64_t finite_ = 0;
  std::uint64_t near_ = 0;
  std::uint64_t less_near_ = 0;
  Magnitudes absolute_;
  Magnitudes relative_;
};

/// What one thread takes at a time.
constexpr std::uint64_t kLookElements = kThreadElements;
static_assert(kLookElements % Pieces::kElements == 0);

}  // namespace

std::optional<PairDetail> look_closer(const ComparedArray& x, const ComparedArray& y, std::uint64_t elements,
                                      unsigned threads) {
  const std::uint64_t parts = (elements + kLookElements - 1) / kLookElements;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> good{true};
  std::vector<Look> looks(
      static_cast<std::size_t>(std::clamp<std::uint64_t>(parts, 1, std::max(threads, 1U))));
  const auto work = [&](Look& look) {
    Pieces mine(x), golden(y);
    for (std::uint64_t part; good.load(std::memory_order_relaxed) &&
                             (part = next.fetch_add(1, std::memory_order_relaxed)) < parts;) {
      const std::uint64_t end = std::min(elements, (part + 1) * kLookElements);
      for (std::uint64_t first = part * kLookElements; first < end; first += Pieces::kElements) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(Pieces::kElements, end - first));
        const float* const xs = mine.read(first, count);
        const float* const ys = golden.read(first, count);
        if (xs == nullptr || ys == nullptr) return good.store(false, std::memory_order_relaxed);
        look.add(xs, ys, count);
      }
    }
  };
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < looks.size(); ++i) helpers.emplace_back(work, std::ref(looks[i]));
  work(looks[0]);
  for (std::thread& helper : helpers) helper.join();
  if (!good.load(std::memory_order_relaxed)) return std::nullopt;
  for (std::size_t i = 1; i < looks.size(); ++i) looks[0].add(looks[i]);
  return looks[0].end();
}

}  // namespace opdump::compare
