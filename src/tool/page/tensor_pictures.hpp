#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/tool/judge/compare/compare_order.hpp"
#include "src/tool/judge/compare/compare_run.hpp"

namespace opdump::tool {

/// A tensor, or what two tensors differ by, in at most 32 x 32 bytes: rows and columns are the last two dims;
/// of those before the mean is taken, of errors the greatest. 0 stands for the least, 254 for the greatest,
/// 255 for what is no number.
struct Thumbnail {
  static constexpr std::size_t kMost = 32;

  std::uint8_t rows = 0;
  std::uint8_t columns = 0;
  float least = 0;
  float greatest = 0;
  std::array<std::uint8_t, kMost * kMost> cells{};
};

/// The elements of a pair, in pictures.
struct PairPicture {
  static constexpr std::size_t kBins = 48;
  static constexpr std::size_t kSide = 24;
  static constexpr std::size_t kQuantiles = 33;

  Thumbnail mine{};
  Thumbnail golden{};
  Thumbnail error{};                               ///< of |mine - golden|
  float farthest = 0;                              ///< the greatest |mine - golden| of numbers
  std::array<std::uint8_t, kBins> signed_error{};  ///< counts of mine - golden, from -farthest to farthest

  std::array<std::uint8_t, kBins> absolute_error{};  ///< of |mine - golden|, in steps of log10; without zeros

  // Numbers of which the share i / (kQuantiles - 1) is not greater, of at most 65536 elements each.
  std::array<float, kQuantiles> mine_quantiles{};
  std::array<float, kQuantiles> golden_quantiles{};

  // Counts by |golden| (columns) and |mine - golden| (rows), both in steps of log10. Zeros are left out.
  float least_magnitude = 0;
  float greatest_magnitude = 0;
  float least_error = 0;
  float greatest_error = 0;
  std::array<std::uint8_t, kSide * kSide> scatter{};
};

/// Reads both tensors twice. `usual` as for the comparison of the pair. Nothing when they cannot be read.
std::optional<PairPicture> picture_of(const DumpSide& mine, const DumpSide& golden, const PairResult& result,
                                      const std::optional<AssumedFormats>& usual);

/// The same of one tensor alone: only `mine` is known.
std::optional<PairPicture> picture_of(const DumpSide& mine, const DumpTensor& tensor);

}  // namespace opdump::tool
