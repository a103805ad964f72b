#pragma once

// The arithmetic of the ops, to be compiled with -ffp-contract=off: then each gives the same bits everywhere.
// Each kernel is called as kernel(output, inputs...) and takes its sizes from the arrays.

#include <cmath>
#include <cstddef>
#include <string_view>

#include "float16.hpp"

namespace digits {

struct Conv2D {
  static constexpr std::string_view kType = "Conv2D";

  float scale = 1;  ///< of the sums, which are stored as float16

  template <std::size_t In, std::size_t Out, std::size_t Size>
  void operator()(Float16 (&y)[1][Out][Size][Size], const Float16 (&x)[1][In][Size][Size],
                  const Float16 (&weight)[Out][In][3][3]) const {
    for (std::size_t out = 0; out < Out; ++out) {
      for (std::size_t row = 0; row < Size; ++row) {
        for (std::size_t column = 0; column < Size; ++column) {
          y[0][out][row][column] = to_float16(window_sum(x[0], weight[out], row, column) * scale);
        }
      }
    }
  }

 private:
  /// The image is surrounded by zeros: pixels outside add nothing.
  template <std::size_t In, std::size_t Size>
  static float window_sum(const Float16 (&x)[In][Size][Size], const Float16 (&weight)[In][3][3],
                          std::size_t row, std::size_t column) {
    float sum = 0;
    for (std::size_t in = 0; in < In; ++in) {
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
          const std::size_t r = row + i - 1;  // -1 wraps round to a number far above Size.
          const std::size_t c = column + j - 1;
          if (r < Size && c < Size) sum += to_float32(x[in][r][c]) * to_float32(weight[in][i][j]);
        }
      }
    }
    return sum;
  }
};

struct BiasAdd {
  static constexpr std::string_view kType = "BiasAdd";

  template <std::size_t Channels, std::size_t Size>
  void operator()(Float16 (&y)[1][Channels][Size][Size], const Float16 (&x)[1][Channels][Size][Size],
                  const Float16 (&bias)[Channels]) const {
    for (std::size_t k = 0; k < Channels; ++k) {
      for (std::size_t r = 0; r < Size; ++r) {
        for (std::size_t c = 0; c < Size; ++c) {
          y[0][k][r][c] = to_float16(to_float32(x[0][k][r][c]) + to_float32(bias[k]));
        }
      }
    }
  }

  template <std::size_t Count>
  void operator()(float (&y)[1][Count], const float (&x)[1][Count], const float (&bias)[Count]) const {
    for (std::size_t i = 0; i < Count; ++i) y[0][i] = x[0][i] + bias[i];
  }
};

struct Relu {
  static constexpr std::string_view kType = "Relu";

  template <std::size_t Channels, std::size_t Size>
  void operator()(Float16 (&y)[1][Channels][Size][Size], const Float16 (&x)[1][Channels][Size][Size]) const {
    for (std::size_t k = 0; k < Channels; ++k) {
      for (std::size_t r = 0; r < Size; ++r) {
        for (std::size_t c = 0; c < Size; ++c) {
          const Float16 value = x[0][k][r][c];
          y[0][k][r][c] = to_float32(value) < 0 ? Float16{0} : value;
        }
      }
    }
  }
};

struct MaxPool {
  static constexpr std::string_view kType = "MaxPool";

  template <std::size_t Channels, std::size_t Size>
  void operator()(Float16 (&y)[1][Channels][Size][Size],
                  const Float16 (&x)[1][Channels][2 * Size][2 * Size]) const {
    for (std::size_t k = 0; k < Channels; ++k) {
      for (std::size_t r = 0; r < Size; ++r) {
        for (std::size_t c = 0; c < Size; ++c) {
          const Float16* upper = &x[0][k][2 * r][2 * c];
          const Float16* lower = &x[0][k][2 * r + 1][2 * c];
          y[0][k][r][c] = larger(larger(upper[0], upper[1]), larger(lower[0], lower[1]));
        }
      }
    }
  }

 private:
  static Float16 larger(Float16 a, Float16 b) { return to_float32(b) > to_float32(a) ? b : a; }
};

struct Reshape {
  static constexpr std::string_view kType = "Reshape";

  template <std::size_t Channels, std::size_t Size>
  void operator()(Float16 (&y)[1][Channels * Size * Size],
                  const Float16 (&x)[1][Channels][Size][Size]) const {
    for (std::size_t k = 0; k < Channels; ++k) {
      for (std::size_t r = 0; r < Size; ++r) {
        for (std::size_t c = 0; c < Size; ++c) y[0][(k * Size + r) * Size + c] = x[0][k][r][c];
      }
    }
  }
};

struct Cast {
  static constexpr std::string_view kType = "Cast";

  template <std::size_t Count>
  void operator()(float (&y)[1][Count], const Float16 (&x)[1][Count]) const {
    for (std::size_t i = 0; i < Count; ++i) y[0][i] = to_float32(x[0][i]);
  }
};

struct MatMul {
  static constexpr std::string_view kType = "MatMul";

  template <std::size_t In, std::size_t Out>
  void operator()(float (&y)[1][Out], const float (&x)[1][In], const float (&weight)[In][Out]) const {
    for (std::size_t out = 0; out < Out; ++out) {
      float sum = 0;
      for (std::size_t in = 0; in < In; ++in) sum += x[0][in] * weight[in][out];
      y[0][out] = sum;
    }
  }
};

/// The first of them, if several are largest.
template <std::size_t Count>
constexpr std::size_t index_of_largest(const float (&x)[1][Count]) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < Count; ++i) {
    if (x[0][i] > x[0][best]) best = i;
  }
  return best;
}

/// e to the power of `x`, which is not positive: the same bits wherever it is compiled without contraction,
/// which std::exp does not promise.
inline float exponential(float x) {
  constexpr double kLog2E = 1.4426950408889634;
  constexpr double kLn2 = 0.6931471805599453;
  if (x < -87) return 0;
  const double power = static_cast<double>(x) * kLog2E;
  const int whole = static_cast<int>(power) - 1;
  const double rest = (power - whole) * kLn2;
  double sum = 1;
  double term = 1;
  for (int i = 1; i <= 20; ++i) {
    term = term * rest / i;
    sum += term;
  }
  return static_cast<float>(std::ldexp(sum, whole));
}

struct Softmax {
  static constexpr std::string_view kType = "Softmax";

  template <std::size_t Count>
  void operator()(float (&y)[1][Count], const float (&x)[1][Count]) const {
    const float top = x[0][index_of_largest(x)];  // Subtracted so that exp() cannot overflow.
    float sum = 0;
    for (std::size_t i = 0; i < Count; ++i) {
      y[0][i] = exponential(x[0][i] - top);
      sum += y[0][i];
    }
    for (float& value : y[0]) value /= sum;
  }
};

}  // namespace digits
