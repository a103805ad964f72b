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
inline constexpr std::size_t kPrefetchBytes = 512;

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

}  // namespace
}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
