#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "opdump/types/dtype.hpp"
#include "src/kernels/pairs/pair_kernels.hpp"
#include "src/tool/judge/compare/pair_detail.hpp"

namespace opdump::compare {

/// Turns `count` elements, packed and little-endian from `from` on, into float32.
using ToFloats = void (*)(const std::byte* from, std::size_t count, float* to);

/// The bytes of one array. Several threads may read at once.
class ElementSource {
 public:
  /// The `count` bytes from `offset` on: copied to `buffer`, which has room for them, or in place. Null when
  /// they cannot be read.
  virtual const std::byte* read(std::uint64_t offset, std::size_t count, std::byte* buffer) const = 0;

 protected:
  ~ElementSource() = default;
};

/// Turns them into float64, exactly, as two numbers each: a real number is the sum of both, which an int64
/// needs; of a complex one the first is the real part, the second the imaginary one.
using ToPairs = void (*)(const std::byte* from, std::size_t count, double* first, double* second);

/// One side of a comparison.
struct ComparedArray {
  const ElementSource* source = nullptr;
  DType dtype = DType::undefined;
  std::uint32_t item_bits = 0;  ///< bits of an element, 1 to 128
  ToFloats to_floats = nullptr;
  ToPairs to_pairs = nullptr;  ///< null: float32 holds each element
};

/// What most limits ask of two arrays with the same number of elements. `x` is ours, `y` the golden one.
struct Measures {
  double cosine_similarity = 0;
  double max_absolute_error = 0;
  double accumulated_relative_error = 0;
  double relative_euclidean_distance = 0;
  double kullback_leibler_divergence = 0;
  double x_mean = 0;
  double x_deviation = 0;
  double y_mean = 0;
  double y_deviation = 0;
  double mean_absolute_error = 0;
  double root_mean_square_error = 0;
  double max_relative_error = 0;
  double mean_relative_error = 0;

  bool x_is_zero = false;  ///< its norm is 0, for the cosine
  bool y_is_zero = false;
};

/// The comparison of two arrays, of numbers as they are: integers by their exact difference, complex numbers
/// by the distance of both parts, their means and shares by the magnitude. A NaN on both sides, or the same
/// infinity, is left out. Sums are float64; from kThreadElements elements on, 16 terms of what float32 holds
/// are first added up as float32, unless they leave its range.
struct Comparison : Measures {
  std::uint64_t elements = 0;
  /// Where they differ: what msaccucmp, which takes both sides as float32, has to say.
  std::shared_ptr<const Measures> vendor;

  std::uint64_t equal =
      0;  ///< elements of the same value: equal bits, except the sign of zero and NaNs' bits
  std::optional<std::uint64_t> max_ulp;          ///< if both have the same floating dtype
  std::optional<std::uint64_t> max_absolute_at;  ///< the first element with the largest error, if any
  std::optional<std::uint64_t> max_relative_at;
  double x_at_max = 0;  ///< the elements at max_absolute_at
  double y_at_max = 0;

  std::optional<PairDetail> detail;  ///< where it was asked for

  // What `compare` leaves empty.
  std::optional<double> expected_error;  ///< the root mean square error that is to be expected
  std::optional<double>
      summary_distance;  ///< of statistics, where a side has nothing else; all other measures are NaN then
};

/// Whether a comparison looks closer at pairs: never, where an element is NaN or infinite, or at all that are
/// not equal.
enum class Closer { never, where_not_finite, always };

/// Compares `elements` elements of `x` and `y`, on up to `threads` threads, each with a fixed amount of
/// memory. The result does not depend on the number of threads. Nothing when a source cannot be read.
std::optional<Comparison> compare(const ComparedArray& x, const ComparedArray& y, std::uint64_t elements,
                                  unsigned threads, Closer closer = Closer::never,
                                  const PairKernels& kernels = pair_kernels());

/// Elements below which a comparison never uses more than one thread.
inline constexpr std::uint64_t kThreadElements = std::uint64_t{1} << 18;

}  // namespace opdump::compare
