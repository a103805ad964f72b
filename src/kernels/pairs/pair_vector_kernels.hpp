#pragma once
/// The vectorised kernels, in terms of what each instruction set supplies before it includes this file, once
/// per translation unit and with the compiler set to that instruction set:
///
///     OPDUMP_VECTOR_BYTES   16 or 32
///     struct Isa            smaller, larger (of two Floats; a NaN as `value` gives `other`), widen (Floats
///                           to two Doubles), floats_from_halves (a vector's worth of float16), bits_of (the
///                           signs of Ints, a bit for each)
///
/// All names are local to the translation unit, so that no other one can end up with code for a processor
/// that it did not ask for; for the same reason nothing is included here.

namespace opdump::compare {
namespace {

inline constexpr std::size_t kWidth = sizeof(Floats) / sizeof(float);
inline constexpr std::size_t kPrefetch = 1024;

template <class Vector, class From>
inline Vector load(const From* from) {
  Vector vector;
  __builtin_memcpy(&vector, from, sizeof vector);
  return vector;
}

inline Floats masked(Floats values, Ints mask) {
  return reinterpret_cast<Floats>(reinterpret_cast<Ints>(values) & mask);
}

inline Floats magnitude(Floats values) {
  return masked(values, Ints{} + 0x7fffffff);
}

struct Sum {
  Doubles lanes{};

  void add(const Doubles (&values)[2]) { lanes += values[0] + values[1]; }
  void add_product(const Doubles (&a)[2], const Doubles (&b)[2]) {
    lanes += a[0] * b[0];
    lanes += a[1] * b[1];
  }
  double total() const {
    double total = 0;
    for (std::size_t i = 0; i < sizeof lanes / sizeof(double); ++i) total += lanes[i];
    return total;
  }
};

inline float least(Floats values) {
  float least = values[0];
  for (std::size_t i = 1; i < kWidth; ++i) least = values[i] < least ? values[i] : least;
  return least;
}

inline float greatest(Floats values) {
  float greatest = values[0];
  for (std::size_t i = 1; i < kWidth; ++i) greatest = values[i] > greatest ? values[i] : greatest;
  return greatest;
}

/// A sum of terms of which some, a run, are added up as float32 first.
struct RunSum {
  Floats run{};
  Sum sum;

  void add(Floats values) { run += values; }
  void add_product(Floats a, Floats b) { run += a * b; }
  void end_run() {
    Doubles wide[2];
    Isa::widen(run, wide);
    sum.add(wide);
    run = Floats{};
  }
  double total() const { return sum.total(); }
};

/// The sums that decide means and angles, all in float64.
struct WideSums {
  static constexpr std::size_t kRun = 4;
  Sum x, y, xx, yy, xy, squared;

  void add(Floats a, Floats b) {
    Doubles wide_a[2], wide_b[2];
    Isa::widen(a, wide_a);
    Isa::widen(b, wide_b);
    x.add(wide_a);
    y.add(wide_b);
    xx.add_product(wide_a, wide_a);
    yy.add_product(wide_b, wide_b);
    xy.add_product(wide_a, wide_b);
  }
  void add_difference(Floats a, Floats b, Floats) {
    Doubles wide_a[2], wide_b[2];
    Isa::widen(a, wide_a);
    Isa::widen(b, wide_b);
    const Doubles difference[2] = {wide_a[0] - wide_b[0], wide_a[1] - wide_b[1]};
    squared.add_product(difference, difference);
  }
  void end_run() {}
  void end_differences() {}
};

/// The same in runs of float32.
struct RunSums {
  static constexpr std::size_t kRun = 16;
  RunSum x, y, xx, yy, xy, squared;

  void add(Floats a, Floats b) {
    x.add(a);
    y.add(b);
    xx.add_product(a, a);
    yy.add_product(b, b);
    xy.add_product(a, b);
  }
  void add_difference(Floats, Floats, Floats difference) { squared.add_product(difference, difference); }
  void end_run() {
    for (RunSum* sum : {&x, &y, &xx, &yy, &xy}) sum->end_run();
  }
  void end_differences() { squared.end_run(); }
};

/// Goes through each run twice, for the numbers and for their differences: there are registers for either.
template <class Pairs>
void add_pairs(const float* x, const float* y, std::size_t count, PairSums& sums) {
  constexpr std::size_t kStep = kWidth * Pairs::kRun;
  const std::size_t taken = count / kStep * kStep;
  const Floats infinity = Floats{} + std::numeric_limits<float>::infinity();
  const Floats zero_limit = Floats{} + static_cast<float>(kZero);
  Pairs pairs;
  RunSum absolute_sum, relative_sum;
  Floats x_min = infinity, x_max = -infinity, y_min = infinity, y_max = -infinity;
  Floats max_absolute{}, max_relative{};
  for (std::size_t i = 0; i < taken; i += kStep) {
    for (std::size_t k = i; k < i + kStep; k += kWidth) {
      __builtin_prefetch(x + k + kPrefetch);
      __builtin_prefetch(y + k + kPrefetch);
      const Floats a = load<Floats>(x + k);
      const Floats b = load<Floats>(y + k);
      pairs.add(a, b);
      x_min = Isa::smaller(a, x_min);
      x_max = Isa::larger(a, x_max);
      y_min = Isa::smaller(b, y_min);
      y_max = Isa::larger(b, y_max);
    }
    pairs.end_run();
    for (std::size_t k = i; k < i + kStep; k += kWidth) {
      const Floats a = load<Floats>(x + k);
      const Floats b = load<Floats>(y + k);
      const Floats difference = a - b;
      const Floats absolute = magnitude(difference);
      // A NaN must stay one.
      const Ints is_zero = magnitude(b) <= zero_limit;
      const Floats relative = masked(magnitude(a / b - 1.0F), ~is_zero);
      pairs.add_difference(a, b, difference);
      absolute_sum.add(absolute);
      relative_sum.add(relative);
      max_absolute = Isa::larger(absolute, max_absolute);
      max_relative = Isa::larger(relative, max_relative);
    }
    pairs.end_differences();
    absolute_sum.end_run();
    relative_sum.end_run();
  }
  sums.add({
      .x = pairs.x.total(),
      .y = pairs.y.total(),
      .xx = pairs.xx.total(),
      .yy = pairs.yy.total(),
      .xy = pairs.xy.total(),
      .absolute = absolute_sum.total(),
      .squared = pairs.squared.total(),
      .relative = relative_sum.total(),
      .x_min = least(x_min),
      .x_max = greatest(x_max),
      .y_min = least(y_min),
      .y_max = greatest(y_max),
      .max_absolute = greatest(max_absolute),
      .max_relative = greatest(max_relative),
  });
  kPortablePairs.add_pairs(x + taken, y + taken, count - taken, sums);
}

struct Shares {
  Floats scale, low, least;

  explicit Shares(const ShareOf& of)
      : scale(Floats{} + of.scale), low(Floats{} + of.low), least(Floats{} + of.least) {}

  Floats operator()(Floats values) const { return Isa::larger(values * scale - low, least); }
};

/// Twice the area hyperbolic tangent, up to kFewTerms.
inline constexpr float kFewTerms = 1.0F / 16;
inline Floats short_logarithm_series(Floats t) {
  const Floats s = t * t;
  Floats series = s * (2.0F / 5) + 2.0F / 3;
  series = series * s + 2.0F;
  return series * t;
}

/// The same up to a third.
inline Floats logarithm_series(Floats t) {
  const Floats s = t * t;
  Floats series = s * (2.0F / 13) + 2.0F / 11;
  series = series * s + 2.0F / 9;
  series = series * s + 2.0F / 7;
  series = series * s + 2.0F / 5;
  series = series * s + 2.0F / 3;
  series = series * s + 2.0F;
  return series * t;
}

/// ln(p / q) of normal numbers, 0 exactly where p is q: of the mantissas by the series, whose argument stays
/// within a third, and of the exponents besides.
inline Floats ln_ratio(Floats p, Floats q) {
  const Ints p_bits = reinterpret_cast<Ints>(p);
  const Ints q_bits = reinterpret_cast<Ints>(q);
  const Ints one = Ints{} + 0x3f800000;
  const Floats a = reinterpret_cast<Floats>((p_bits & 0x7fffff) | one);
  const Floats b = reinterpret_cast<Floats>((q_bits & 0x7fffff) | one);
  const Floats exponent = __builtin_convertvector((p_bits >> 23) - (q_bits >> 23), Floats);
  return logarithm_series((a - b) / (a + b)) + exponent * 0.693147181F;
}

/// The same of several, side by side, because each is a long chain. Where all are within a factor of two,
/// which is nearly everywhere, the series does alone, and where all are within an eighth a short one.
template <class Set, std::size_t kCount>
inline void ln_ratios(const Floats (&p)[kCount], const Floats (&q)[kCount], Floats (&to)[kCount]) {
  Floats farthest{};
  for (std::size_t n = 0; n < kCount; ++n) {
    to[n] = (p[n] - q[n]) / (p[n] + q[n]);
    farthest = Set::larger(magnitude(to[n]), farthest);
  }
  if (Set::bits_of(farthest > kFewTerms) == 0) {
    for (Floats& t : to) t = short_logarithm_series(t);
  } else if (Set::bits_of(farthest > 1.0F / 3) == 0) {
    for (Floats& t : to) t = logarithm_series(t);
  } else {
    for (std::size_t n = 0; n < kCount; ++n) to[n] = ln_ratio(p[n], q[n]);
  }
}

void add_divergence(const float* x, const float* y, std::size_t count, const ShareOf& p_of,
                    const ShareOf& q_of, DivergenceSums& sums) {
  constexpr std::size_t kStep = kWidth * 16;
  const std::size_t taken = count / kStep * kStep;
  const Shares p_shares(p_of), q_shares(q_of);
  RunSum p_sum, q_sum, p_ln_ratio;
  constexpr std::size_t kAtOnce = 4;
  for (std::size_t i = 0; i < taken; i += kStep) {
    for (std::size_t k = i; k < i + kStep; k += kAtOnce * kWidth) {
      Floats p[kAtOnce], q[kAtOnce];
      for (std::size_t n = 0; n < kAtOnce; ++n) {
        __builtin_prefetch(x + k + n * kWidth + kPrefetch);
        __builtin_prefetch(y + k + n * kWidth + kPrefetch);
        p[n] = p_shares(load<Floats>(x + k + n * kWidth));
        q[n] = q_shares(load<Floats>(y + k + n * kWidth));
        p_sum.add(p[n]);
        q_sum.add(q[n]);
      }
      Floats ln[kAtOnce];
      ln_ratios<Isa>(p, q, ln);
      for (std::size_t n = 0; n < kAtOnce; ++n) p_ln_ratio.add_product(p[n], ln[n]);
    }
    p_sum.end_run();
    q_sum.end_run();
    p_ln_ratio.end_run();
  }
  sums.add({.p = p_sum.total(), .q = q_sum.total(), .p_ln_ratio = p_ln_ratio.total()});
  kPortablePairs.add_divergence(x + taken, y + taken, count - taken, p_of, q_of, sums);
}

void add_deviation(const float* x, const float* y, std::size_t count, double x_mean, double y_mean,
                   DeviationSums& sums) {
  const std::size_t taken = count / kWidth * kWidth;
  Sum xx, yy;
  for (std::size_t i = 0; i < taken; i += kWidth) {
    Doubles a[2], b[2];
    Isa::widen(load<Floats>(x + i), a);
    Isa::widen(load<Floats>(y + i), b);
    for (Doubles& half : a) half -= x_mean;
    for (Doubles& half : b) half -= y_mean;
    xx.add_product(a, a);
    yy.add_product(b, b);
  }
  sums.add({.x = xx.total(), .y = yy.total()});
  kPortablePairs.add_deviation(x + taken, y + taken, count - taken, x_mean, y_mean, sums);
}

inline std::uint64_t total(const Ints& counts) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < kWidth; ++i) total += static_cast<std::uint32_t>(counts[i]);
  return total;
}

/// Where numbers are so near that a thousandth or a two-hundredth matters, float32 has their exact
/// difference, and kNear or kLessNear times it. Of infinities the remainder is NaN.
void add_close(const float* x, const float* y, std::size_t count, const CloseLimits& limits,
               CloseCounts& counts, std::uint64_t* open) {
  constexpr std::size_t kStep = 64;
  constexpr double kSlack = 0x1p-19;
  constexpr float kSurelyClose = static_cast<float>(kClose * (1 - kSlack));
  constexpr float kSurelyNotClose = static_cast<float>(kClose * (1 + kSlack));
  const std::size_t taken = count / kStep * kStep;
  Ints near{}, less_near{}, not_close{}, absolute_at{}, relative_at{};
  for (std::size_t i = 0; i < taken; i += kStep) {
    std::uint64_t decided_bits = 0;
    for (std::size_t k = 0; k < kStep; k += kWidth) {
      const Floats a = load<Floats>(x + i + k);
      const Floats b = load<Floats>(y + i + k);
      const Floats distance = magnitude(a - b);
      const Floats golden = magnitude(b);
      const Floats share = distance / golden;  // NaN where both are 0
      const Floats room = golden + 1.0F;
      const Ints is_not_close = distance > room * kSurelyNotClose;
      const Ints may_be_close = (distance > room * kSurelyClose) & ~is_not_close;
      const Ints decided =
          (distance < limits.absolute_above) & ~(may_be_close | (share >= limits.relative_above));
      near -= distance * kNear - golden <= 0;
      less_near -= distance * kLessNear - golden <= 0;
      not_close -= is_not_close & decided;
      absolute_at -= (distance >= limits.absolute_at) & decided;
      relative_at -= (share >= limits.relative_at) & decided;
      decided_bits |= static_cast<std::uint64_t>(Isa::bits_of(decided)) << k;
    }
    open[i / kStep] = ~decided_bits;
  }
  counts.near += total(near);
  counts.less_near += total(less_near);
  counts.not_close += total(not_close);
  counts.absolute_at += total(absolute_at);
  counts.relative_at += total(relative_at);
  kPortablePairs.add_close(x + taken, y + taken, count - taken, limits, counts, open + taken / kStep);
}

/// Integers that ascend with the number: less than zero by the magnitude, where the sign is set.
template <class Set, class Unsigned, class Signed>
inline Signed order_of(Signed bits) {
  const Signed lowest = Signed{} + std::numeric_limits<std::remove_cvref_t<decltype(bits[0])>>::min();
  if constexpr (requires { Set::with_sign_of(bits, bits); }) {
    return Set::with_sign_of(bits & ~lowest, bits);
  } else {
    return bits < 0 ? reinterpret_cast<Signed>(reinterpret_cast<Unsigned>(lowest) -
                                               reinterpret_cast<Unsigned>(bits))
                    : bits;
  }
}

/// `kInfinity` is the magnitude of infinity. Where there is no NaN, which is nearly everywhere, few steps do.
template <class Signed, class Unsigned, auto kPortable, std::int32_t kInfinity>
void add_exact(const std::byte* x, const std::byte* y, std::size_t count, ExactSums& sums) {
  using Element = std::remove_cvref_t<decltype(Signed{}[0])>;
  constexpr std::size_t kElements = sizeof(Signed) / sizeof(Element);
  // Before a 16-bit count is full, and small enough to be gone through again.
  constexpr std::size_t kRun = kElements * 64;
  std::size_t done = 0;
  for (; count - done >= kRun; done += kRun) {
    Unsigned different{}, max_ulp{};
    Signed greatest{}, least{};
    for (std::size_t i = done; i < done + kRun; i += kElements) {
      const Signed a = load<Signed>(x + i * sizeof(Element));
      const Signed b = load<Signed>(y + i * sizeof(Element));
      const Signed a_order = order_of<Isa, Unsigned>(a);
      const Signed b_order = order_of<Isa, Unsigned>(b);
      // Past the type's signed range, not past its unsigned one.
      const Signed high = Isa::larger(a_order, b_order);
      const Signed low = Isa::smaller(a_order, b_order);
      greatest = Isa::larger(greatest, high);
      least = Isa::smaller(least, low);
      const Unsigned ulp = reinterpret_cast<Unsigned>(high) - reinterpret_cast<Unsigned>(low);
      max_ulp = Isa::larger(max_ulp, ulp);
      different += Isa::smaller(ulp, Unsigned{} + 1);
    }
    Element beyond = 0;
    for (std::size_t i = 0; i < kElements; ++i) {
      beyond |= greatest[i] > static_cast<Element>(kInfinity);
      beyond |= least[i] < -static_cast<Element>(kInfinity);
    }
    if (beyond != 0) {
      (kPortablePairs.*kPortable)(x + done * sizeof(Element), y + done * sizeof(Element), kRun, sums);
      continue;
    }
    sums.equal += kRun;
    for (std::size_t i = 0; i < kElements; ++i) {
      sums.equal -= different[i];
      sums.max_ulp = max_ulp[i] > sums.max_ulp ? max_ulp[i] : sums.max_ulp;
    }
  }
  (kPortablePairs.*kPortable)(x + done * sizeof(Element), y + done * sizeof(Element), count - done, sums);
}

void float16_to_float(const std::byte* from, std::size_t count, float* to) {
  const std::size_t taken = count / kWidth * kWidth;
  for (std::size_t i = 0; i < taken; i += kWidth) {
    const Floats values = Isa::floats_from_halves(from + 2 * i);
    __builtin_memcpy(to + i, &values, sizeof values);
  }
  kPortablePairs.float16_to_float(from + 2 * taken, count - taken, to + taken);
}

inline constexpr PairKernels kPairs{
    .add_pairs = add_pairs<WideSums>,
    .add_pairs_in_runs = add_pairs<RunSums>,
    .add_divergence = add_divergence,
    .add_deviation = add_deviation,
    .add_close = add_close,
    .add_exact_float32 = add_exact<Ints, UnsignedInts, &PairKernels::add_exact_float32, 0x7f800000>,
    .add_exact_float16 = add_exact<Shorts, UnsignedShorts, &PairKernels::add_exact_float16, 0x7c00>,
    .add_exact_bfloat16 = add_exact<Shorts, UnsignedShorts, &PairKernels::add_exact_bfloat16, 0x7f80>,
    .float16_to_float = float16_to_float,
};

}  // namespace
}  // namespace opdump::compare
