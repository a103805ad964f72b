#include "src/tool/judge/compare/pair_blocks.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

namespace opdump::compare {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_complex(const ComparedArray& array) {
  return array.dtype == DType::complex32 || array.dtype == DType::complex64 ||
         array.dtype == DType::complex128;
}

class ExactReader {
 public:
  ExactReader(const ComparedArray& x, const ComparedArray& y)
      : arrays_{&x, &y}, are_complex_(is_complex(x) || is_complex(y)) {
    for (Side& side : sides_) {
      side.first.resize(kBlockElements);
      side.second.resize(kBlockElements);
      side.values.resize(kBlockElements);
    }
    for (std::size_t i = 0; i < 2; ++i) sides_[i].raw.resize(kBlockElements * arrays_[i]->item_bits / 8);
  }

  bool read(std::uint64_t first, std::size_t count) {
    for (std::size_t i = 0; i < 2; ++i) {
      if (!read_side(*arrays_[i], sides_[i], first, count)) return false;
    }
    return true;
  }

  /// Magnitudes of complex numbers.
  double x(std::size_t i) const { return sides_[0].values[i]; }
  double y(std::size_t i) const { return sides_[1].values[i]; }

  double distance(std::size_t i) const {
    const double first = sides_[0].first[i] - sides_[1].first[i];
    const double second = sides_[0].second[i] - sides_[1].second[i];
    return are_complex_ ? std::hypot(first, second) : std::fabs(first + second);
  }

  double product(std::size_t i, double x_factor, double y_factor) const {
    if (!are_complex_) return x(i) * x_factor * (y(i) * y_factor);
    return sides_[0].first[i] * x_factor * (sides_[1].first[i] * y_factor) +
           sides_[0].second[i] * x_factor * (sides_[1].second[i] * y_factor);
  }

  /// Whether both sides have the same parts, all NaNs being the same.
  bool are_alike(std::size_t i) const {
    const auto alike = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    return alike(sides_[0].first[i], sides_[1].first[i]) && alike(sides_[0].second[i], sides_[1].second[i]);
  }

 private:
  struct Side {
    std::vector<std::byte> raw;
    std::vector<float> floats;
    std::vector<double> first;
    std::vector<double> second;  ///< zeros, unless the array has pairs
    std::vector<double> values;
  };

  static bool read_side(const ComparedArray& array, Side& side, std::uint64_t first, std::size_t count) {
    const std::size_t bytes = (count * array.item_bits + 7) / 8;
    const std::byte* const from = array.source->read(first * array.item_bits / 8, bytes, side.raw.data());
    if (from == nullptr) return false;
    if (array.to_pairs != nullptr) {
      array.to_pairs(from, count, side.first.data(), side.second.data());
    } else {
      side.floats.resize(kBlockElements);
      if (array.to_floats != nullptr) {
        array.to_floats(from, count, side.floats.data());
      } else {
        std::memcpy(side.floats.data(), from, count * sizeof(float));
      }
      std::copy_n(side.floats.begin(), count, side.first.begin());
    }
    const bool pairs = is_complex(array);
    for (std::size_t i = 0; i < count; ++i)
      side.values[i] = pairs ? std::hypot(side.first[i], side.second[i]) : side.first[i] + side.second[i];
    return true;
  }

  const ComparedArray* arrays_[2];
  const bool are_complex_;
  Side sides_[2];
};

struct ExactMaximum {
  double value = 0;
  std::uint64_t at = 0;
  double x = 0;
  double y = 0;

  void take(const ExactMaximum& other) {
    if (other.value > value) *this = other;
  }
};

/// Of one side.
struct Range {
  long double sum = 0;  // double may not hold it
  double least = kInfinity;
  double greatest = -kInfinity;

  void add(double value) {
    sum += static_cast<long double>(value);
    if (!std::isfinite(value)) return;
    least = std::fmin(least, value);
    greatest = std::fmax(greatest, value);
  }
  void add(const Range& other) {
    sum += other.sum;
    least = std::fmin(least, other.least);
    greatest = std::fmax(greatest, other.greatest);
  }
  double peak() const { return least > greatest ? 0 : std::fmax(-least, greatest); }
};

/// What the first pass finds, of the pairs that are not left out.
struct Extremes {
  std::uint64_t alike = 0;   ///< left out: the same NaN or infinity on both sides
  std::uint64_t unlike = 0;  ///< NaN or infinite on one side, and not so on the other
  std::uint64_t equal = 0;
  Range x, y;
  double absolute = 0;
  ExactMaximum max_absolute;

  void add(const ExactReader& pair, std::size_t i, std::uint64_t at) {
    const double a = pair.x(i), b = pair.y(i);
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (pair.are_alike(i)) {
        ++alike;
        return;
      }
      ++unlike;
    }
    const double distance = pair.distance(i);
    equal += distance == 0 ? 1 : 0;
    x.add(a);
    y.add(b);
    absolute += distance;
    if (distance > max_absolute.value) max_absolute = {distance, at, a, b};
  }

  void add(const Extremes& other) {
    alike += other.alike;
    unlike += other.unlike;
    equal += other.equal;
    x.add(other.x);
    y.add(other.y);
    absolute += other.absolute;
    max_absolute.take(other.max_absolute);
  }
};

/// Brings magnitudes up to a peak to where their squares stay in float64.
struct Scale {
  explicit Scale(double peak) {
    constexpr int kMost = 1000;
    if (peak > 0 && std::isfinite(peak)) exponent = std::clamp(std::ilogb(peak), -kMost, kMost);
    factor = std::ldexp(1.0, -exponent);
  }
  double undone(double value) const { return std::ldexp(value, exponent); }

  int exponent = 0;
  double factor = 1;
};

/// What the second pass needs of the first one.
struct Found {
  Found(const Extremes& all, double count)
      : x(all.x.peak()),
        y(all.y.peak()),
        distance(all.max_absolute.value),
        x_range(all.x),
        y_range(all.y),
        x_mean(static_cast<double>(all.x.sum / static_cast<long double>(count))),
        y_mean(static_cast<double>(all.y.sum / static_cast<long double>(count))),
        zero(all.y.peak() < kTiny ? kZero * all.y.peak() : kZero) {}

  Scale x, y, distance;
  Range x_range, y_range;
  double x_mean, y_mean;
  double zero;  ///< the greatest golden magnitude whose relative error is 0
};

double share(double value, const Range& range, double factor) {
  const double least = static_cast<double>(kLeastShare);
  if (!(range.greatest > range.least)) return 1;
  const double low = range.least * factor;
  return std::fmax((value * factor - low) / (range.greatest * factor - low), least);
}

struct SecondSums {
  double xx = 0, yy = 0, xy = 0, squared = 0, relative = 0;
  double p = 0, q = 0, p_ln_ratio = 0;
  double x_deviation = 0, y_deviation = 0;
  ExactMaximum max_relative;

  void add(const ExactReader& pair, std::size_t i, std::uint64_t at, const Found& found) {
    const double a = pair.x(i), b = pair.y(i), distance = pair.distance(i);
    const auto add_square = [](double value, double& sum) { sum += value * value; };
    add_square(a * found.x.factor, xx);
    add_square(b * found.y.factor, yy);
    xy += pair.product(i, found.x.factor, found.y.factor);
    add_square(distance * found.distance.factor, squared);
    add_square((a - found.x_mean) * found.x.factor, x_deviation);
    add_square((b - found.y_mean) * found.y.factor, y_deviation);
    const double by_golden = std::fabs(b) <= found.zero ? 0 : distance / std::fabs(b);
    relative += by_golden;
    if (by_golden > max_relative.value) max_relative = {by_golden, at, a, b};
    const double mine = share(a, found.x_range, found.x.factor);
    const double golden = share(b, found.y_range, found.y.factor);
    p += mine;
    q += golden;
    p_ln_ratio += mine * std::log(mine / golden);
  }

  void add(const SecondSums& other) {
    for (double SecondSums::*const sum :
         {&SecondSums::xx, &SecondSums::yy, &SecondSums::xy, &SecondSums::squared, &SecondSums::relative,
          &SecondSums::p, &SecondSums::q, &SecondSums::p_ln_ratio, &SecondSums::x_deviation,
          &SecondSums::y_deviation})
      this->*sum += other.*sum;
    max_relative.take(other.max_relative);
  }
};

/// The cosine, and whether a side is zero. Beside a golden side of zeros, mine is zero up to `kZero`.
void take_cosine(const SecondSums& sums, const Found& found, Measures& to) {
  const bool x_is_zero = sums.xx == 0 || (sums.yy == 0 && found.x.undone(std::sqrt(sums.xx)) <= kZero);
  if (x_is_zero && sums.yy == 0) {
    to.cosine_similarity = 1;
    return;
  }
  to.x_is_zero = x_is_zero;
  to.y_is_zero = sums.yy == 0;
  const double cosine = sums.xy / std::sqrt(sums.xx) / std::sqrt(sums.yy);
  to.cosine_similarity = to.x_is_zero || to.y_is_zero ? kNan : cosine > 1 ? 1 : cosine;
}

Measures measures_of(const Extremes& all, const SecondSums& sums, const Found& found, double count) {
  Measures to;
  take_cosine(sums, found, to);
  to.max_absolute_error = std::isnan(all.absolute) ? kNan : all.max_absolute.value;
  to.mean_absolute_error = all.absolute / count;
  to.accumulated_relative_error = sums.relative;
  to.mean_relative_error = sums.relative / count;
  to.max_relative_error = std::isnan(sums.relative) ? kNan : sums.max_relative.value;
  to.root_mean_square_error = found.distance.undone(std::sqrt(sums.squared / count));
  if (to.cosine_similarity == 1 && sums.yy == 0) {
    to.relative_euclidean_distance = 0;
  } else if (sums.yy == 0) {
    to.relative_euclidean_distance = kInfinity;
  } else {
    to.relative_euclidean_distance =
        std::ldexp(std::sqrt(sums.squared / sums.yy), found.distance.exponent - found.y.exponent);
  }
  const double divergence = sums.p_ln_ratio / sums.p + std::log(sums.q / sums.p);
  to.kullback_leibler_divergence = all.unlike != 0 ? kNan : std::fabs(divergence) < kZero ? 0 : divergence;
  to.x_mean = found.x_mean;
  to.y_mean = found.y_mean;
  to.x_deviation = found.x.undone(std::sqrt(sums.x_deviation / count));
  to.y_deviation = found.y.undone(std::sqrt(sums.y_deviation / count));
  return to;
}

/// What is to be said of arrays that have no pair to compare.
Measures nothing_compared() {
  Measures to;
  to.cosine_similarity = 1;
  to.x_mean = to.y_mean = to.x_deviation = to.y_deviation = kNan;
  return to;
}

}  // namespace

bool compare_exactly(const ComparedArray& x, const ComparedArray& y, std::uint64_t elements,
                     std::size_t workers, Closer closer, const PairKernels& kernels, Comparison& result) {
  std::vector<Extremes> extremes(part_count(elements));
  if (!for_each_block<ExactReader>(x, y, elements, workers, [&](const Block& at, const ExactReader& pair) {
        for (std::size_t i = 0; i < at.count; ++i) extremes[at.part].add(pair, i, at.first + i);
      }))
    return false;
  Extremes all;
  for (const Extremes& part : extremes) all.add(part);
  const double count = static_cast<double>(elements - all.alike);
  const Found found(all, count);

  std::vector<SecondSums> parts(extremes.size());
  const bool looks = closer == Closer::always || (closer != Closer::never && all.alike + all.unlike != 0);
  std::vector<DetailLook> detail(looks ? workers : 0, DetailLook(kernels, {}));
  if (!for_each_block<ExactReader>(x, y, elements, workers, [&](const Block& at, const ExactReader& pair) {
        for (std::size_t i = 0; i < at.count; ++i) {
          const bool finite = std::isfinite(pair.x(i)) && std::isfinite(pair.y(i));
          const bool alike = !finite && pair.are_alike(i);
          if (!alike) parts[at.part].add(pair, i, at.first + i, found);
          if (!looks) continue;
          if (finite) {
            detail[at.worker].add_exact(pair.distance(i), std::fabs(pair.y(i)));
          } else {
            detail[at.worker].count_odd(pair.x(i), pair.y(i), alike);
          }
        }
      }))
    return false;
  SecondSums sums;
  for (const SecondSums& part : parts) sums.add(part);

  result.vendor = std::make_shared<const Measures>(result);
  static_cast<Measures&>(result) =
      all.alike == elements ? nothing_compared() : measures_of(all, sums, found, count);
  result.equal = all.equal + all.alike;
  result.max_absolute_at.reset();
  result.max_relative_at.reset();
  result.x_at_max = result.y_at_max = 0;
  if (all.max_absolute.value > 0) {
    result.max_absolute_at = all.max_absolute.at;
    result.x_at_max = all.max_absolute.x;
    result.y_at_max = all.max_absolute.y;
  }
  if (sums.max_relative.value > 0) result.max_relative_at = sums.max_relative.at;
  if (looks) result.detail = end_of(detail);
  return true;
}

}  // namespace opdump::compare
