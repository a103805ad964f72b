#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/knobs.hpp"

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {

/// How what a tensor stores stands for real numbers.
enum class QuantScheme : std::uint8_t {
  none,    ///< it stores them, or nobody says how
  affine,  ///< scale * (stored - zero point)
  pow2,    ///< stored * 2^exponent
  block,   ///< blocks of bytes that hold their own scales, in a format with a name
  lut,     ///< the entry `stored - first` of a table
};

/// How the numbers of one tensor stand for real ones. Of the lists, only those of the scheme are not empty.
struct Quantisation {
  QuantScheme scheme = QuantScheme::none;
  std::vector<float> scales;              ///< of affine. One, or one for each index of `axis`
  std::vector<std::int64_t> zero_points;  ///< of affine, as many as scales; empty: all are 0
  std::vector<std::int32_t> exponents;    ///< of pow2. One, or one for each index of `axis`
  std::vector<float> table;               ///< of lut. With `axis`, as many entries for each index of it
  std::int64_t first = 0;                 ///< of lut: what is stored for a table's first entry
  std::string block_type;                 ///< of block: the format, in ggml's words, as "Q4_K"
  std::uint32_t block_elements = 0;       ///< of block
  std::uint32_t block_bytes = 0;          ///< of block
  std::int64_t axis = -1;                 ///< -1: one for the whole tensor
};

/// The least and the greatest exponent: 2^exponent is a float.
inline constexpr std::int32_t kLeastExponent = -149;
inline constexpr std::int32_t kMostExponent = 127;

inline constexpr std::string_view kQuantSchemes[] = {"affine", "pow2", "block", "lut"};

/// The word for a scheme that is not none.
constexpr std::string_view word_of(QuantScheme scheme) {
  return kQuantSchemes[static_cast<std::size_t>(scheme) - 1];
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
