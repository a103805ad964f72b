#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/impl/stats/kernels.hpp"
#include "opdump/impl/stats/numbers.hpp"
#include "opdump/types/dtype.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Whose rules hold where NaNs and infinities meet. Sources: the statistics of CANN's device CPU, and those
/// of MindSpore on the host.
///
///                   cann                                          mindspore
///     min, max      skip NaNs, but NaN if element 0 is NaN        NaN if any element is NaN
///     average       the infinity if all infinities have one       NaN if any element is NaN, or if
///                   sign, even beside NaNs; else NaN if any       there are infinities of both signs; else
///                   element is NaN or infinite                    the infinity
///     l2norm        NaN if any element is NaN; else inf if any element is infinite
enum class StatisticsDialect : std::uint8_t { cann, mindspore };

/// A smallest or largest element, as the kind of number that its dtype holds.
class Extreme {
 public:
  enum class Kind : std::uint8_t { none, integer, natural, real };

  constexpr Extreme() = default;
  constexpr explicit Extreme(std::int64_t value)
      : kind_(Kind::integer), bits_(static_cast<std::uint64_t>(value)) {}
  constexpr explicit Extreme(std::uint64_t value) : kind_(Kind::natural), bits_(value) {}
  constexpr explicit Extreme(double value) : kind_(Kind::real), bits_(std::bit_cast<std::uint64_t>(value)) {}

  /// `none`: there were no elements, and no value may be read.
  constexpr Kind kind() const { return kind_; }
  constexpr std::int64_t integer() const { return static_cast<std::int64_t>(bits_); }
  constexpr std::uint64_t natural() const { return bits_; }
  constexpr double real() const { return std::bit_cast<double>(bits_); }

  /// The value as a double, for any kind; 64-bit integers are rounded to 53 bits.
  constexpr double as_double() const {
    if (kind_ == Kind::integer) return static_cast<double>(integer());
    return kind_ == Kind::natural ? static_cast<double>(natural()) : real();
  }

 private:
  Kind kind_ = Kind::none;
  std::uint64_t bits_ = 0;
};

struct StatisticsSummary {
  std::uint64_t count = 0;  ///< all elements: nan + negative + zero + positive
  std::uint64_t nan = 0;
  std::uint64_t negative_inf = 0;  ///< counted in `negative` too
  std::uint64_t positive_inf = 0;  ///< counted in `positive` too
  std::uint64_t negative = 0;      ///< below zero; what MindSpore calls "negative zero count"
  std::uint64_t zero = 0;          ///< of either sign
  std::uint64_t positive = 0;      ///< above zero; what MindSpore calls "positive zero count"
  Extreme max{};                   ///< a zero has no sign
  Extreme min{};
  double sum = 0;      ///< as `average`, times count; may be infinite where the average is not
  double average = 0;  ///< 0 without elements
  double l2norm = 0;   ///< finite wherever a double can hold it
};

/// Gathers the statistics of one tensor from its bytes, which come in chunks. Fixed size, no heap.
///
/// The result depends on the elements only, not on how they were cut into chunks, and with kernels it is the
/// same to the last bit, as long as the compiler does not fuse multiplications into additions (float64 and
/// 64-bit integers could then differ in the last digits of l2norm). Sums of integers are exact; sums of
/// floating numbers are taken in the order that kernels.hpp states, with an error below 2 * 10^-13 of the sum
/// of magnitudes. float16 and bfloat16 below 4096 are first added up in float32, sixteen at a time: there the
/// error is below 2.4 * 10^-7. The vendors add one element after another, so their last digits may differ,
/// and their l2norm of float64 overflows.
///
/// One thread at a time; distinct objects are independent.
class Statistics {
 public:
  static constexpr std::uint64_t kAllElements = std::numeric_limits<std::uint64_t>::max();

  /// Whether there are statistics of `dtype`: bool, all integers, and floating types of 16 to 64 bits,
  /// float8_e5m2 and float8_e4m3fn.
  static constexpr bool supports(DType dtype);

  /// Elements beyond `elements` are padding and ignored. `kernels` must stay as long as this object; null:
  /// the portable loops only. A dtype that is not supported gives a summary of no elements.
  explicit Statistics(DType dtype, std::uint64_t elements = kAllElements,
                      const StatisticsKernels* kernels = nullptr)
      : dtype_(dtype), limit_(elements), kernels_(kernels) {
    if (is_half()) ::new (&groups_) HalfGroups;
  }

  /// Takes in the tensor's next bytes, at any address: little-endian elements, sub-byte ones packed from the
  /// lowest bits up, but uint1 from the highest bit down. A chunk holds whole elements; bytes left over at
  /// its end are ignored.
  void add(Bytes chunk);

  /// Takes in `elements` elements whose statistics were computed elsewhere, in any order: floating elements
  /// of up to 32 bits, with the sum of the finite ones and that of their squares. Under CANN's rules, a
  /// tensor's first element must not be among them if it is NaN.
  void add_run(std::uint64_t elements, const FloatRun& run, double sum, double squares);

  /// The same for integers of up to 32 bits.
  void add_run(std::uint64_t elements, const IntegerRun& run);

  StatisticsSummary summary(StatisticsDialect dialect) const;

  DType dtype() const { return dtype_; }

 private:
  /// `add` for dtypes that a lean build leaves out.
  void add_rarer(Bytes chunk);

  template <std::integral T>
  struct AnyInteger {
    static constexpr std::size_t kBits = sizeof(T) * 8;
    static T at(const std::byte* data, std::size_t i) {
      return static_cast<T>(load_element<std::make_unsigned_t<T>>(data + i * sizeof(T)));
    }
  };

  template <int kWidth, bool kSigned>
  struct PackedInteger {
    static constexpr std::size_t kBits = kWidth;
    static int at(const std::byte* data, std::size_t i) {
      const std::size_t bit = i * kWidth;
      // Single bits have the first element on top, as the vendor's reader takes them.
      const std::size_t shift = kWidth == 1 ? 7 - bit % 8 : bit % 8;
      const int raw = (std::to_integer<int>(data[bit / 8]) >> shift) & ((1 << kWidth) - 1);
      return kSigned && raw >> (kWidth - 1) != 0 ? raw - (1 << kWidth) : raw;
    }
  };

  struct Boolean {
    static constexpr std::size_t kBits = 8;
    static int at(const std::byte* data, std::size_t i) { return data[i] != std::byte{0}; }
  };

  /// What float16 and bfloat16 use instead of lanes.
  struct HalfGroups {
    HalfLanes lanes;
    std::byte begun[2 * kHalfGroup] = {};  ///< the first elements of a group that is not full yet
    std::size_t elements = 0;              ///< in `begun`
  };

  /// How many whole elements of `bits` bits in `chunk` are within the limit.
  std::uint64_t count_in(Bytes chunk, std::size_t bits) const {
    const std::uint64_t held =
        bits < 8 ? std::uint64_t{chunk.size()} * (8 / bits) : chunk.size() / (bits / 8);
    return std::min<std::uint64_t>(held, limit_ - count_);
  }

  template <class Element>
  void add_small_integers(Bytes chunk, IntegerKernel StatisticsKernels::*kernel);
  template <std::integral T>
  void add_wide_integers(Bytes chunk, WideKernel StatisticsKernels::*kernel);
  template <class Format>
  void add_floats(Bytes chunk, FloatKernel StatisticsKernels::*kernel);
  template <class Format>
  void add_halves(Bytes chunk, HalfKernel StatisticsKernels::*kernel);

  template <class Element>
  static void run_integers(const std::byte* data, std::size_t count, IntegerRun& run);
  template <std::integral T>
  void run_wide_integers(const std::byte* data, std::size_t count, WideRun& run);
  template <class Format>
  static bool begins_with_nan(const std::byte* data) {
    return (load_element<typename Format::Bits>(data) & Format::kMagnitude) > Format::kMaxNumber;
  }
  /// Without a branch: no processor can predict a sign.
  static double with_sign(double size, bool negative) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) | std::uint64_t{negative} << 63);
  }
  template <class Format>
  void run_floats(const std::byte* data, std::size_t count, FloatRun& run);
  template <class Format>
  void begin_groups(const std::byte* data, std::size_t count);
  template <class Format>
  static void add_group(const std::byte* group, std::size_t count, HalfLanes& lanes);
  void add_rest(CompensatedSum& sum, CompensatedSum& squares) const;
  void add_found(const FloatRun& run);
  void add_extreme_double(double value);

  /// Elements until the lanes are to be folded.
  std::size_t left_in_block() const {
    return kStatisticsBlock - static_cast<std::size_t>(count_ % kStatisticsBlock);
  }
  std::size_t lane() const { return static_cast<std::size_t>(count_ % kStatisticsLanes); }
  void advance(std::size_t elements, auto& lanes) {
    count_ += elements;
    if (count_ % kStatisticsBlock != 0) return;
    add_totals(lanes, sum_, squares_);
    lanes = {};
  }
  template <std::size_t kLanes>
  static double total(const double (&lanes)[kLanes]);
  template <class Lanes>
  static void add_totals(const Lanes& lanes, CompensatedSum& sum, CompensatedSum& squares);

  template <class T>
  void widen(T min, T max) {
    min_ = std::min<std::int64_t>(min_, min);
    max_ = std::max<std::int64_t>(max_, max);
  }

  bool is_float() const;
  bool is_half() const { return dtype_ == DType::float16 || dtype_ == DType::bfloat16; }
  Extreme extreme(std::int64_t order) const;
  void summarise_integers(StatisticsSummary& to) const;
  void summarise_floats(StatisticsSummary& to, StatisticsDialect dialect) const;

  DType dtype_;
  bool starts_with_nan_ = false;
  std::uint64_t limit_;
  const StatisticsKernels* kernels_;
  std::uint64_t count_ = 0;
  std::uint64_t nan_ = 0;
  std::uint64_t negative_inf_ = 0;
  std::uint64_t positive_inf_ = 0;
  std::uint64_t negative_ = 0;
  std::uint64_t positive_ = 0;
  /// Integers as they are, uint64 minus 2^63, floating numbers by `order_of`.
  std::int64_t min_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_ = std::numeric_limits<std::int64_t>::min();

  IntegerSum integer_sum_;
  IntegerSum integer_squares_;
  union {
    FloatLanes lanes_{};
    HalfGroups groups_;  ///< for float16 and bfloat16
  };
  CompensatedSum sum_;
  CompensatedSum squares_;
  /// For float64 elements x whose squares overflow: the sums of x * 2^-600 and of its square; for those whose
  /// squares vanish: the sum of (x * 2^600)^2.
  CompensatedSum large_sum_;
  CompensatedSum large_squares_;
  CompensatedSum small_squares_;
};

constexpr bool Statistics::supports(DType dtype) {
  switch (dtype) {
    case DType::int8:
    case DType::uint8:
    case DType::float16:
    case DType::float32:
    case DType::boolean:
    case DType::int2:
    case DType::int4:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::uint1:
    case DType::uint2:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
    case DType::float8_e5m2:
    case DType::float8_e4m3fn:
    case DType::bfloat16:
    case DType::float64:
      return true;
    default:
      return false;
  }
}

inline bool Statistics::is_float() const {
  switch (dtype_) {
    case DType::float8_e5m2:
    case DType::float8_e4m3fn:
    case DType::float16:
    case DType::bfloat16:
    case DType::float32:
    case DType::float64:
      return true;
    default:
      return false;
  }
}

inline void Statistics::add(Bytes chunk) {
  switch (dtype_) {
    case DType::int8:
      return add_small_integers<AnyInteger<std::int8_t>>(chunk, &StatisticsKernels::int8);
    case DType::uint8:
      return add_small_integers<AnyInteger<std::uint8_t>>(chunk, &StatisticsKernels::uint8);
    case DType::float16:
      return add_halves<Float16Format>(chunk, &StatisticsKernels::float16);
    case DType::float32:
      return add_floats<Float32Format>(chunk, &StatisticsKernels::float32);
    default:
      add_rarer(chunk);
  }
}

inline void Statistics::add_rarer(Bytes chunk) {
  switch (dtype_) {
    case DType::boolean:
      return add_small_integers<Boolean>(chunk, &StatisticsKernels::boolean);
    case DType::int2:
      return add_small_integers<PackedInteger<2, true>>(chunk, nullptr);
    case DType::int4:
      return add_small_integers<PackedInteger<4, true>>(chunk, nullptr);
    case DType::int16:
      return add_small_integers<AnyInteger<std::int16_t>>(chunk, &StatisticsKernels::int16);
    case DType::int32:
      return add_small_integers<AnyInteger<std::int32_t>>(chunk, &StatisticsKernels::int32);
    case DType::int64:
      return add_wide_integers<std::int64_t>(chunk, &StatisticsKernels::int64);
    case DType::uint1:
      return add_small_integers<PackedInteger<1, false>>(chunk, nullptr);
    case DType::uint2:
      return add_small_integers<PackedInteger<2, false>>(chunk, nullptr);
    case DType::uint16:
      return add_small_integers<AnyInteger<std::uint16_t>>(chunk, &StatisticsKernels::uint16);
    case DType::uint32:
      return add_small_integers<AnyInteger<std::uint32_t>>(chunk, &StatisticsKernels::uint32);
    case DType::uint64:
      return add_wide_integers<std::uint64_t>(chunk, &StatisticsKernels::uint64);
    case DType::float8_e5m2:
      return add_floats<Float8E5m2Format>(chunk, nullptr);
    case DType::float8_e4m3fn:
      return add_floats<Float8E4m3fnFormat>(chunk, nullptr);
    case DType::bfloat16:
      return add_halves<Bfloat16Format>(chunk, &StatisticsKernels::bfloat16);
    case DType::float64:
      return add_floats<Float64Format>(chunk, &StatisticsKernels::float64);
    default:
      return;
  }
}

inline StatisticsSummary Statistics::summary(StatisticsDialect dialect) const {
  StatisticsSummary to;
  to.count = count_;
  to.nan = nan_;
  to.negative_inf = negative_inf_;
  to.positive_inf = positive_inf_;
  to.negative = negative_;
  to.positive = positive_;
  to.zero = count_ - nan_ - negative_ - positive_;
  if (count_ == 0) return to;
  if (is_float()) {
    summarise_floats(to, dialect);
  } else {
    summarise_integers(to);
  }
  return to;
}

inline Extreme Statistics::extreme(std::int64_t order) const {
  if (is_float()) return Extreme(from_order(order));
  if (dtype_ == DType::uint64) return Extreme(static_cast<std::uint64_t>(order) ^ std::uint64_t{1} << 63);
  return Extreme(order);
}

inline void Statistics::summarise_integers(StatisticsSummary& to) const {
  to.min = extreme(min_);
  to.max = extreme(max_);
  to.sum = integer_sum_.value();
  to.average = to.sum / static_cast<double>(count_);
  CompensatedSum unused, squares = squares_;
  add_rest(unused, squares);
  to.l2norm = std::sqrt(squares.value() + integer_squares_.value());
}

inline void Statistics::summarise_floats(StatisticsSummary& to, StatisticsDialect dialect) const {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const bool cann = dialect == StatisticsDialect::cann;

  const bool no_extremes = cann ? starts_with_nan_ : nan_ != 0;
  to.min = no_extremes ? Extreme(kNan) : extreme(min_);
  to.max = no_extremes ? Extreme(kNan) : extreme(max_);

  CompensatedSum sum = sum_, squares = squares_;
  add_rest(sum, squares);

  const bool infinite = negative_inf_ != 0 || positive_inf_ != 0;
  const bool both = negative_inf_ != 0 && positive_inf_ != 0;
  const double count = static_cast<double>(count_);
  if (both || (nan_ != 0 && !(cann && infinite))) {
    to.sum = to.average = kNan;
  } else if (infinite) {
    to.sum = to.average = positive_inf_ != 0 ? kInf : -kInf;
  } else {
    CompensatedSum scaled = large_sum_;
    const bool large = large_squares_.value() != 0;
    if (large) scaled.add(sum.value() * 0x1p-600);
    to.sum = large ? scaled.value() * 0x1p600 : sum.value();
    const double average = large ? scaled.value() / count * 0x1p600 : sum.value() / count;
    // Rounding may carry the average of equal numbers past them, and that of the largest numbers to infinity.
    to.average = std::clamp(average, from_order(min_), from_order(max_));
  }

  if (nan_ != 0) {
    to.l2norm = kNan;
  } else if (infinite) {
    to.l2norm = kInf;
  } else if (large_squares_.value() != 0) {
    to.l2norm = std::sqrt(large_squares_.value() + squares.value() * 0x1p-600 * 0x1p-600) * 0x1p600;
  } else if (squares.value() != 0) {
    to.l2norm = std::sqrt(squares.value() + small_squares_.value() * 0x1p-600 * 0x1p-600);
  } else {
    to.l2norm = std::sqrt(small_squares_.value()) * 0x1p-600;
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump

#include "opdump/impl/stats/statistics.inl"
