#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>

#include "src/tool/judge/compare/compare_side.hpp"

namespace opdump::tool {

/// Counts of numbers between two ends, each as a logarithm: 255 is the fullest bin, 0 an empty one.
struct Bins {
  static constexpr std::size_t kBins = 48;

  bool is_log = false;  ///< the bins are equal steps of asinh(x / scale), not of x
  std::array<std::uint8_t, kBins> counts{};
};

/// What the page says of a tensor's numbers: what they stand for where a card tells it.
struct TensorFacts {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  // Of the finite numbers; NaN where there are none.
  double min = kUnknown;
  double max = kUnknown;
  double mean = kUnknown;
  double deviation = kUnknown;
  double norm = kUnknown;  ///< the Euclidean one

  std::uint64_t zeros = 0;
  std::uint64_t nan = 0;
  std::uint64_t infinite = 0;
  double saturated =
      kUnknown;  ///< share of elements at either end of their integers; NaN where none is known
  bool has_bins = false;
  Bins bins{};
  bool known = false;     ///< false: nothing above is
  std::string problem{};  ///< why not

  std::uint64_t nonfinite() const { return nan + infinite; }

  /// The greatest magnitude; NaN where there is none.
  double peak() const;
};

/// Reads the tensor's elements twice. Takes a few MiB for a tensor of any size.
TensorFacts read_facts(const DumpSide& side, const DumpTensor& tensor);

/// Puts counts into a byte each.
void pack_counts(std::span<const std::uint64_t> counts, std::span<std::uint8_t> packed);

/// The scale of bins of asinh(x / scale), by the deviation.
double log_scale(double deviation);

}  // namespace opdump::tool
