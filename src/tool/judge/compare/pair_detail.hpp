#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/kernels/pairs/pair_kernels.hpp"

namespace opdump::compare {

/// What a second look at a pair tells: of the elements that are finite on both sides, and of the others.
struct PairDetail {
  double within_thousandth = 1;        ///< share of elements that are at most 0.1 % of the golden one away
  double within_five_thousandths = 1;  ///< the same for 0.5 %
  double absolute_quantile = 0;        ///< 99 of 100 elements are at most so far away, within 1 %
  double relative_quantile = 0;        ///< the same by the golden element
  double golden_peak = 0;              ///< the greatest magnitude of a golden element
  std::uint64_t mine_nan = 0;
  std::uint64_t mine_infinite = 0;
  std::uint64_t golden_nan = 0;
  std::uint64_t golden_infinite = 0;
  std::uint64_t not_close =
      0;  ///< elements that are more than 1e-5 and 1e-5 of the golden one away, and unlike ones
  std::uint64_t unlike = 0;  ///< elements that are NaN, or an infinity, on one side and not so on the other
  std::uint64_t alike =
      0;  ///< elements that are NaN, or the same infinity, on both sides: no measure has them
};

/// Counts magnitudes by their first bits, which are less than 1 % apart.
class Magnitudes {
 public:
  static constexpr int kDropped = 16;
  static constexpr std::size_t kPlaces = std::size_t{1} << (31 - kDropped);
  static constexpr std::uint32_t kLast = 0x7f800000U >> kDropped;  ///< the place of infinity

  static std::uint32_t place_of(float magnitude);
  /// The least magnitude of a place.
  static float start_of(std::uint32_t place);

  void add(float magnitude) { ++counts_[place_of(magnitude)]; }
  void add(std::uint32_t place, std::uint64_t count) { counts_[place] += count; }
  /// Takes in some of which no more is known than that they lie before `place`.
  void add_before(std::uint32_t place, std::uint64_t count);
  void add(const Magnitudes& other);

  /// The least magnitude, rounded up, that `share` of those that were added do not pass; nothing where it is
  /// among those that are not known well enough.
  std::optional<double> quantile(double share) const;

 private:
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(kPlaces);
  std::uint64_t before_ = 0;
  std::uint32_t known_from_ = 0;
};

/// Guesses from some pairs where the quantiles of all of them lie, so that nearly all others need not be told apart.
class DetailSample {
 public:
  void add(const float* x, const float* y, std::size_t count);
  void add(const DetailSample& other);

  struct Places {
    std::uint32_t absolute = 0;  ///< of Magnitudes: the quantile is hardly before this
    std::uint32_t relative = 0;
  };
  Places places() const;

 private:
  struct Counts {
    std::vector<std::uint32_t> counts = std::vector<std::uint32_t>(Magnitudes::kPlaces);
    std::uint64_t all = 0;

    void add(float magnitude);
    void add(const Counts& other);
    std::uint32_t place() const;
  };

  Counts absolute_;
  Counts relative_;
};

/// Adds up the detail of all pairs of elements, in any order. Takes half a MiB.
class DetailLook {
 public:
  DetailLook(const PairKernels& kernels, const DetailSample::Places& places);

  /// Pairs of which no element is NaN or infinite, nor a difference. Leaves the peak to the caller.
  void add(const float* x, const float* y, std::size_t count);
  /// One of magnitude `golden`.
  void add_exact(double distance, double golden);
  /// One with a NaN or infinity; `alike`: on both sides the same.
  void count_odd(double x, double y, bool alike);
  void add(const DetailLook& other);

  /// Nothing where a quantile lies before its place. With places of 0 there always is an answer.
  std::optional<PairDetail> end() const;

 private:
  void add_piece(const float* x, const float* y, std::size_t count);
  void add_open(double distance, double golden);

  const PairKernels* kernels_;
  DetailSample::Places places_;
  CloseLimits limits_;
  PairDetail detail_;
  std::uint64_t finite_ = 0;
  std::uint64_t near_ = 0;
  std::uint64_t less_near_ = 0;
  Magnitudes absolute_;
  Magnitudes relative_;
};

}  // namespace opdump::compare
