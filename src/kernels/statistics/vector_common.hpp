#pragma once
/// What the vectorised kernels share. See vector_kernels.hpp.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

/// Calls `step` with 0 to kCount - 1 as constants. GCC keeps arrays in registers only where a loop is gone
/// before it looks.
template <std::size_t kCount>
inline void each(auto&& step) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (step(std::integral_constant<std::size_t, i>{}), ...);
  }
  (std::make_index_sequence<kCount>{});
}

template <std::size_t value>
inline constexpr std::integral_constant<std::size_t, value> number{};

template <class Vector>
inline Vector load(const std::byte* from) {
  Vector vector;
  __builtin_memcpy(&vector, from, sizeof vector);
  return vector;
}

/// A vector's elements in memory of their own: GCC keeps out of the registers what is looked at one by one.
template <class Element, class Vector>
struct Elements {
  static constexpr std::size_t kCount = sizeof(Vector) / sizeof(Element);
  Element all[kCount];

  explicit Elements(const Vector& vector) { __builtin_memcpy(all, &vector, sizeof all); }
};

/// The sum of the vector's elements, as `Sum`.
template <class Sum, class Element, class Vector>
inline Sum across(const Vector& vector) {
  Sum sum = 0;
  const Elements<Element, Vector> elements(vector);
  for (const Element element : elements.all) sum += static_cast<Sum>(element);
  return sum;
}

template <class Element, class Vector>
inline Element least(const Vector& vector) {
  const Elements<Element, Vector> elements(vector);
  Element least = elements.all[0];
  for (const Element element : elements.all) least = element < least ? element : least;
  return least;
}

template <class Element, class Vector>
inline Element greatest(const Vector& vector) {
  const Elements<Element, Vector> elements(vector);
  Element greatest = elements.all[0];
  for (const Element element : elements.all) greatest = element > greatest ? element : greatest;
  return greatest;
}

inline constexpr std::size_t kVectorBytes = OPDUMP_VECTOR_BYTES;
/// Elements are taken in steps of a cache line.
inline constexpr std::size_t kStepBytes = 64;
inline constexpr std::size_t kPrefetchBytes = 4096;

/// The lanes of a block, in registers while a kernel runs.
struct Sums {
  static constexpr std::size_t kVectors = kStatisticsLanes * sizeof(double) / kVectorBytes;
  Doubles sums[kVectors];
  Doubles squares[kVectors];

  explicit Sums(const FloatLanes& lanes) {
    __builtin_memcpy(sums, lanes.sums, sizeof sums);
    __builtin_memcpy(squares, lanes.squares, sizeof squares);
  }

  void add(std::size_t i, Doubles values) {
    sums[i] += values;
    squares[i] += values * values;
  }

  void store(FloatLanes& lanes) const {
    __builtin_memcpy(lanes.sums, sums, sizeof sums);
    __builtin_memcpy(lanes.squares, squares, sizeof squares);
  }
};

/// Some of the lanes of a block: few enough for registers to hold them and what else a kernel gathers.
struct Strand {
  static constexpr std::size_t kVectors = 2;
  static constexpr std::size_t kBytes = kVectors * kVectorBytes;
  static constexpr std::size_t kCount = kStatisticsLanes * sizeof(double) / kBytes;
  Doubles sums[kVectors];
  Doubles squares[kVectors];

  Strand(const Sums& all, std::size_t strand) {
    __builtin_memcpy(sums, all.sums + strand * kVectors, sizeof sums);
    __builtin_memcpy(squares, all.squares + strand * kVectors, sizeof squares);
  }

  void store(Sums& all, std::size_t strand) const {
    __builtin_memcpy(all.sums + strand * kVectors, sums, sizeof sums);
    __builtin_memcpy(all.squares + strand * kVectors, squares, sizeof squares);
  }
};

/// Rows of a lane each of 64 bits that are taken strand by strand: they stay in the nearest cache meanwhile.
inline constexpr std::size_t kRowBytes = kStatisticsLanes * sizeof(double);
inline constexpr std::size_t kPartRows = 16;

/// Calls `use(sums and squares of a strand, number of its vector, address)` for all vectors of `rows` rows.
[[gnu::always_inline]] inline void each_of_part(const std::byte* data, std::size_t rows, Sums& sums,
                                                auto&& use) {
  each<Strand::kCount>([&](auto number) {
    Strand strand(sums, number);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::byte* const from = data + row * kRowBytes + number * Strand::kBytes;
      for (std::size_t ahead = 0; ahead < Strand::kBytes; ahead += kStepBytes)
        __builtin_prefetch(from + ahead + kPrefetchBytes);
      each<Strand::kVectors>([&](auto i) { use(strand, i, from + i * kVectorBytes); });
    }
    strand.store(sums, number);
  });
}

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
